//! The tool loop, in every dialect.

use serde_json::json;
use windlass_agents::model::{execute, execute_in};
use windlass_core::{AgentEvent, SessionOptions, Usage};

use super::harness::{Api, ModelFixture, end, scripted, tools};

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
        let fixture = ModelFixture::new(api, &model.url(), json!({})).await;
        let events = fixture.ask("Change the notes.").await;
        assert_eq!(end(&events), "All done.", "{api:?}: {:?}", model.report());
        assert_eq!(fixture.harness.read("notes.txt"), "changed\n", "{api:?}");
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
        let total = Usage {
            input_tokens: 400,
            output_tokens: 40,
            ..Usage::default()
        };
        assert_eq!(usage.as_ref(), Some(&total), "{api:?}");
        let thoughts = events
            .iter()
            .any(|event| matches!(event, AgentEvent::Thought(_)));
        assert!(thoughts, "{api:?}");
        let offered = &model.requests()[0].tools;
        assert_eq!(offered, &["fs_read", "fs_write", "shell_run"], "{api:?}");
    }
}

#[tokio::test]
async fn unstreamed_answers_work_in_every_dialect() {
    for api in Api::ALL {
        let model = scripted(three_calls()).await;
        let fixture = ModelFixture::new(api, &model.url(), json!({ "stream": false })).await;
        let events = fixture.ask("Change the notes.").await;
        assert_eq!(end(&events), "All done.", "{api:?}: {}", model.report());
    }
}

#[tokio::test]
async fn execute_returns_summary_with_step_count() {
    let model = scripted(three_calls()).await;
    let fixture = ModelFixture::new(Api::Ollama, &model.url(), json!({})).await;
    let done = execute(&fixture.handle(), "Change the notes.", fixture.options())
        .await
        .unwrap();
    assert_eq!(
        (done.steps, done.last.as_str(), done.is_finished),
        (4, "All done.", true)
    );
}

#[tokio::test]
async fn execute_out_of_steps_returns_unfinished_summary() {
    let model = scripted(three_calls()).await;
    let fixture = ModelFixture::new(Api::Chat, &model.url(), json!({ "max_steps": 2 })).await;
    let handle = fixture.handle();
    let session = handle.new_session(fixture.options()).await.unwrap();
    let mut seen = 0;
    let done = execute_in(&handle, &session, "Change the notes.", |_| seen += 1)
        .await
        .unwrap();
    assert_eq!((done.steps, done.is_finished), (2, false));
    assert!(seen > 4);
    let rejected = execute(&handle, "a\0b", SessionOptions::default()).await;
    assert!(rejected.is_err());
}

#[tokio::test]
async fn second_turn_continues_the_conversation_without_repetition() {
    let turns = json!([
        { "when": { "contains": "amber", "turn": 1 }, "answer": [{ "read_file": { "path": "notes.txt" } }] },
        { "when": { "turn": 2 }, "answer": [{ "text": "Noted." }] },
        { "when": { "contains": "And now?", "turn": 3 }, "answer": [{ "text": "Amber." }] },
    ]);
    for api in Api::ALL {
        let model = scripted(turns.clone()).await;
        let fixture = ModelFixture::new(api, &model.url(), json!({})).await;
        let handle = fixture.handle();
        let session = handle.new_session(fixture.options()).await.unwrap();
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
async fn malformed_calls_are_reported_to_the_model() {
    let turns = json!([
        { "answer": [{ "call": { "name": "fs_fly", "arguments": { "path": "x" } } }] },
        { "when": { "contains": "unknown tool \"fs_fly\"" }, "answer": [{ "call": { "name": "fs_read", "arguments": "{\"path\": \"notes.txt\"}" } }] },
        { "when": { "contains": "two" }, "answer": [{ "call": { "name": "fs_read", "arguments": "notes" } }] },
        { "when": { "contains": "not a JSON object" }, "answer": [{ "call": { "name": "fs_read", "arguments": { "path": "../x" } } }] },
        { "when": { "contains": "path escapes sandbox" }, "answer": [{ "text": "I see." }] },
    ]);
    // Only these two APIs transmit arguments as text; the others transmit objects only.
    for api in [Api::Chat, Api::Responses] {
        let model = scripted(turns.clone()).await;
        let fixture = ModelFixture::new(api, &model.url(), json!({})).await;
        let events = fixture.ask("Try.").await;
        assert_eq!(end(&events), "I see.", "{api:?}: {}", model.report());
        let succeeded: Vec<bool> = tools(&events)
            .into_iter()
            .map(|(_, success)| success)
            .collect();
        assert_eq!(succeeded, [false, true, false, false], "{api:?}");
    }
}
