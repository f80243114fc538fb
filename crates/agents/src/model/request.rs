//! Builds the model request of one step.

use serde_json::Value;
use windlass_wire::{Dialect, JsonSchema, Message, ModelRequest, OutputFormat, Part, Role, Text};

use super::ToolMode;
use super::session::ModelSession;
use super::state::ModelState;

/// The default system prompt of an agent with tools.
const INSTRUCTIONS: &str = include_str!("prompts/agent.md");
/// The message to a model after an unusable answer.
const UNUSABLE: &str = include_str!("prompts/unusable.md");

/// Returns the request for the next step and the tool mode to use for it.
pub(super) fn build(
    shared: &ModelState,
    session: &ModelSession,
    mut messages: Vec<Message>,
    problem: Option<&str>,
) -> (ModelRequest, ToolMode) {
    let settings = &shared.settings;
    let dialect = shared.client.dialect();
    for message in &mut messages {
        drop_unsigned_reasoning(message, dialect);
    }
    if let Some(problem) = problem {
        let text = UNUSABLE.trim_end().replace("{problem}", problem);
        messages.push(Message::new(Role::User, vec![Part::text(text)]));
    }
    let mut request = ModelRequest::new(shared.model(&session.options));
    request.origin = Some(dialect);
    request.messages = messages;
    request.tools = session.tools.to_wire();
    request.max_tokens = settings.max_tokens;
    request.sampling.temperature = settings.temperature;
    request.stream = settings.stream;
    request.stream_usage = settings.stream;
    if dialect == Dialect::Responses {
        // The server need not store the conversation: every request contains all of it.
        request.extra.insert("store".to_owned(), Value::Bool(false));
    }
    request.instructions = instructions(shared, session);
    let tool_mode = ask_for_schema(&mut request, shared, session);
    (request, tool_mode)
}

fn instructions(shared: &ModelState, session: &ModelSession) -> Vec<Text> {
    let configured = shared.settings.instructions.as_deref();
    let default = (!session.tools.is_empty()).then_some(INSTRUCTIONS);
    let text = configured
        .or(default)
        .map(str::trim)
        .filter(|text| !text.is_empty());
    text.map(Text::new).into_iter().collect()
}

/// Requests an answer that matches the session's schema, as far as the API and the tools allow.
fn ask_for_schema(
    request: &mut ModelRequest,
    shared: &ModelState,
    session: &ModelSession,
) -> ToolMode {
    let mode = shared.settings.tool_mode;
    let Some(schema) = &session.options.output_schema else {
        return mode;
    };
    let has_tools = !request.tools.is_empty();
    if has_tools && mode == ToolMode::Text {
        // An enforced schema would make calls in the text impossible.
        let text = format!(
            "The final answer must be JSON that matches this schema, and nothing else:\n{schema}"
        );
        request.instructions.push(Text::new(text));
        return mode;
    }
    request.output = OutputFormat::JsonSchema(JsonSchema {
        name: Some("answer".to_owned()),
        schema: schema.clone(),
        ..JsonSchema::default()
    });
    // Ollama applies the schema to calls too, which would prevent them. So the schema has to include the calls.
    let is_ollama = shared.client.dialect() == Dialect::Ollama;
    match mode {
        ToolMode::Auto if has_tools && is_ollama => ToolMode::Schema,
        mode => mode,
    }
}

/// Drops reasoning without a signature: these APIs reject it.
fn drop_unsigned_reasoning(message: &mut Message, dialect: Dialect) {
    if matches!(dialect, Dialect::Responses | Dialect::Messages) {
        message.parts.retain(|part| match part {
            Part::Reasoning(thought) => thought.signature.is_some(),
            _ => true,
        });
    }
}
