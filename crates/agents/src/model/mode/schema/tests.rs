//! Tests of the schema of actions.

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

fn parse(text: &str, stop: StopReason) -> Result<ChosenAction, ModelError> {
    let response = ModelResponse {
        parts: vec![Part::text(text)],
        stop: Some(stop),
        ..ModelResponse::default()
    };
    parse_action(&response, &prepare_request(request()).1)
}

#[test]
fn schema_contains_every_tool_and_done_with_resolved_references() {
    let (prepared, actions) = prepare_request(request());
    assert!(prepared.tools.is_empty());
    assert_eq!(actions.names, ["fs_read"]);
    let OutputFormat::JsonSchema(schema) = prepared.output else {
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
fn required_tool_choice_excludes_done() {
    let mut required = request();
    required.tool_choice = Some(ToolChoice::Required);
    let OutputFormat::JsonSchema(schema) = prepare_request(required).0.output else {
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
fn only_valid_actions_are_parsed() {
    let end = StopReason::EndTurn;
    let call = parse(
        r#"{"action":{"tool":"fs_read","arguments":{"at":"x"}}}"#,
        end,
    )
    .unwrap();
    assert!(
        matches!(call, ChosenAction::Call(name, arguments) if name == "fs_read" && arguments["at"] == "x")
    );
    let done = r#"{"action":{"tool":"done","answer":"yes"}}"#;
    for text in [format!(" {done} "), format!("```json\n{done}\n```")] {
        assert_eq!(
            parse(&text, end).unwrap(),
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
        assert!(parse(bad, end).is_err(), "{bad}");
    }
}

#[test]
fn truncated_answer_is_unusable_even_if_valid_json() {
    let whole = r#"{"action":{"tool":"done","answer":"yes"}}"#;
    let error = parse(whole, StopReason::MaxTokens).unwrap_err();
    assert!(error.message.contains("truncated"), "{}", error.message);
    assert!(super::super::is_unusable(&error));
}

#[test]
fn tool_with_the_name_of_the_final_action_can_be_called() {
    let mut own = request();
    own.tools
        .push(ToolDefinition::Function(FunctionTool::new(DONE)));
    let (_, actions) = prepare_request(own);
    let answer = json!({ "action": { "tool": "done", "answer": "yes" } });
    assert_eq!(
        choose(&answer, &actions).unwrap(),
        ChosenAction::Done("yes".to_owned())
    );
    let call = json!({ "action": { "tool": "done", "arguments": {} } });
    assert_eq!(
        choose(&call, &actions).unwrap(),
        ChosenAction::Call("done".to_owned(), Map::new())
    );
}
