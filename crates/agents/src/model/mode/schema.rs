//! Calls that a JSON schema holds the model to.
//!
//! The answer is one object with one *action*: a tool with its arguments, or *done* with the answer. A model that never
//! learned to call tools follows this, because the server lets it write nothing else.

use std::collections::VecDeque;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::{Map, Value, json};
use windlass_wire::{
    JsonSchema, ModelError, ModelEvent, ModelRequest, ModelResponse, OutputFormat, ResponseBuilder,
    StopReason, Text, ToolChoice, ToolDefinition,
};

use super::{flatten, text, unusable};

/// The action that ends the work.
pub(super) const DONE: &str = "done";
/// What the model is told about how to act.
const INSTRUCTIONS: &str = include_str!("../prompts/schema.md");

/// What an answer may be.
#[derive(Debug, Clone)]
pub(super) struct ActionSchema {
    names: Vec<String>,
    /// Whether the answer itself is an object, which a server that enforces nothing may let through bare.
    wants_object: bool,
}

/// The request with its tools put into words and its answer held to a schema.
pub(super) fn prepare_request(mut request: ModelRequest) -> (ModelRequest, ActionSchema) {
    let answer = match std::mem::take(&mut request.output) {
        OutputFormat::JsonSchema(wanted) => wanted.schema,
        OutputFormat::Json => json!({ "type": "object" }),
        _ => json!({ "type": "string" }),
    };
    let wants_object = answer["type"] != "string";
    let (only, may_end) = match &request.tool_choice {
        Some(ToolChoice::Named { name }) => (Some(name.clone()), false),
        Some(ToolChoice::Required) => (None, false),
        _ => (None, true),
    };
    let mut shape = SchemaBuilder::default();
    for tool in &request.tools {
        if let Some((name, parameters)) = name_and_schema(tool)
            && only.as_ref().is_none_or(|only| *only == name)
        {
            shape.tool(&name, parameters);
        }
    }
    let plan = ActionSchema {
        names: shape.names.clone(),
        wants_object: wants_object && may_end,
    };
    if may_end {
        shape.action(DONE, "answer", answer);
    }
    let how = flatten::describe_tools(INSTRUCTIONS, &request.tools);
    let mut request = flatten::flatten(request, flatten::CallFormat::Action);
    request.instructions.push(Text::new(how));
    request.output = OutputFormat::JsonSchema(JsonSchema {
        name: Some("action".to_owned()),
        schema: shape.schema(),
        ..JsonSchema::default()
    });
    (request, plan)
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

/// The schema as it grows.
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

    fn action(&mut self, name: &str, field: &str, schema: Value) {
        self.actions.push(json!({
            "type": "object",
            "properties": { "tool": { "type": "string", "enum": [name] }, field: schema },
            "required": ["tool", field],
            "additionalProperties": false,
        }));
    }

    /// References of a tool's schema start from the root, which is now elsewhere.
    fn hoist(&mut self, name: &str, schema: &mut Value) {
        let Some(object) = schema.as_object_mut() else {
            return;
        };
        for key in ["$schema", "title"] {
            object.shift_remove(key);
        }
        for key in ["$defs", "definitions"] {
            let Some(Value::Object(found)) = object.shift_remove(key) else {
                continue;
            };
            for (definition, mut inner) in found {
                redirect(name, &mut inner);
                self.definitions
                    .insert(format!("{name}.{definition}"), inner);
            }
        }
        redirect(name, schema);
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

fn redirect(name: &str, schema: &mut Value) {
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
                    value => redirect(name, value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redirect(name, item)),
        _ => {}
    }
}

/// Hears an answer to its end, and gives what it means.
pub(super) fn decode(
    events: BoxStream<'static, ModelEvent>,
    plan: ActionSchema,
) -> BoxStream<'static, ModelEvent> {
    let hearing = ActionReader {
        events,
        plan,
        fold: ResponseBuilder::default(),
        queue: VecDeque::new(),
    };
    stream::unfold(hearing, ActionReader::next).boxed()
}

struct ActionReader {
    events: BoxStream<'static, ModelEvent>,
    plan: ActionSchema,
    fold: ResponseBuilder,
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
                    let response = std::mem::take(&mut self.fold).build();
                    self.queue.extend(meaning(&response, &self.plan));
                }
                // An error is passed on above, so folding cannot fail.
                event => drop(self.fold.push(&event)),
            }
        }
    }
}

/// The events that an answer means.
fn meaning(response: &ModelResponse, plan: &ActionSchema) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    let usage = response.usage.map(ModelEvent::Usage);
    match act(response, plan) {
        Ok(ChosenAction::Call(name, arguments)) => {
            events.extend(text::call(&name, arguments));
            events.extend(usage);
            let reason = StopReason::ToolUse;
            events.push(ModelEvent::Stop { reason });
            events.push(ModelEvent::Done);
        }
        Ok(ChosenAction::Done(text)) => {
            events.push(ModelEvent::TextDelta { text });
            events.extend(usage);
            let reason = StopReason::EndTurn;
            events.push(ModelEvent::Stop { reason });
            events.push(ModelEvent::Done);
        }
        Err(error) => {
            events.extend(usage);
            events.push(ModelEvent::Error(error));
        }
    }
    events
}

/// Some servers let a model put its JSON into a code fence all the same.
fn unfenced(text: &str) -> &str {
    let inside = text
        .strip_prefix("```")
        .and_then(|text| text.strip_suffix("```"));
    let body = inside.and_then(|inside| inside.find('{').map(|at| &inside[at..]));
    body.map_or(text, str::trim_end)
}

/// What the model chose to do.
#[derive(Debug, PartialEq)]
enum ChosenAction {
    Call(String, Map<String, Value>),
    Done(String),
}

fn act(response: &ModelResponse, plan: &ActionSchema) -> Result<ChosenAction, ModelError> {
    // What was cut may be JSON by chance, and is still not what the model wanted to say.
    if response.stop == Some(StopReason::MaxTokens) {
        return Err(unusable(
            "the answer was cut at the limit on tokens: do less at once",
        ));
    }
    let text = response.text();
    let value: Value = serde_json::from_str(unfenced(text.trim())).map_err(|error| {
        unusable(format!(
            "the answer is not the JSON that was asked for: {error}"
        ))
    })?;
    let is_bare = value.get("action").is_none() && value.get("tool").is_none();
    if plan.wants_object && is_bare && value.is_object() {
        return Ok(ChosenAction::Done(value.to_string()));
    }
    let action = value.get("action").unwrap_or(&value);
    let name = action
        .get("tool")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if plan.names.iter().any(|known| known == name) {
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
        _ => Err(unusable(format!("no action is called {name:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use windlass_wire::{FunctionTool, Part};

    use super::*;

    fn request() -> ModelRequest {
        let mut request = ModelRequest::new("m");
        let mut tool = FunctionTool::new("fs_read");
        tool.schema = json!({
            "$schema": "x",
            "title": "Read",
            "type": "object",
            "properties": { "at": { "$ref": "#/$defs/Place" } },
            "$defs": { "Place": { "type": "string" } },
        });
        request.tools.push(ToolDefinition::Function(tool));
        request
    }

    fn said(text: &str, stop: StopReason) -> Result<ChosenAction, ModelError> {
        let response = ModelResponse {
            parts: vec![Part::text(text)],
            stop: Some(stop),
            ..ModelResponse::default()
        };
        act(&response, &prepare_request(request()).1)
    }

    #[test]
    fn the_schema_holds_every_tool_and_done_and_its_references_lead_somewhere() {
        let (dressed, plan) = prepare_request(request());
        assert!(dressed.tools.is_empty());
        assert_eq!(plan.names, ["fs_read"]);
        let OutputFormat::JsonSchema(schema) = dressed.output else {
            panic!("no schema")
        };
        let actions = schema.schema.pointer("/properties/action/anyOf").unwrap();
        assert_eq!(actions[0]["properties"]["tool"]["enum"], json!(["fs_read"]));
        let at = "/properties/arguments/properties/at/$ref";
        assert_eq!(actions[0].pointer(at).unwrap(), "#/$defs/fs_read.Place");
        assert!(schema.schema["$defs"]["fs_read.Place"].is_object());
        assert_eq!(actions[1]["properties"]["tool"]["enum"], json!([DONE]));
    }

    #[test]
    fn a_choice_that_must_be_made_leaves_no_way_out() {
        let mut wanted = request();
        wanted.tool_choice = Some(ToolChoice::Required);
        let OutputFormat::JsonSchema(schema) = prepare_request(wanted).0.output else {
            panic!("no schema")
        };
        assert_eq!(
            schema.schema["properties"]["action"]["anyOf"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
    }

    #[test]
    fn an_action_is_read_and_nothing_else() {
        let end = StopReason::EndTurn;
        let call = said(
            r#"{"action":{"tool":"fs_read","arguments":{"at":"x"}}}"#,
            end,
        )
        .unwrap();
        assert!(
            matches!(call, ChosenAction::Call(name, given) if name == "fs_read" && given["at"] == "x")
        );
        let done = r#"{"action":{"tool":"done","answer":"yes"}}"#;
        for dressed in [format!(" {done} "), format!("```json\n{done}\n```")] {
            assert_eq!(
                said(&dressed, end).unwrap(),
                ChosenAction::Done("yes".to_owned())
            );
        }
        for bad in [
            "",
            "yes",
            "{}",
            r#"{"action":{"tool":"rm","arguments":{}}}"#,
            r#"{"action":{"tool":"fs_read","arguments":3}}"#,
            r#"{"action":{"tool":"done"}}"#,
        ] {
            assert!(said(bad, end).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_answer_cut_at_the_limit_is_none_even_if_it_is_json() {
        let whole = r#"{"action":{"tool":"done","answer":"yes"}}"#;
        let error = said(whole, StopReason::MaxTokens).unwrap_err();
        assert!(error.message.contains("cut"), "{}", error.message);
        assert!(super::super::is_unusable(&error));
    }
}
