//! Several calls in one answer, and turns that are broken off in the midst of them.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Barrier;
use windlass_core::{AgentEvent, SystemClock};

use super::tools::Box3;
use super::world::{Api, Desk, end, scripted, tools};

#[tokio::test]
async fn calls_that_only_look_run_at_once() {
    let meet = |who: &str| json!({ "call": { "name": "meet", "arguments": { "who": who } } });
    for api in Api::ALL {
        let turns = json!([
            { "answer": [meet("a"), meet("b"), meet("c")] },
            { "when": { "contains": "met \"a\"\nmet \"b\"\nmet \"c\"" }, "answer": [{ "text": "All met." }] },
        ]);
        let model = scripted(turns).await;
        // Each ends only when all three are under way.
        let tools = Box3 {
            meeting: Some(Arc::new(Barrier::new(3))),
        };
        let clock = Arc::new(SystemClock::new());
        let desk = Desk::with(
            api,
            &model.url(),
            json!({ "timeout_secs": 60 }),
            tools,
            clock,
        )
        .await;
        assert_eq!(
            end(&desk.ask("Meet.").await),
            "All met.",
            "{api:?}: {}",
            model.report()
        );
    }
}

#[tokio::test]
async fn calls_of_which_one_acts_run_in_order() {
    let turns = json!([
        { "answer": [
            { "read_file": { "path": "notes.txt" } },
            { "write_file": { "path": "notes.txt", "content": "new" } },
            { "read_file": { "path": "notes.txt" } },
        ] },
        { "when": { "contains": "one\ntwo\n\nwrote notes.txt\nnew" }, "answer": [{ "text": "In order." }] },
    ]);
    for api in Api::ALL {
        let model = scripted(turns.clone()).await;
        let desk = Desk::new(api, &model.url(), json!({})).await;
        let events = desk.ask("Go.").await;
        assert_eq!(end(&events), "In order.", "{api:?}: {}", model.report());
        assert_eq!(tools(&events).len(), 3);
    }
}

#[tokio::test]
async fn a_turn_that_is_cancelled_in_a_tool_leaves_a_conversation_that_goes_on() {
    let turns = json!([
        { "when": { "contains": "Hang" }, "answer": [
            { "write_file": { "path": "notes.txt", "content": "new" } },
            { "shell": { "command": "tail -f notes.txt" } },
        ] },
        { "when": { "contains": "stopped by the user" }, "answer": [{ "text": "I go on." }] },
    ]);
    for api in Api::ALL {
        let model = scripted(turns.clone()).await;
        let desk = Desk::new(api, &model.url(), json!({})).await;
        let handle = desk.handle();
        let session = handle.new_session(desk.options()).await.unwrap();
        let mut turn = handle.prompt(&session, "Hang.").await.unwrap();
        let mut events = Vec::new();
        while let Some(event) = turn.recv().await {
            if matches!(&event, AgentEvent::ToolStart { name, .. } if name == "shell_run") {
                handle.cancel(&session).await.unwrap();
            }
            events.push(event);
        }
        assert!(
            end(&events).starts_with("Cancelled"),
            "{api:?}: {}",
            end(&events)
        );
        assert_eq!(desk.world.read("notes.txt"), "new");
        let events = handle
            .prompt(&session, "Go on.")
            .await
            .unwrap()
            .collect()
            .await;
        assert_eq!(end(&events), "I go on.", "{api:?}: {}", model.report());
    }
}

#[tokio::test]
async fn an_unknown_session_is_not_taken_up() {
    let model = scripted(json!([{ "answer": [{ "text": "Who?" }] }])).await;
    let desk = Desk::new(Api::Ollama, &model.url(), json!({})).await;
    let loaded = desk
        .handle()
        .load_session(&"nobody".into(), desk.options())
        .await;
    let error = loaded.unwrap_err();
    assert!(
        matches!(error, windlass_core::Error::SessionNotFound { .. }),
        "{error}"
    );
}
