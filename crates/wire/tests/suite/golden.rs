//! One request and one stream for each API, verbatim, so that a change of the format is noticed.

use expect_test::expect_file;
use serde_json::Value;
use windlass_wire::*;

use super::streams;

/// Returns a request with one of everything that most APIs support.
fn request() -> ModelRequest {
    let call = ToolCall {
        id: "call_1".into(),
        name: "shell".into(),
        input: r#"{"cmd":"ls"}"#.into(),
        ..ToolCall::default()
    };
    let result = ToolResult {
        call_id: "call_1".into(),
        name: "shell".into(),
        parts: vec![Part::text("a.txt")],
        ..ToolResult::default()
    };
    let mut tool = FunctionTool::new("shell");
    tool.schema =
        serde_json::json!({ "type": "object", "properties": { "cmd": { "type": "string" } } });
    ModelRequest {
        instructions: vec![Text::new("be brief")],
        messages: vec![
            Message::new(Role::User, vec![Part::text("what is here?")]),
            Message::new(
                Role::Assistant,
                vec![Part::text("I look."), Part::ToolCall(call)],
            ),
            Message::new(Role::Tool, vec![Part::ToolResult(result)]),
        ],
        tools: vec![
            ToolDefinition::Function(tool),
            ToolDefinition::Freeform(FreeformTool {
                name: "patch".into(),
                description: None,
                grammar: None,
                extra: Extra::new(),
            }),
        ],
        tool_choice: Some(ToolChoice::Required),
        max_tokens: Some(100),
        stream: true,
        stream_usage: true,
        ..ModelRequest::new("m")
    }
}

fn response() -> ModelResponse {
    ModelResponse {
        id: "id_1".into(),
        model: "m".into(),
        parts: vec![
            Part::Reasoning(Reasoning {
                text: "hm".into(),
                signature: Some("c2ln".into()),
                ..Reasoning::default()
            }),
            Part::text("hi"),
            Part::ToolCall(ToolCall {
                id: "call_1".into(),
                name: "shell".into(),
                input: r#"{"cmd":"ls"}"#.into(),
                ..ToolCall::default()
            }),
        ],
        stop: Some(StopReason::ToolUse),
        usage: Some(TokenUsage {
            input_tokens: 12,
            output_tokens: 5,
            cache_read_tokens: 8,
            cache_write_tokens: 1,
            reasoning_tokens: 2,
        }),
    }
}

#[test]
fn every_api_matches_its_golden_files() {
    for dialect in Dialect::ALL {
        let body: Value = serde_json::from_slice(&dialect.render_request(&request())).unwrap();
        expect_file![format!("../golden/{dialect}.request.json")].assert_eq(&format!("{body:#}\n"));
        let style = ResponseStyle::new(dialect, 1_700_000_000);
        let stream = streams::write(dialect, style, &response().to_events());
        let stream = String::from_utf8(stream).unwrap();
        expect_file![format!("../golden/{dialect}.stream.txt")].assert_eq(&stream);
    }
}
