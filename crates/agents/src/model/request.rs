//! Builds the model request of one step.

use serde_json::Value;
use windlass_wire::{
    Dialect, JsonSchema, Message, ModelRequest, OutputFormat, Part, Role, Text, ToolChoice,
};

use super::ToolMode;
use super::session::ModelSession;
use super::state::ModelState;

/// The default system prompt of an agent with tools.
const INSTRUCTIONS: &str = include_str!("prompts/agent.md");
/// The message to a model after an unusable answer.
const UNUSABLE: &str = include_str!("prompts/unusable.md");

/// The message for the last step of a turn.
const LAST_STEP: &str = include_str!("prompts/last-step.md");
/// The message to a model that must call a tool.
const CALL_REQUIRED: &str = include_str!("prompts/call-required.md");

/// What a step of a turn may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepKind {
    /// A call or an answer.
    Any,
    /// A call.
    Call,
    /// An answer: it is the last step of several.
    Last,
}

/// Returns the request for the next step and the tool mode to use for it.
pub(super) fn build(
    shared: &ModelState,
    session: &ModelSession,
    mut messages: Vec<Message>,
    (problem, step): (Option<&str>, StepKind),
) -> (ModelRequest, ToolMode) {
    let settings = &shared.settings;
    let fit = shared.fit(session.options.model.as_deref());
    let dialect = shared.client.dialect();
    for message in &mut messages {
        drop_unsigned_reasoning(message, dialect);
    }
    if let Some(problem) = problem {
        let text = UNUSABLE.trim_end().replace("{problem}", problem);
        messages.push(Message::new(Role::User, vec![Part::text(text)]));
    }
    let has_tools = !session.tools.is_empty();
    let reminder = match step {
        StepKind::Call if has_tools => Some(CALL_REQUIRED),
        StepKind::Last if has_tools => Some(LAST_STEP),
        _ => None,
    };
    if let Some(text) = reminder {
        let text = Part::text(text.trim_end());
        messages.push(Message::new(Role::User, vec![text]));
    }
    let mut request = ModelRequest::new(shared.model(&session.options));
    request.origin = Some(dialect);
    request.messages = messages;
    request.tools = session.tools.to_wire();
    request.max_tokens = fit.max_tokens;
    request.sampling.temperature = fit.temperature;
    request.stream = settings.stream;
    request.stream_usage = settings.stream;
    if dialect == Dialect::Responses {
        // The server need not store the conversation: every request contains all of it.
        request.extra.insert("store".to_owned(), Value::Bool(false));
    }
    request.instructions = instructions(shared, session);
    let tool_mode = ask_for_schema(&mut request, shared, session, fit.tool_mode);
    let tool_mode = choose_tools(&mut request, dialect, step, tool_mode);
    (request, tool_mode)
}

/// Makes the model call a tool, or answer without one.
fn choose_tools(
    request: &mut ModelRequest,
    dialect: Dialect,
    step: StepKind,
    mode: ToolMode,
) -> ToolMode {
    if request.tools.is_empty() {
        return mode;
    }
    match step {
        StepKind::Any => return mode,
        StepKind::Call => request.tool_choice = Some(ToolChoice::Required),
        StepKind::Last => request.tool_choice = Some(ToolChoice::None),
    }
    // Ollama has no such choice. A schema has the same effect.
    match mode {
        ToolMode::Auto | ToolMode::Native if dialect == Dialect::Ollama => ToolMode::Schema,
        mode => mode,
    }
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

/// Requests an answer that matches the session's schema, if the API and the tools allow it.
fn ask_for_schema(
    request: &mut ModelRequest,
    shared: &ModelState,
    session: &ModelSession,
    mode: ToolMode,
) -> ToolMode {
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
