//! The JSON format of events. It must stay stable, because stores, recordings and other programs read it.

use expect_test::expect;
use serde_json::json;
use windlass_core::{
    AgentEvent, Envelope, ErrorCode, PermissionKind, PermissionOption, PlanEntry, PlanStatus,
    Timestamp, TurnId, Usage,
};

fn every_event() -> Vec<AgentEvent> {
    vec![
        AgentEvent::Text("hi".into()),
        AgentEvent::Thought("hm".into()),
        AgentEvent::Plan {
            entries: vec![PlanEntry {
                step: "read".into(),
                status: PlanStatus::InProgress,
            }],
        },
        AgentEvent::ToolStart {
            id: "1".into(),
            name: "Read".into(),
            input: json!({"path": "a"}),
        },
        AgentEvent::ToolProgress {
            id: "1".into(),
            update: json!("half"),
        },
        AgentEvent::ToolEnd {
            id: "1".into(),
            name: "Read".into(),
            output: json!("text"),
            success: true,
            duration_ms: 3,
        },
        AgentEvent::PermissionRequest {
            id: "p".into(),
            tool: "Bash".into(),
            input: json!({"command": "ls"}),
            options: vec![PermissionOption {
                id: "yes".into(),
                kind: PermissionKind::AllowOnce,
                label: "Yes".into(),
            }],
        },
        AgentEvent::Result {
            text: "done".into(),
            usage: Some(Usage {
                input_tokens: 10,
                output_tokens: 2,
                cache_read_tokens: Some(4),
                ..Usage::default()
            }),
            metadata: json!({"turns": 1}),
        },
        AgentEvent::result("bare"),
        AgentEvent::Error {
            code: ErrorCode::RateLimited,
            message: "slow down".into(),
            recoverable: true,
        },
        AgentEvent::SessionInvalid {
            reason: "gone".into(),
        },
        AgentEvent::SessionChanged {
            new_session_id: "s2".into(),
        },
        AgentEvent::custom("unparsed", json!("???")),
    ]
}

#[test]
fn event_json_is_stable() {
    let lines: Vec<String> = every_event()
        .iter()
        .map(|e| serde_json::to_string(e).unwrap())
        .collect();
    expect![[r#"
        {"type":"Text","text":"hi"}
        {"type":"Thought","text":"hm"}
        {"type":"Plan","entries":[{"step":"read","status":"in_progress"}]}
        {"type":"ToolStart","id":"1","name":"Read","input":{"path":"a"}}
        {"type":"ToolProgress","id":"1","update":"half"}
        {"type":"ToolEnd","id":"1","name":"Read","output":"text","success":true,"duration_ms":3}
        {"type":"PermissionRequest","id":"p","tool":"Bash","input":{"command":"ls"},"options":[{"id":"yes","kind":"allow_once","label":"Yes"}]}
        {"type":"Result","text":"done","usage":{"input_tokens":10,"output_tokens":2,"cache_read_tokens":4},"metadata":{"turns":1}}
        {"type":"Result","text":"bare","usage":null,"metadata":null}
        {"type":"Error","code":"RateLimited","message":"slow down","recoverable":true}
        {"type":"SessionInvalid","reason":"gone"}
        {"type":"SessionChanged","new_session_id":"s2"}
        {"type":"Custom","kind":"unparsed","payload":"???"}"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn events_round_trip_through_json() {
    for event in every_event() {
        let line = serde_json::to_string(&event).unwrap();
        let back: AgentEvent = serde_json::from_str(&line).unwrap();
        assert_eq!(back, event, "{line}");
    }
}

#[test]
fn envelope_json_is_stable() {
    let envelope = Envelope {
        seq: 3,
        at: Timestamp(1_700_000_000_000),
        session: "s".into(),
        turn: TurnId(2),
        event: AgentEvent::Text("hi".into()),
        raw: Some("{}".into()),
    };
    expect![[r#"{"seq":3,"at":1700000000000,"session":"s","turn":2,"event":{"type":"Text","text":"hi"},"raw":"{}"}"#]].assert_eq(&serde_json::to_string(&envelope).unwrap());
}

#[test]
fn error_code_name_equals_its_json() {
    let codes = [
        ErrorCode::Timeout,
        ErrorCode::RateLimited,
        ErrorCode::AuthFailed,
        ErrorCode::SessionOrphaned,
        ErrorCode::ToolFailed,
        ErrorCode::PermissionDenied,
        ErrorCode::BackendError,
        ErrorCode::Cancelled,
        ErrorCode::OutputLimit,
        ErrorCode::Unknown,
    ];
    for code in codes {
        assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
    }
}
