//! The handle emits valid event sequences, whatever events a backend sends.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::{Value, json};
use windlass_core::{AgentEvent, AgentHandle, TurnLimits};

use super::hostile::{Hostile, Then};

/// Runs the events through a handle with small limits.
fn run_through_handle(events: Vec<AgentEvent>, then: Then) -> Vec<AgentEvent> {
    let limits = TurnLimits {
        event_bytes: 4096,
        ..TurnLimits::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let handle = AgentHandle::wrap(Hostile::new(events, then)).with_limits(limits);
        handle
            .prompt(&"s".into(), "go")
            .await
            .unwrap()
            .collect()
            .await
    })
}

fn check_sequence(events: &[AgentEvent]) {
    let mut open = HashSet::new();
    for (at, event) in events.iter().enumerate() {
        match event {
            AgentEvent::ToolStart { id, .. } => assert!(open.insert(id), "{id} started twice"),
            AgentEvent::ToolProgress { id, .. } => assert!(open.contains(id), "{id} is not open"),
            AgentEvent::ToolEnd { id, .. } => assert!(open.remove(id), "{id} was not open"),
            _ => {}
        }
        assert_eq!(
            event.is_terminal(),
            at + 1 == events.len(),
            "at {at} of {events:?}"
        );
        let size = serde_json::to_string(event).unwrap().len();
        assert!(size < 3 * 4096, "an event of {size} bytes");
    }
    assert!(open.is_empty(), "{open:?} never ended");
}

fn tool_start(id: &str, name: &str) -> AgentEvent {
    AgentEvent::ToolStart {
        id: id.into(),
        name: name.into(),
        input: Value::Null,
    }
}

fn tool_end(id: &str, name: &str) -> AgentEvent {
    AgentEvent::ToolEnd {
        id: id.into(),
        name: name.into(),
        output: json!("x"),
        success: true,
        duration_ms: 7,
    }
}

fn any_event() -> impl Strategy<Value = AgentEvent> {
    let id = prop::sample::select(vec!["a", "b", "c"]);
    prop_oneof![
        "[a-zé]{0,40}".prop_map(AgentEvent::Text),
        (0..20_000_usize).prop_map(|n| AgentEvent::Thought("ü".repeat(n))),
        id.clone().prop_map(|id| tool_start(id, "shell")),
        id.clone().prop_map(|id| tool_end(id, "")),
        id.prop_map(|id| AgentEvent::ToolProgress {
            id: id.into(),
            update: json!(1)
        }),
        (0..20_000_usize)
            .prop_map(|n| AgentEvent::custom("big", json!([{ "text": "y".repeat(n) }, 1]))),
        (0..4_000_usize).prop_map(|n| AgentEvent::custom("wide", json!(vec![1; n]))),
        (0..10_000_usize).prop_map(|n| AgentEvent::result("z".repeat(n))),
        Just(AgentEvent::SessionInvalid {
            reason: "gone".into()
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn p11_any_events_become_a_valid_sequence(
        events in prop::collection::vec(any_event(), 0..24),
        then in prop::sample::select(vec![
            Then::End,
            Then::Hang,
            Then::Panic,
            Then::NeverStart,
            Then::PanicImmediately,
        ]),
    ) {
        check_sequence(&run_through_handle(events, then));
    }
}

#[test]
fn p12_long_text_is_split_without_loss() {
    let long = "añ日".repeat(5_000);
    let events = run_through_handle(vec![AgentEvent::Text(long.clone())], Then::End);
    let chunks: Vec<&str> = events
        .iter()
        .filter_map(|e| match e {
            AgentEvent::Text(t) => Some(t.as_str()),
            _ => None,
        })
        .collect();
    assert!(chunks.len() > 5);
    assert_eq!(chunks.concat(), long);
}

#[test]
fn p12_large_output_keeps_head_and_tail_and_states_cut_bytes() {
    let output = format!("HEAD{}TAIL", "-".repeat(100_000));
    let mut end = tool_end("a", "shell");
    if let AgentEvent::ToolEnd { output: value, .. } = &mut end {
        *value = json!({ "stdout": output });
    }
    let events = run_through_handle(vec![tool_start("a", "shell"), end], Then::End);
    let AgentEvent::ToolEnd { output, .. } = &events[1] else {
        panic!("{events:?}")
    };
    let stdout = output["stdout"].as_str().unwrap();
    assert!(stdout.starts_with("HEAD") && stdout.ends_with("TAIL"));
    assert!(stdout.contains("bytes cut]"), "{stdout}");
}

#[test]
fn malformed_tool_events_are_repaired_or_kept() {
    let events = run_through_handle(
        vec![
            tool_end("lone", "Read"),
            tool_end("lone", "Read"),
            tool_start("twice", "Edit"),
            tool_start("twice", "Edit"),
            AgentEvent::ToolProgress {
                id: "unknown".into(),
                update: json!(1),
            },
            tool_end("twice", ""),
        ],
        Then::End,
    );
    let summaries: Vec<String> = events
        .iter()
        .map(|event| match event {
            AgentEvent::ToolStart { id, name, .. } => format!("start {id} {name}"),
            AgentEvent::ToolProgress { id, .. } => format!("progress {id}"),
            AgentEvent::ToolEnd {
                id,
                name,
                duration_ms,
                ..
            } => format!("end {id} {name} {duration_ms}"),
            AgentEvent::Custom { kind, .. } => kind.clone(),
            other => format!("{}", other.is_terminal()),
        })
        .collect();
    assert_eq!(
        summaries,
        [
            "start lone Read",
            "end lone Read 7",
            "repeated_tool_end",
            "start twice Edit",
            "progress twice",
            "unpaired_tool_progress",
            "end twice Edit 7",
            "true",
        ]
    );
}
