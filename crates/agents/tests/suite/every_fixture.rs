//! What holds for every recording of every agent.

use std::collections::BTreeSet;

use windlass_core::{AgentEvent, AgentHandle, SessionOptions};
use windlass_testkit::MockAgent;

use super::replay::{all, has_end, play};

#[test]
fn p11_every_turn_of_every_recording_ends_once() {
    let names = all();
    assert!(names.len() > 150, "only {} recordings", names.len());
    for name in names {
        let ends = play(&name).iter().filter(|heard| has_end(heard)).count();
        let turns = if name == "claude/stdio-multi.jsonl" {
            2
        } else {
            1
        };
        assert_eq!(ends, turns, "{name}");
    }
}

#[test]
fn tools_are_paired_where_the_agent_lived_to_see_their_end() {
    for name in all() {
        let cut_short = ["sig", "timeout", "cut", "interrupt"];
        if cut_short.iter().any(|word| name.contains(word)) {
            continue;
        }
        let mut open = BTreeSet::new();
        for event in play(&name).into_iter().flat_map(|heard| heard.events) {
            match event {
                AgentEvent::ToolStart { id, .. } => {
                    assert!(open.insert(id.clone()), "{name}: {id}")
                }
                AgentEvent::ToolEnd { id, name: tool, .. } => {
                    assert!(open.remove(&id), "{name}: {id} was never begun");
                    assert!(!tool.is_empty(), "{name}: {id} has no name");
                }
                _ => {}
            }
        }
        assert!(open.is_empty(), "{name}: {open:?} never ended");
    }
}

/// Lines of runs that went wrong in ways that leave no JSON behind.
#[test]
fn only_what_is_no_message_is_unparsed() {
    for name in all().iter().filter(|name| name.ends_with(".jsonl")) {
        for event in play(name).into_iter().flat_map(|heard| heard.events) {
            if let AgentEvent::Custom { kind, payload } = event {
                let expected =
                    ["cursor/cut.jsonl", "cursor/unknown.jsonl"].contains(&name.as_str());
                assert!(kind != "unparsed" || expected, "{name}: {payload}");
            }
        }
    }
}

#[tokio::test]
async fn p11_behind_a_handle_every_recording_is_a_well_formed_turn() {
    for name in all() {
        let events: Vec<AgentEvent> = play(&name)
            .into_iter()
            .flat_map(|heard| heard.events)
            .collect();
        let agent = AgentHandle::wrap(MockAgent::new().on_prompt("").respond_with(events));
        let session = agent.new_session(SessionOptions::default()).await.unwrap();
        let seen = agent.prompt(&session, "go").await.unwrap().collect().await;
        let ends = seen.iter().filter(|event| event.is_terminal()).count();
        assert_eq!(ends, 1, "{name}");
        assert!(seen.last().is_some_and(AgentEvent::is_terminal), "{name}");
    }
}
