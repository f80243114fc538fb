//! The loop itself, in every dialect.

use serde_json::json;
use windlass_agents::model::{execute, execute_in};
use windlass_core::{AgentEvent, SessionOptions, Usage};

use super::world::{Api, Desk, end, scripted, tools};

fn three_calls() -> serde_json::Value {
    json!([
        { "answer": [{ "reasoning": "First I look." }, { "text": "I look." }, { "read_file": { "path": "notes.txt" } }] },
        { "when": { "contains": "two" }, "answer": [{ "write_file": { "path": "notes.txt", "content": "changed\n" } }] },
        { "when": { "contains": "wrote notes.txt" }, "answer": [{ "shell": { "command": "true" } }] },
        { "when": { "contains": "ran true" }, "answer": [{ "text": "All done." }] },
    ])
}

#[tokio::test]
async fn three_calls_change_a_file_in_every_dialect() {
    for api in Api::ALL {
        let model = scripted(three_calls()).await;
        let desk = Desk::new(api, &model.url(), json!({})).await;
        let events = desk.ask("Change the notes.").await;
        assert_eq!(end(&events), "All done.", "{api:?}: {:?}", model.report());
        assert_eq!(desk.world.read("notes.txt"), "changed\n", "{api:?}");
        let names = ["fs_read", "fs_write", "shell_run"].map(|name| (name.to_owned(), true));
        assert_eq!(tools(&events), names, "{api:?}");
        assert!(model.report().is_clean(), "{api:?}: {}", model.report());

        let Some(AgentEvent::Result {
            usage, metadata, ..
        }) = events.last()
        else {
            panic!("{events:?}")
        };
        assert_eq!(metadata["steps"], 4, "{api:?}");
        assert_eq!(metadata["stop_reason"], "end_turn", "{api:?}");
        let whole = Usage {
            input_tokens: 400,
            output_tokens: 40,
            ..Usage::default()
        };
        assert_eq!(usage.as_ref(), Some(&whole), "{api:?}");
        let thoughts = events
            .iter()
            .any(|event| matches!(event, AgentEvent::Thought(_)));
        assert!(thoughts, "{api:?}");
        let offered = &model.requests()[0].tools;
        assert_eq!(offered, &["fs_read", "fs_write", "shell_run"], "{api:?}");
    }
}

#[tokio::test]
async fn an_answer_may_come_whole() {
    for api in Api::ALL {
        let model = scripted(three_calls()).await;
        let desk = Desk::new(api, &model.url(), json!({ "stream": false })).await;
        let events = desk.ask("Change the notes.").await;
        assert_eq!(end(&events), "All done.", "{api:?}: {}", model.report());
    }
}

#[tokio::test]
async fn a_plan_is_carried_out_and_counted() {
    let model = scripted(three_calls()).await;
    let desk = Desk::new(Api::Ollama, &model.url(), json!({})).await;
    let done = execute(&desk.handle(), "Change the notes.", desk.options())
        .await
        .unwrap();
    assert_eq!(
        (done.steps, done.last.as_str(), done.is_finished),
        (4, "All done.", true)
    );
}

#[tokio::test]
async fn a_plan_that_runs_out_of_steps_is_a_summary_that_says_so() {
    let model = scripted(three_calls()).await;
    let desk = Desk::new(Api::Ollama, &model.url(), json!({ "max_steps": 2 })).await;
    let handle = desk.handle();
    let session = handle.new_session(desk.options()).await.unwrap();
    let mut seen = 0;
    let done = execute_in(&handle, &session, "Change the notes.", |_| seen += 1)
        .await
        .unwrap();
    assert_eq!((done.steps, done.is_finished), (2, false));
    assert!(seen > 4);
    let refused = execute(&handle, "a\0b", SessionOptions::default()).await;
    assert!(refused.is_err());
}

#[tokio::test]
async fn the_conversation_goes_on_and_is_not_told_twice() {
    let turns = json!([
        { "when": { "contains": "amber", "turn": 1 }, "answer": [{ "read_file": { "path": "notes.txt" } }] },
        { "when": { "turn": 2 }, "answer": [{ "text": "Noted." }] },
        { "when": { "contains": "And now?", "turn": 3 }, "answer": [{ "text": "Amber." }] },
    ]);
    for api in Api::ALL {
        let model = scripted(turns.clone()).await;
        let desk = Desk::new(api, &model.url(), json!({})).await;
        let handle = desk.handle();
        let session = handle.new_session(desk.options()).await.unwrap();
        for (prompt, answer) in [("The word is amber.", "Noted."), ("And now?", "Amber.")] {
            let events = handle
                .prompt(&session, prompt)
                .await
                .unwrap()
                .collect()
                .await;
            assert_eq!(end(&events), answer, "{api:?}: {}", model.report());
        }
    }
}

#[tokio::test]
async fn malformed_calls_go_back_to_the_model() {
    let turns = json!([
        { "answer": [{ "call": { "name": "fs_fly", "arguments": { "path": "x" } } }] },
        { "when": { "contains": "no tool is called \"fs_fly\"" }, "answer": [{ "call": { "name": "fs_read", "arguments": "{\"path\": \"notes.txt\"}" } }] },
        { "when": { "contains": "two" }, "answer": [{ "call": { "name": "fs_read", "arguments": "notes" } }] },
        { "when": { "contains": "not a JSON object" }, "answer": [{ "call": { "name": "fs_read", "arguments": { "path": "../x" } } }] },
        { "when": { "contains": "path escapes sandbox" }, "answer": [{ "text": "I see." }] },
    ]);
    // Only these two carry arguments as the model wrote them; the others have none but objects.
    for api in [Api::Chat, Api::Responses] {
        let model = scripted(turns.clone()).await;
        let desk = Desk::new(api, &model.url(), json!({})).await;
        let events = desk.ask("Try.").await;
        assert_eq!(end(&events), "I see.", "{api:?}: {}", model.report());
        let succeeded: Vec<bool> = tools(&events)
            .into_iter()
            .map(|(_, success)| success)
            .collect();
        assert_eq!(succeeded, [false, true, false, false], "{api:?}");
    }
}
