//! Invariants of every recording of every agent.

use std::collections::BTreeSet;

use windlass_core::{AgentEvent, AgentHandle, SessionOptions};
use windlass_testkit::MockAgent;

use super::replay::{fixture_names, has_terminal_event, parse_fixture};

#[test]
fn p11_every_recording_has_one_terminal_event_per_turn() {
    let names = fixture_names();
    assert!(names.len() > 150, "only {} recordings", names.len());
    for name in names {
        let ends = parse_fixture(&name)
            .iter()
            .filter(|parsed| has_terminal_event(parsed))
            .count();
        let turns = if name == "claude/stdio-multi.jsonl" {
            2
        } else {
            1
        };
        assert_eq!(ends, turns, "{name}");
    }
}

#[test]
fn tool_events_are_paired_in_complete_recordings() {
    for name in fixture_names() {
        let interrupted = ["sig", "timeout", "cut", "interrupt"];
        if interrupted.iter().any(|part| name.contains(part)) {
            continue;
        }
        let mut open = BTreeSet::new();
        for event in parse_fixture(&name)
            .into_iter()
            .flat_map(|parsed| parsed.events)
        {
            match event {
                AgentEvent::ToolStart { id, .. } => {
                    assert!(open.insert(id.clone()), "{name}: {id}")
                }
                AgentEvent::ToolEnd { id, name: tool, .. } => {
                    assert!(open.remove(&id), "{name}: {id} was never started");
                    assert!(!tool.is_empty(), "{name}: {id} has no name");
                }
                _ => {}
            }
        }
        assert!(open.is_empty(), "{name}: {open:?} never ended");
    }
}

/// Only interrupted runs and unknown formats have lines that cannot be parsed.
#[test]
fn only_invalid_lines_are_unparsed() {
    for name in fixture_names()
        .iter()
        .filter(|name| name.ends_with(".jsonl"))
    {
        for event in parse_fixture(name)
            .into_iter()
            .flat_map(|parsed| parsed.events)
        {
            if let AgentEvent::Custom { kind, payload } = event {
                let expected =
                    ["cursor/cut.jsonl", "cursor/unknown.jsonl"].contains(&name.as_str());
                assert!(kind != "unparsed" || expected, "{name}: {payload}");
            }
        }
    }
}

#[tokio::test]
async fn p11_every_recording_is_a_well_formed_turn_through_a_handle() {
    for name in fixture_names() {
        let events: Vec<AgentEvent> = parse_fixture(&name)
            .into_iter()
            .flat_map(|parsed| parsed.events)
            .collect();
        let agent = AgentHandle::wrap(MockAgent::new().on_prompt("").respond_with(events));
        let session = agent.new_session(SessionOptions::default()).await.unwrap();
        let seen = agent.prompt(&session, "go").await.unwrap().collect().await;
        let ends = seen.iter().filter(|event| event.is_terminal()).count();
        assert_eq!(ends, 1, "{name}");
        assert!(seen.last().is_some_and(AgentEvent::is_terminal), "{name}");
    }
}
