//! Adaptation of requests to what an API supports.

use std::collections::{HashMap, HashSet};

use crate::{
    Dialect, Extra, FunctionTool, JsonSchema, Message, ModelRequest, OutputFormat, Part, Role,
    Text, ToolCall, ToolDefinition, ToolInputKind, ToolResult,
};

/// Applies what every API needs: removes foreign and empty values, and links results to their calls.
pub(crate) fn adapt_common(request: &mut ModelRequest, dialect: Dialect) {
    if request.origin != Some(dialect) {
        strip_foreign(request);
        request.origin = Some(dialect);
    }
    drop_opaque(request, dialect);
    if dialect != Dialect::Chat {
        request.stream_usage = request.stream;
    }
    request.stream_usage &= request.stream;
    request.instructions.retain(|text| !text.text.is_empty());
    for_each_function(request, |tool| {
        if tool.schema.is_null() {
            tool.schema = FunctionTool::new("").schema;
        }
    });
    for message in &mut request.messages {
        let role = message.role;
        if role == Role::Tool {
            // A message of results exists only here; in the APIs each result is separate or in a message with
            // other parts.
            message.extra = Extra::new();
        }
        message
            .parts
            .retain(|part| role_allows(role, part) && !is_empty(part));
    }
    drop_empty_messages(request);
    link_results(&mut request.messages);
}

/// Removes empty messages, and joins messages of results that become adjacent.
pub(crate) fn drop_empty_messages(request: &mut ModelRequest) {
    for message in std::mem::take(&mut request.messages) {
        if !message.parts.is_empty() {
            push_message(&mut request.messages, message);
        }
    }
}

/// Appends a message. Consecutive messages of results become one.
pub(crate) fn push_message(messages: &mut Vec<Message>, message: Message) {
    match messages.last_mut() {
        Some(last) if last.role == Role::Tool && message.role == Role::Tool => {
            last.parts.extend(message.parts);
        }
        _ => messages.push(message),
    }
}

/// Splits a message into tool results and other parts: in some APIs results are in the user's messages.
///
/// The message's extra fields stay with the first message that is not a result.
pub(crate) fn split_by_role(role: Role, parts: Vec<Part>, mut extra: Extra) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for part in parts {
        let part_role = match part {
            Part::ToolResult(_) => Role::Tool,
            _ => role,
        };
        match messages.last_mut() {
            Some(last) if last.role == part_role => last.parts.push(part),
            _ => messages.push(Message::new(part_role, vec![part])),
        }
    }
    if let Some(first) = messages
        .iter_mut()
        .find(|message| message.role != Role::Tool)
    {
        std::mem::swap(&mut first.extra, &mut extra);
    }
    messages
}

/// Sets the tool of each result, from the preceding calls.
pub(crate) fn link_results(messages: &mut [Message]) {
    let mut calls: HashMap<String, (String, ToolInputKind)> = HashMap::new();
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        match part {
            Part::ToolCall(call) => {
                calls.insert(call.id.clone(), (call.name.clone(), call.kind));
            }
            Part::ToolResult(result) => {
                if let Some((name, kind)) = calls.get(&result.call_id) {
                    result.name.clone_from(name);
                    result.kind = *kind;
                }
            }
            _ => {}
        }
    }
}

/// Changes every result without a call in the conversation: if the API's results do not name their tool,
/// the tool is unknown.
pub(crate) fn for_each_orphan_result(
    request: &mut ModelRequest,
    mut change: impl FnMut(&mut ToolResult),
) {
    let mut calls: HashSet<String> = HashSet::new();
    for part in request.messages.iter_mut().flat_map(|m| &mut m.parts) {
        match part {
            Part::ToolCall(call) => {
                calls.insert(call.id.clone());
            }
            Part::ToolResult(result) if !calls.contains(&result.call_id) => change(result),
            _ => {}
        }
    }
}

/// Removes values that only the API of origin understands.
fn strip_foreign(request: &mut ModelRequest) {
    request.extra = Extra::new();
    for text in &mut request.instructions {
        text.extra = Extra::new();
    }
    for tool in &mut request.tools {
        match tool {
            ToolDefinition::Function(tool) => tool.extra = Extra::new(),
            ToolDefinition::Freeform(tool) => tool.extra = Extra::new(),
            ToolDefinition::Hosted(_) => {}
        }
    }
    for message in &mut request.messages {
        message.extra = Extra::new();
        message.parts.iter_mut().for_each(strip_part);
    }
}

fn strip_part(part: &mut Part) {
    match part {
        Part::Text(text) => text.extra = Extra::new(),
        Part::Image(image) => image.extra = Extra::new(),
        Part::Reasoning(reasoning) => {
            reasoning.extra = Extra::new();
            reasoning.signature = None;
            reasoning.redacted = false;
        }
        Part::ToolCall(call) => {
            call.extra = Extra::new();
            call.signature = None;
        }
        Part::ToolResult(result) => {
            result.extra = Extra::new();
            result.parts.iter_mut().for_each(strip_part);
        }
        Part::Opaque(_) => {}
    }
}

fn drop_opaque(request: &mut ModelRequest, dialect: Dialect) {
    let is_own = |part: &Part| !matches!(part, Part::Opaque(opaque) if opaque.dialect != dialect);
    for message in &mut request.messages {
        message.parts.retain(is_own);
        for part in &mut message.parts {
            if let Part::ToolResult(result) = part {
                result.parts.retain(|part| is_own(part) && !is_empty(part));
            }
        }
    }
    request.tools.retain(
        |tool| !matches!(tool, ToolDefinition::Hosted(opaque) if opaque.dialect != dialect),
    );
}

/// Returns `true` if the role may have such a part: calls and reasoning belong to the assistant, results to
/// the tools.
fn role_allows(role: Role, part: &Part) -> bool {
    match part {
        Part::ToolResult(_) => role == Role::Tool,
        Part::ToolCall(_) | Part::Reasoning(_) => role == Role::Assistant,
        Part::Image(_) => !matches!(role, Role::Assistant | Role::Tool),
        Part::Text(_) | Part::Opaque(_) => role != Role::Tool,
    }
}

pub(super) fn is_empty(part: &Part) -> bool {
    match part {
        Part::Text(text) => text.text.is_empty(),
        Part::Reasoning(reasoning) => {
            reasoning.text.is_empty() && reasoning.signature.is_none() && reasoning.extra.is_empty()
        }
        _ => false,
    }
}

/// Makes the instructions the first message, for APIs that have them there.
pub(crate) fn inline_instructions(request: &mut ModelRequest) {
    let texts = std::mem::take(&mut request.instructions);
    if !texts.is_empty() {
        let parts = texts.into_iter().map(Part::Text).collect();
        request
            .messages
            .insert(0, Message::new(Role::System, parts));
    }
}

/// Moves leading system messages into the instructions, for APIs that keep instructions separate.
pub(crate) fn extract_instructions(request: &mut ModelRequest) {
    let is_operator = |message: &Message| matches!(message.role, Role::System | Role::Developer);
    let leading = request
        .messages
        .iter()
        .take_while(|m| is_operator(m))
        .count();
    for message in request.messages.drain(..leading) {
        let texts = message.parts.into_iter().filter_map(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        });
        request.instructions.extend(texts);
    }
}

/// Joins the instructions, for APIs that have one string for them.
pub(crate) fn join_instructions(request: &mut ModelRequest) {
    if request.instructions.len() > 1 || request.instructions.iter().any(|t| !t.extra.is_empty()) {
        let texts: Vec<&str> = request
            .instructions
            .iter()
            .map(|t| t.text.as_str())
            .collect();
        request.instructions = vec![Text::new(texts.join("\n\n"))];
    }
}

/// Turns freeform tools and calls into functions, for APIs that support only JSON objects.
pub(crate) fn functions_only(request: &mut ModelRequest) {
    for tool in &mut request.tools {
        if let ToolDefinition::Freeform(freeform) = tool {
            *tool = ToolDefinition::Function(freeform.clone().into_function());
        }
    }
    for part in request.messages.iter_mut().flat_map(|m| &mut m.parts) {
        match part {
            Part::ToolCall(call) => object_input(call),
            Part::ToolResult(result) => result.kind = ToolInputKind::Function,
            _ => {}
        }
    }
}

/// Rewrites a call's input as the compact text of a JSON object.
pub(crate) fn object_input(call: &mut ToolCall) {
    call.input = call.input_object().to_string();
    call.kind = ToolInputKind::Function;
}

/// Removes foreign reasoning, for APIs that accept reasoning only with their own signature.
pub(crate) fn drop_foreign_reasoning(request: &mut ModelRequest, dialect: Dialect) {
    if request.origin != Some(dialect) {
        for message in &mut request.messages {
            message
                .parts
                .retain(|part| !matches!(part, Part::Reasoning(_)));
        }
    }
}

/// Changes every function tool of the request.
pub(crate) fn for_each_function(
    request: &mut ModelRequest,
    mut change: impl FnMut(&mut FunctionTool),
) {
    for tool in &mut request.tools {
        if let ToolDefinition::Function(function) = tool {
            change(function);
        }
    }
}

/// Keeps only the schema, for APIs that have no other schema fields. If it is not an object, plain JSON is
/// requested.
pub(crate) fn schema_only(request: &mut ModelRequest) {
    if let OutputFormat::JsonSchema(found) = &mut request.output {
        let schema = found.schema.take();
        request.output = if schema.is_object() {
            OutputFormat::JsonSchema(JsonSchema {
                schema,
                ..JsonSchema::default()
            })
        } else {
            OutputFormat::Json
        };
    }
}

/// Changes every tool result of the request.
pub(crate) fn for_each_result(request: &mut ModelRequest, mut change: impl FnMut(&mut ToolResult)) {
    for part in request.messages.iter_mut().flat_map(|m| &mut m.parts) {
        if let Part::ToolResult(result) = part {
            change(result);
        }
    }
}
