//! What the model is asked in one step.

use serde_json::Value;
use windlass_wire::{Dialect, JsonSchema, Message, ModelRequest, OutputFormat, Part, Role, Text};

use super::ToolMode;
use super::agent::ModelState;
use super::session::ModelSession;

/// What an agent with tools is told, unless its settings say otherwise.
const INSTRUCTIONS: &str = include_str!("prompts/agent.md");
/// What a model is told whose answer could not be used.
const UNUSABLE: &str = include_str!("prompts/unusable.md");

/// The request for the next step, and how the model is to call tools in it.
pub(super) fn build(
    shared: &ModelState,
    session: &ModelSession,
    mut messages: Vec<Message>,
    flaw: Option<&str>,
) -> (ModelRequest, ToolMode) {
    let settings = &shared.settings;
    let dialect = shared.line.dialect();
    for message in &mut messages {
        drop_unsigned_reasoning(message, dialect);
    }
    if let Some(problem) = flaw {
        let text = UNUSABLE.trim_end().replace("{problem}", problem);
        messages.push(Message::new(Role::User, vec![Part::text(text)]));
    }
    let mut request = ModelRequest::new(shared.model(&session.options));
    request.origin = Some(dialect);
    request.messages = messages;
    request.tools = session.kit.to_wire();
    request.max_tokens = settings.max_tokens;
    request.sampling.temperature = settings.temperature;
    request.stream = settings.stream;
    request.stream_usage = settings.stream;
    if dialect == Dialect::Responses {
        // The conversation is ours to keep: it comes whole with every request.
        request.extra.insert("store".to_owned(), Value::Bool(false));
    }
    request.instructions = instructions(shared, session);
    let tool_mode = ask_for_schema(&mut request, shared, session);
    (request, tool_mode)
}

fn instructions(shared: &ModelState, session: &ModelSession) -> Vec<Text> {
    let own = shared.settings.instructions.as_deref();
    let usual = (!session.kit.is_empty()).then_some(INSTRUCTIONS);
    let said = own.or(usual).map(str::trim).filter(|text| !text.is_empty());
    said.map(Text::new).into_iter().collect()
}

/// Has the answer held to the session's schema, as well as API and tools allow.
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
        // A schema would leave no room for calls.
        let told =
            format!("The final answer is JSON that fits this schema, and nothing else:\n{schema}");
        request.instructions.push(Text::new(told));
        return mode;
    }
    request.output = OutputFormat::JsonSchema(JsonSchema {
        name: Some("answer".to_owned()),
        schema: schema.clone(),
        ..JsonSchema::default()
    });
    // Ollama holds calls to the schema too, so that there are none: the calls have to be part of it.
    let is_ollama = shared.line.dialect() == Dialect::Ollama;
    match mode {
        ToolMode::Auto if has_tools && is_ollama => ToolMode::Schema,
        mode => mode,
    }
}

/// These APIs refuse a thought that does not bear their signature.
fn drop_unsigned_reasoning(message: &mut Message, dialect: Dialect) {
    if matches!(dialect, Dialect::Responses | Dialect::Messages) {
        message.parts.retain(|part| match part {
            Part::Reasoning(thought) => thought.signature.is_some(),
            _ => true,
        });
    }
}
