//! What small models need: an answer at the last step, required calls, short conversations, advice after repetitions.

use serde_json::{Value, json};
use windlass_core::{AgentEvent, EditMode, Prompt, SessionOptions};

use super::harness::{Api, CannedServer, ModelFixture, end, http, scripted, tools};

fn metadata(events: &[AgentEvent]) -> Value {
    match events.last() {
        Some(AgentEvent::Result { metadata, .. }) => metadata.clone(),
        other => panic!("{other:?}"),
    }
}

/// Returns an answer without a call, as the API of the last step expects it. Ollama has no choice of tools, so the answer
/// is JSON there.
fn answer(api: Api, text: &str) -> Value {
    match api {
        Api::Ollama => json!({ "json": { "action": { "tool": "done", "answer": text } } }),
        _ => json!({ "text": text }),
    }
}

async fn ask(fixture: &ModelFixture, options: SessionOptions, prompt: Prompt) -> Vec<AgentEvent> {
    let handle = fixture.handle();
    let session = handle.new_session(options).await.unwrap();
    handle
        .prompt(&session, prompt)
        .await
        .unwrap()
        .collect()
        .await
}

#[tokio::test]
async fn p26_last_step_is_an_answer_in_every_dialect() {
    for api in Api::ALL {
        let turns = json!([
            { "answer": [{ "write_file": { "path": "notes.txt", "content": "half\n" } }] },
            { "answer": [{ "read_file": { "path": "notes.txt" } }] },
            { "when": { "contains": "This is the last step" }, "answer": [answer(api, "Half is done.")] },
        ]);
        let model = scripted(turns).await;
        let fixture = ModelFixture::new(api, &model.url(), json!({ "max_steps": 3 })).await;
        let events = fixture.ask("Go on and on.").await;
        assert_eq!(end(&events), "Half is done.", "{api:?}: {}", model.report());
        assert_eq!(metadata(&events)["limit_reached"], "max_steps", "{api:?}");
        assert_eq!(metadata(&events)["steps"], 3, "{api:?}");
        assert_eq!(fixture.harness.read("notes.txt"), "half\n", "{api:?}");
        assert!(model.report().is_clean(), "{api:?}: {}", model.report());
    }
}

#[tokio::test]
async fn p26_call_at_the_last_step_is_not_run() {
    let turns = json!([
        { "answer": [{ "write_file": { "path": "notes.txt", "content": "new\n" } }], "or_more": true },
    ]);
    let model = scripted(turns).await;
    let fixture = ModelFixture::new(Api::Chat, &model.url(), json!({ "max_steps": 1 })).await;
    let events = fixture.ask("Go on and on.").await;
    assert_eq!(end(&events), "stopped after 1 steps, without an answer");
    assert_eq!(tools(&events), []);
    assert_eq!(metadata(&events)["limit_reached"], "max_steps");
}

#[tokio::test]
async fn p26_unusable_answer_at_the_last_step_ends_the_turn() {
    let model = scripted(json!([{ "answer": [{ "text": "What?" }], "or_more": true }])).await;
    let extra = json!({ "max_steps": 2, "tool_mode": "schema" });
    let fixture = ModelFixture::new(Api::Chat, &model.url(), extra).await;
    let events = fixture.ask("Go.").await;
    assert_eq!(end(&events), "stopped after 2 steps, without an answer");
}

#[tokio::test]
async fn turn_that_ends_in_time_reached_no_limit() {
    let model = scripted(json!([{ "answer": [{ "text": "Done." }] }])).await;
    let fixture = ModelFixture::new(Api::Chat, &model.url(), json!({ "max_steps": 2 })).await;
    let events = fixture.ask("Go.").await;
    assert_eq!(metadata(&events).get("limit_reached"), None);
}

#[tokio::test]
async fn required_call_is_requested_until_something_was_written() {
    let chunk = |message: Value| {
        let body =
            json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] });
        http(
            "200 OK",
            "content-type: application/json\r\n",
            &body.to_string(),
        )
    };
    let call = |name: &str, arguments: Value| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        chunk(
            json!({ "role": "assistant", "tool_calls": [{ "id": name, "type": "function", "function": function }] }),
        )
    };
    let server = CannedServer::start(vec![
        call("fs_read", json!({ "path": "notes.txt" })),
        call(
            "fs_write",
            json!({ "path": "notes.txt", "content": "new\n" }),
        ),
        chunk(json!({ "role": "assistant", "content": "Done." })),
    ])
    .await;
    let fixture = ModelFixture::new(Api::Chat, server.url(), json!({ "stream": false })).await;
    let prompt = Prompt {
        requires_call: true,
        ..Prompt::from("Do it.")
    };
    let events = ask(&fixture, fixture.options(), prompt).await;
    assert_eq!(end(&events), "Done.");
    let requests = server.seen();
    let required = |request: &String| request.contains(r#""tool_choice":"required""#);
    let seen: Vec<bool> = requests.iter().map(required).collect();
    assert_eq!(seen, [true, true, false], "reading is not enough");
}

#[tokio::test]
async fn required_call_leaves_no_way_to_be_done_in_schema_mode() {
    let act = |action: Value| {
        http("200 OK", "", &json!({ "message": { "content": json!({ "action": action }).to_string() }, "done": true }).to_string())
    };
    let server = CannedServer::start(vec![
        act(
            json!({ "tool": "fs_write", "arguments": { "path": "notes.txt", "content": "new\n" } }),
        ),
        act(json!({ "tool": "done", "answer": "Done." })),
    ])
    .await;
    // Ollama has no choice of tools: the schema replaces it, whatever the mode.
    let fixture = ModelFixture::new(Api::Ollama, server.url(), json!({})).await;
    let prompt = Prompt {
        requires_call: true,
        ..Prompt::from("Do it.")
    };
    let events = ask(&fixture, fixture.options(), prompt).await;
    assert_eq!(tools(&events), [("fs_write".to_owned(), true)]);
    let first = &server.seen()[0];
    assert!(first.contains(r#""enum":["fs_write"]"#), "{first}");
    assert!(!first.contains(r#""enum":["done"]"#), "{first}");
}

#[tokio::test]
async fn session_without_tools_is_one_answer() {
    for api in Api::ALL {
        let model = scripted(json!([{ "answer": [{ "text": "A plan." }] }])).await;
        let fixture = ModelFixture::new(api, &model.url(), json!({})).await;
        let options = SessionOptions {
            without_tools: true,
            ..fixture.options()
        };
        let events = ask(&fixture, options, "Plan.".into()).await;
        assert_eq!(end(&events), "A plan.", "{api:?}");
        assert!(model.requests()[0].tools.is_empty(), "{api:?}");
    }
}

#[tokio::test]
async fn repeated_failing_call_is_answered_with_advice() {
    let read = json!({ "answer": [{ "read_file": { "path": "missing.txt" } }] });
    let turns = json!([
        read,
        read,
        { "when": { "contains": "has failed 2 times with the same result" }, "answer": [{ "text": "I see." }] },
    ]);
    let model = scripted(turns).await;
    let fixture = ModelFixture::new(Api::Chat, &model.url(), json!({})).await;
    let events = fixture.ask("Read it.").await;
    assert_eq!(end(&events), "I see.", "{}", model.report());
    let failed = [("fs_read".to_owned(), false), ("fs_read".to_owned(), false)];
    assert_eq!(tools(&events), failed);
}

#[tokio::test]
async fn long_conversation_is_shortened_to_the_context_window() {
    let turns = json!([
        { "answer": [{ "read_file": { "path": "long.txt" } }], "times": 4 },
        { "answer": [{ "text": "All read." }] },
    ]);
    for api in Api::ALL {
        let model = scripted(turns.clone()).await;
        let extra = json!({ "context_window": 2048 });
        let fixture = ModelFixture::new(api, &model.url(), extra).await;
        let long = "a line of text\n".repeat(1000);
        std::fs::write(fixture.harness.work().join("long.txt"), long).unwrap();
        let events = fixture.ask("Read the long file four times: amber.").await;
        assert_eq!(end(&events), "All read.", "{api:?}: {}", model.report());
        let last = model.requests().pop().unwrap();
        assert!(
            last.prompt.len() < 2048 * 3,
            "{api:?}: {}",
            last.prompt.len()
        );
    }
}

#[tokio::test]
async fn request_that_is_too_large_for_the_server_is_made_smaller() {
    let too_large = json!({ "error": { "code": 400, "type": "exceed_context_size_error",
        "message": "request exceeds the available context size" } });
    let fine = json!({ "choices": [{ "index": 0, "message": { "role": "assistant", "content": "Short." }, "finish_reason": "stop" }] });
    let json_type = "content-type: application/json\r\n";
    let server = CannedServer::start(vec![
        http("400 Bad Request", json_type, &too_large.to_string()),
        http("200 OK", json_type, &fine.to_string()),
    ])
    .await;
    let fixture = ModelFixture::new(Api::Chat, server.url(), json!({ "stream": false })).await;
    let prompt = format!("Read this. {}", "a line of text\n".repeat(400));
    let events = fixture.ask(&prompt).await;
    assert_eq!(end(&events), "Short.");
    let sizes: Vec<usize> = server.seen().iter().map(String::len).collect();
    assert!(sizes[1] < sizes[0], "{sizes:?}");
}

#[tokio::test]
async fn server_tells_its_context_window_when_it_matters() {
    let props = json!({ "default_generation_settings": { "n_ctx": 4096 } });
    let fine = json!({ "choices": [{ "index": 0, "message": { "role": "assistant", "content": "Read." }, "finish_reason": "stop" }] });
    let json_type = "content-type: application/json\r\n";
    let server = CannedServer::start(vec![
        http("200 OK", json_type, &props.to_string()),
        http("200 OK", json_type, &fine.to_string()),
    ])
    .await;
    let fixture = ModelFixture::new(Api::Chat, server.url(), json!({ "stream": false })).await;
    let prompt = format!("Read this. {}", "a line of text\n".repeat(2000));
    let events = fixture.ask(&prompt).await;
    assert_eq!(end(&events), "Read.");
    let seen = server.seen();
    assert!(seen[0].starts_with("GET /props "), "{}", seen[0]);
    assert!(seen[1].len() < 4096 * 3, "{}", seen[1].len());
    assert_eq!(fixture.handle().context_window(None).await, Some(4096));
}

#[tokio::test]
async fn edit_mode_fits_the_model_and_its_permissions() {
    let mode = async |extra: Value| {
        let fixture = ModelFixture::new(Api::Chat, "http://127.0.0.1:9", extra).await;
        fixture.handle().edit_mode(None)
    };
    assert_eq!(mode(json!({})).await, EditMode::Auto);
    let small = "qwen2.5-coder-1.5b-instruct-q4_k_m";
    assert_eq!(mode(json!({ "model": small })).await, EditMode::WholeFiles);
    let asking = json!({ "model": small, "permissions": "ask" });
    assert_eq!(mode(asking).await, EditMode::Tools);
    let set = json!({ "model": small, "edit_mode": "auto" });
    assert_eq!(mode(set).await, EditMode::WholeFiles);
}
