//! Tool calls that are enforced by a JSON schema.
//!
//! The answer is one object with one *action*: a tool with its arguments, or *done* with the answer. This works for a
//! model that was not trained to call tools, because the server allows no other output.

use std::collections::VecDeque;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::{Map, Value, json};
use windlass_wire::{
    JsonSchema, ModelError, ModelEvent, ModelRequest, ModelResponse, OutputFormat, ResponseBuilder,
    StopReason, Text, TokenUsage, ToolChoice, ToolDefinition,
};

use super::flatten::{self, DONE};
use super::{text, unusable};

#[cfg(test)]
mod tests;

/// The instructions for the model.
const INSTRUCTIONS: &str = include_str!("../prompts/schema.md");

/// The actions that an answer may contain.
#[derive(Debug, Clone)]
pub(super) struct ActionSchema {
    names: Vec<String>,
    /// Those of `names` that take plain text.
    freeform: Vec<String>,
    /// Whether the final answer is an object. A server that does not enforce the schema may send it without the action.
    wants_object: bool,
}

/// Returns the request with its tools rendered as text and the schema of actions as the output format.
pub(super) fn prepare_request(request: ModelRequest) -> (ModelRequest, ActionSchema) {
    prepare_with(INSTRUCTIONS, request)
}

/// Like [`prepare_request`], with other instructions.
pub(super) fn prepare_with(
    instructions: &str,
    mut request: ModelRequest,
) -> (ModelRequest, ActionSchema) {
    let answer = match std::mem::take(&mut request.output) {
        OutputFormat::JsonSchema(output) => output.schema,
        OutputFormat::Json => json!({ "type": "object" }),
        _ => json!({ "type": "string" }),
    };
    let wants_object = answer["type"] != "string";
    let (only, may_end) = match &request.tool_choice {
        Some(ToolChoice::Named { name }) => (Some(name.clone()), false),
        Some(ToolChoice::Required) => (None, false),
        _ => (None, true),
    };
    if request.tool_choice == Some(ToolChoice::None) {
        request.tools.clear();
    }
    let mut builder = SchemaBuilder::default();
    for tool in &request.tools {
        if let Some((name, parameters)) = name_and_schema(tool)
            && only.as_ref().is_none_or(|only| *only == name)
        {
            builder.tool(&name, parameters);
        }
    }
    let freeform = request.tools.iter().filter_map(|tool| match tool {
        ToolDefinition::Freeform(tool) => Some(tool.name.clone()),
        _ => None,
    });
    let actions = ActionSchema {
        names: builder.names.clone(),
        freeform: freeform.collect(),
        wants_object: wants_object && may_end,
    };
    if may_end {
        builder.answer(answer);
    }
    let instructions = flatten::describe_tools(instructions, &request.tools);
    let mut request = flatten::flatten(request, flatten::CallFormat::Action);
    request.instructions.push(Text::new(instructions));
    request.output = OutputFormat::JsonSchema(JsonSchema {
        name: Some("action".to_owned()),
        schema: builder.schema(),
        ..JsonSchema::default()
    });
    (request, actions)
}

fn name_and_schema(tool: &ToolDefinition) -> Option<(String, Value)> {
    match tool {
        ToolDefinition::Function(tool) => Some((tool.name.clone(), tool.schema.clone())),
        ToolDefinition::Freeform(tool) => {
            let tool = tool.clone().into_function();
            Some((tool.name, tool.schema))
        }
        _ => None,
    }
}

/// Builds the schema of actions.
#[derive(Default)]
struct SchemaBuilder {
    names: Vec<String>,
    actions: Vec<Value>,
    definitions: Map<String, Value>,
}

impl SchemaBuilder {
    fn tool(&mut self, name: &str, mut parameters: Value) {
        self.hoist(name, &mut parameters);
        self.names.push(name.to_owned());
        self.action(name, "arguments", parameters);
    }

    fn answer(&mut self, mut schema: Value) {
        self.hoist("done.answer", &mut schema);
        self.action(DONE, "answer", schema);
    }

    fn action(&mut self, name: &str, field: &str, schema: Value) {
        self.actions.push(json!({
            "type": "object",
            "properties": { "tool": { "type": "string", "enum": [name] }, field: schema },
            "required": ["tool", field],
            "additionalProperties": false,
        }));
    }

    /// Moves the definitions of a tool's schema to the root of the combined schema, and rewrites the references to
    /// them.
    fn hoist(&mut self, name: &str, schema: &mut Value) {
        let Some(object) = schema.as_object_mut() else {
            return;
        };
        for key in ["$schema", "title"] {
            object.shift_remove(key);
        }
        for key in ["$defs", "definitions"] {
            let Some(Value::Object(definitions)) = object.shift_remove(key) else {
                continue;
            };
            for (definition, mut inner) in definitions {
                rewrite_refs(name, &mut inner);
                self.definitions
                    .insert(format!("{name}.{definition}"), inner);
            }
        }
        rewrite_refs(name, schema);
    }

    fn schema(self) -> Value {
        let mut schema = json!({
            "type": "object",
            "properties": { "action": { "anyOf": self.actions } },
            "required": ["action"],
            "additionalProperties": false,
        });
        if !self.definitions.is_empty() {
            schema["$defs"] = self.definitions.into();
        }
        schema
    }
}

/// Rewrites references to definitions to the tool's own names.
fn rewrite_refs(name: &str, schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                match value {
                    Value::String(to) if key == "$ref" => {
                        let inner = ["#/$defs/", "#/definitions/"]
                            .iter()
                            .find_map(|at| to.strip_prefix(at));
                        if let Some(inner) = inner {
                            *to = format!("#/$defs/{name}.{inner}");
                        }
                    }
                    value => rewrite_refs(name, value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite_refs(name, item)),
        _ => {}
    }
}

/// Reads the whole answer and returns the events of its action.
pub(super) fn decode(
    events: BoxStream<'static, ModelEvent>,
    actions: ActionSchema,
) -> BoxStream<'static, ModelEvent> {
    let reader = ActionReader {
        events,
        actions,
        builder: ResponseBuilder::default(),
        queue: VecDeque::new(),
    };
    stream::unfold(reader, ActionReader::next).boxed()
}

struct ActionReader {
    events: BoxStream<'static, ModelEvent>,
    actions: ActionSchema,
    builder: ResponseBuilder,
    queue: VecDeque<ModelEvent>,
}

impl ActionReader {
    async fn next(mut self) -> Option<(ModelEvent, Self)> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some((event, self));
            }
            let event = self.events.next().await?;
            match event {
                ModelEvent::Start { .. }
                | ModelEvent::ReasoningDelta { .. }
                | ModelEvent::ReasoningEnd { .. }
                | ModelEvent::Error(_) => return Some((event, self)),
                ModelEvent::Done => {
                    let response = std::mem::take(&mut self.builder).build();
                    self.queue.extend(to_events(&response, &self.actions));
                }
                // Errors are forwarded above, so this cannot fail.
                event => drop(self.builder.push(&event)),
            }
        }
    }
}

/// Converts an answer to the events of its action.
fn to_events(response: &ModelResponse, actions: &ActionSchema) -> Vec<ModelEvent> {
    match parse_action(response, actions) {
        Ok(action) => action_events(action, actions, response.usage),
        Err(error) => {
            let usage = response.usage.map(ModelEvent::Usage);
            usage
                .into_iter()
                .chain([ModelEvent::Error(error)])
                .collect()
        }
    }
}

/// Returns the events of an action, as of a model that calls tools natively.
pub(super) fn action_events(
    action: ChosenAction,
    actions: &ActionSchema,
    usage: Option<TokenUsage>,
) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    let reason = match action {
        ChosenAction::Call(name, arguments) => {
            let input = match arguments.get("input").and_then(Value::as_str) {
                Some(input) if actions.freeform.contains(&name) => {
                    text::CallInput::Freeform(input.to_owned())
                }
                _ => text::CallInput::Arguments(arguments),
            };
            events.extend(text::call(&name, input));
            StopReason::ToolUse
        }
        ChosenAction::Done(text) => {
            events.push(ModelEvent::TextDelta { text });
            StopReason::EndTurn
        }
    };
    events.extend(usage.map(ModelEvent::Usage));
    events.push(ModelEvent::Stop { reason });
    events.push(ModelEvent::Done);
    events
}

/// Removes a code fence around the JSON: some servers allow it although a schema is set.
fn strip_fence(text: &str) -> &str {
    let inside = text
        .strip_prefix("```")
        .and_then(|text| text.strip_suffix("```"));
    let body = inside.and_then(|inside| inside.find('{').map(|at| &inside[at..]));
    body.map_or(text, str::trim_end)
}

/// The action that the model chose.
#[derive(Debug, PartialEq)]
pub(super) enum ChosenAction {
    Call(String, Map<String, Value>),
    Done(String),
}

/// Parses the action of an answer.
fn parse_action(
    response: &ModelResponse,
    actions: &ActionSchema,
) -> Result<ChosenAction, ModelError> {
    // A truncated answer may be valid JSON by chance, but it is not what the model meant.
    if response.stop == Some(StopReason::MaxTokens) {
        return Err(unusable(
            "the answer was truncated at the token limit: do less in one step",
        ));
    }
    let text = response.text();
    let value: Value = serde_json::from_str(strip_fence(text.trim()))
        .map_err(|error| unusable(format!("the answer is not the requested JSON: {error}")))?;
    choose(&value, actions)
}

/// Returns the action that a JSON answer chooses.
pub(super) fn choose(value: &Value, actions: &ActionSchema) -> Result<ChosenAction, ModelError> {
    let is_bare = value.get("action").is_none() && value.get("tool").is_none();
    if actions.wants_object && is_bare && value.is_object() {
        return Ok(ChosenAction::Done(value.to_string()));
    }
    let action = value.get("action").unwrap_or(value);
    let name = action
        .get("tool")
        .and_then(Value::as_str)
        .unwrap_or_default();
    // A tool of the client may have the same name as the final action.
    let is_answer =
        name == DONE && action.get("answer").is_some() && action.get("arguments").is_none();
    if !is_answer && actions.names.iter().any(|known| known == name) {
        return match action.get("arguments") {
            Some(Value::Object(arguments)) => {
                Ok(ChosenAction::Call(name.to_owned(), arguments.clone()))
            }
            None | Some(Value::Null) => Ok(ChosenAction::Call(name.to_owned(), Map::new())),
            Some(_) => Err(unusable(format!(
                "the arguments of {name} are not an object"
            ))),
        };
    }
    match action.get("answer") {
        Some(Value::String(answer)) if name == DONE => Ok(ChosenAction::Done(answer.clone())),
        Some(answer) if name == DONE => Ok(ChosenAction::Done(answer.to_string())),
        _ => Err(unusable(format!("unknown action {name:?}"))),
    }
}
