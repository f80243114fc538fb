//! Tools of a client for an agent that accepts only text.
//!
//! The agent gets the tools as text and answers with one action of a schema, as a model in the tool mode `schema` does.

use serde_json::Value;
use windlass_wire::{
    ModelError, ModelEvent, ModelRequest, OutputFormat, TokenUsage, ToolChoice, ToolDefinition,
};

use super::schema::{self, ActionSchema};

/// The instructions for the agent.
const INSTRUCTIONS: &str = include_str!("../prompts/transcript.md");

/// A request with tools, for an agent that accepts only text.
#[derive(Debug, Clone)]
pub struct TranscriptTools {
    request: ModelRequest,
    schema: Value,
    actions: ActionSchema,
}

impl TranscriptTools {
    /// Renders the tools of a request, its calls and their results as text.
    pub fn new(request: ModelRequest) -> Self {
        let instructions = instructions(&request);
        let (mut request, actions) = schema::prepare_with(&instructions, request);
        let schema = match std::mem::take(&mut request.output) {
            OutputFormat::JsonSchema(output) => output.schema,
            _ => Value::Bool(true),
        };
        Self {
            request,
            schema,
            actions,
        }
    }

    /// Returns the conversation as text, with the tools in its instructions.
    pub fn request(&self) -> &ModelRequest {
        &self.request
    }

    /// Returns the JSON schema of the agent's answer. It includes the schemas of the tools' arguments.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Converts an answer that matches the schema to the events of a model that calls tools, without the first one.
    pub fn events(
        &self,
        answer: &Value,
        usage: Option<TokenUsage>,
    ) -> Result<Vec<ModelEvent>, ModelError> {
        let action = schema::choose(answer, &self.actions)?;
        Ok(schema::action_events(action, &self.actions, usage))
    }
}

/// Returns the instructions with what the request demands of the answer.
fn instructions(request: &ModelRequest) -> String {
    let mut text = INSTRUCTIONS.trim_end().to_owned();
    match &request.tool_choice {
        Some(ToolChoice::Required) => text.push_str("\n\nNow ask for a call: do not use `done`."),
        Some(ToolChoice::Named { name }) => {
            text.push_str(&format!(
                "\n\nNow ask for a call of `{name}`: do not use `done`."
            ));
        }
        _ => {}
    }
    match &request.output {
        OutputFormat::Json => text.push_str("\n\nThe `answer` is a JSON object."),
        OutputFormat::JsonSchema(output) => text.push_str(&format!(
            "\n\nThe `answer` is JSON that matches this schema: {}",
            output.schema
        )),
        _ => {}
    }
    text
}

/// Returns the name of a tool that only its provider can run.
pub fn hosted_tool(tools: &[ToolDefinition]) -> Option<&str> {
    tools.iter().find_map(|tool| match tool {
        ToolDefinition::Function(_) | ToolDefinition::Freeform(_) => None,
        other => Some(other.name().unwrap_or("without a name")),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_wire::{
        FreeformTool, FunctionTool, JsonSchema, Message, Part, Role, ToolCall, ToolInputKind,
        ToolResult,
    };

    use super::*;

    fn request() -> ModelRequest {
        let mut weather = FunctionTool::new("weather");
        weather.schema = json!({ "type": "object", "required": ["city"] });
        let patch = FreeformTool {
            name: "apply_patch".to_owned(),
            description: None,
            grammar: None,
            extra: Default::default(),
        };
        let mut request = ModelRequest::new("m");
        request.tools = vec![
            ToolDefinition::Function(weather),
            ToolDefinition::Freeform(patch),
        ];
        let call = ToolCall {
            id: "1".to_owned(),
            name: "weather".to_owned(),
            input: "{\"city\":\"Brno\"}".to_owned(),
            ..ToolCall::default()
        };
        let result = ToolResult {
            call_id: "1".to_owned(),
            parts: vec![Part::text("sunny")],
            ..ToolResult::default()
        };
        request.messages = vec![
            Message::new(Role::User, vec![Part::text("How is it?")]),
            Message::new(Role::Assistant, vec![Part::ToolCall(call)]),
            Message::new(Role::Tool, vec![Part::ToolResult(result)]),
        ];
        request
    }

    fn started(answer: Value) -> Option<(String, ToolInputKind, String)> {
        let events = TranscriptTools::new(request()).events(&answer, None);
        match &events.unwrap()[..2] {
            [
                ModelEvent::ToolCallStart { name, kind, .. },
                ModelEvent::ToolCallDelta { input, .. },
            ] => Some((name.clone(), *kind, input.clone())),
            _ => None,
        }
    }

    #[test]
    fn conversation_has_tools_calls_and_results_as_text() {
        let tools = TranscriptTools::new(request());
        let shown = tools.request();
        let instructions = &shown.instructions[0].text;
        assert!(instructions.contains("- `weather`"), "{instructions}");
        assert!(
            instructions.contains(r#"{"type":"object","required":["city"]}"#),
            "{instructions}"
        );
        assert!(shown.tools.is_empty());
        let texts: Vec<String> = shown.messages.iter().map(Message::text).collect();
        assert_eq!(
            texts[1],
            r#"{"action":{"tool":"weather","arguments":{"city":"Brno"}}}"#
        );
        assert_eq!(texts[2], "Result of `weather`:\nsunny");
    }

    #[test]
    fn answers_become_calls_of_their_kind_or_text() {
        let call = json!({ "action": { "tool": "weather", "arguments": { "city": "Oslo" } } });
        assert_eq!(
            started(call),
            Some((
                "weather".to_owned(),
                ToolInputKind::Function,
                r#"{"city":"Oslo"}"#.to_owned()
            ))
        );
        let patch =
            json!({ "action": { "tool": "apply_patch", "arguments": { "input": "*** a" } } });
        assert_eq!(
            started(patch),
            Some((
                "apply_patch".to_owned(),
                ToolInputKind::Freeform,
                "*** a".to_owned()
            ))
        );
        let tools = TranscriptTools::new(request());
        let done = json!({ "action": { "tool": "done", "answer": "It is sunny." } });
        let events = tools.events(&done, None).unwrap();
        assert_eq!(
            events[0],
            ModelEvent::TextDelta {
                text: "It is sunny.".to_owned()
            }
        );
        let unknown = json!({ "action": { "tool": "rm", "arguments": {} } });
        assert!(tools.events(&unknown, None).is_err());
    }

    #[test]
    fn instructions_say_what_the_request_demands() {
        let mut named = request();
        named.tool_choice = Some(ToolChoice::Named {
            name: "weather".to_owned(),
        });
        let tools = TranscriptTools::new(named);
        let text = &tools.request().instructions[0].text;
        assert!(text.contains("Now ask for a call of `weather`"), "{text}");
        let actions = tools.schema().pointer("/properties/action/anyOf").unwrap();
        assert_eq!(actions.as_array().unwrap().len(), 1);

        let mut structured = request();
        structured.output = OutputFormat::JsonSchema(JsonSchema {
            schema: json!({ "$ref": "#/$defs/Sky", "$defs": { "Sky": { "type": "object" } } }),
            ..JsonSchema::default()
        });
        let tools = TranscriptTools::new(structured);
        let text = &tools.request().instructions[0].text;
        assert!(text.contains("matches this schema"), "{text}");
        assert!(
            tools.schema()["$defs"]["done.answer.Sky"].is_object(),
            "{}",
            tools.schema()
        );
    }
}
