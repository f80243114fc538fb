//! Tests of terminal events.

use agent_client_protocol::v1::schema::{PromptResponse, StopReason};
use serde_json::{Value, json};
use windlass_core::{AgentEvent, Usage};

use super::outcome::{ContextSize, TurnSummary, error_event, terminal, usage};
use super::preset::Quirks;

fn message(code: i32, message: &str, data: Value) -> String {
    match error_event(code, message, Some(&data), &[]) {
        AgentEvent::Error { message, .. } => message,
        AgentEvent::SessionInvalid { reason } => format!("lost: {reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn data_of_an_error_is_part_of_its_message() {
    for (code, text, data, expected) in [
        (
            -32602,
            "Invalid params",
            json!("Unknown sessionId: 7"),
            "lost: Invalid params: Unknown sessionId: 7",
        ),
        (
            -32603,
            "Internal error",
            json!({ "reason": "no model is set" }),
            "Internal error: no model is set",
        ),
        (
            -32603,
            "Internal error",
            json!({ "hint": 3 }),
            "Internal error: {\"hint\":3}",
        ),
        (
            -32603,
            "the disk is full",
            json!({ "hint": 3 }),
            "the disk is full",
        ),
        (-32603, "Internal error", json!({}), "Internal error"),
    ] {
        assert_eq!(message(code, text, data), expected);
    }
}

fn end(text: &str, used_tool: bool, output_tokens: Option<u64>) -> AgentEvent {
    let usage = output_tokens.map(|output_tokens| Usage {
        output_tokens,
        ..Usage::default()
    });
    let summary = TurnSummary {
        text: text.to_owned(),
        error_text: None,
        stopped: false,
        denied: None,
        usage,
        used_tool,
        context: Some(ContextSize { used: 5, size: 10 }),
    };
    terminal(&PromptResponse::new(StopReason::EndTurn), summary)
}

#[test]
fn turn_without_an_answer_is_an_error() {
    for (text, used_tool, output_tokens) in [("", false, None), (" \n", false, Some(0))] {
        let event = end(text, used_tool, output_tokens);
        assert!(matches!(event, AgentEvent::Error { .. }), "{event:?}");
    }
    for (text, used_tool, output_tokens) in
        [("a", false, None), ("", true, None), ("", false, Some(3))]
    {
        let AgentEvent::Result { metadata, .. } = end(text, used_tool, output_tokens) else {
            panic!("{text:?} {used_tool}");
        };
        assert_eq!(metadata["context"], json!({ "used": 5, "size": 10 }));
    }
}

#[test]
fn usage_is_found_in_meta() {
    for meta in [
        json!({ "usage": { "inputTokens": 7, "outputTokens": 2 } }),
        json!({ "agent": { "usage": { "prompt_tokens": 7, "completion_tokens": 2 } } }),
    ] {
        let response = json!({ "stopReason": "end_turn", "_meta": meta });
        let response: PromptResponse = serde_json::from_value(response).unwrap();
        let usage = usage(&response, &Quirks::NONE).unwrap();
        assert_eq!((usage.input_tokens, usage.output_tokens), (7, 2));
    }
    let response = PromptResponse::new(StopReason::EndTurn);
    assert_eq!(usage(&response, &Quirks::NONE), None);
}
