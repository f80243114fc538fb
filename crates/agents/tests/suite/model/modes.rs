//! Models without native tool calls.

use serde_json::{Value, json};
use windlass_core::AgentEvent;
use windlass_core::structured::{CallOptions, SchemaMode, StructuredAgentTask, call};

use super::harness::{Api, CannedServer, ModelFixture, end, http, scripted, tools};

fn fence(call: Value) -> String {
    format!("I go on.\n\n```json\n{call}\n```")
}

#[tokio::test]
async fn text_mode_changes_the_file() {
    let turns = json!([
        { "answer": [{ "text": fence(json!({ "tool": "fs_read", "arguments": { "path": "notes.txt" } })) }] },
        { "when": { "contains": "Result of `fs_read`:\none" }, "answer": [{ "text": fence(json!({ "tool": "fs_write", "arguments": { "path": "notes.txt" } })).replace("}}", "}") }] },
        { "when": { "contains": "could not be used: the call is not JSON" }, "answer": [{ "text": fence(json!({ "tool": "fs_write", "arguments": { "path": "notes.txt", "content": "changed\n" } })) }] },
        { "when": { "contains": "wrote notes.txt" }, "answer": [{ "text": fence(json!({ "name": "shell_run", "arguments": { "command": "true" } })) }] },
        { "when": { "contains": "ran true" }, "answer": [{ "text": "All done." }] },
    ]);
    for api in Api::ALL {
        let model = scripted(turns.clone()).await;
        let fixture = ModelFixture::new(api, &model.url(), json!({ "tool_mode": "text" })).await;
        let events = fixture.ask("Change the notes.").await;
        assert_eq!(end(&events), "All done.", "{api:?}: {}", model.report());
        assert_eq!(fixture.harness.read("notes.txt"), "changed\n", "{api:?}");
        assert!(
            model
                .requests()
                .iter()
                .all(|request| request.tools.is_empty()),
            "{api:?}"
        );
    }
}

#[tokio::test]
async fn auto_mode_runs_single_call_in_text() {
    let turns = json!([
        { "answer": [{ "text": fence(json!({ "name": "fs_write", "arguments": { "path": "notes.txt", "content": "changed\n" } })) }] },
        { "when": { "contains": "wrote notes.txt" }, "answer": [{ "text": "Here is an example:\n```json\n{\"name\": \"serde\"}\n```" }] },
    ]);
    for api in Api::ALL {
        let model = scripted(turns.clone()).await;
        let fixture = ModelFixture::new(api, &model.url(), json!({})).await;
        let events = fixture.ask("Change the notes.").await;
        assert!(
            end(&events).starts_with("Here is an example"),
            "{api:?}: {}",
            model.report()
        );
        assert_eq!(fixture.harness.read("notes.txt"), "changed\n", "{api:?}");

        let model = scripted(turns.clone()).await;
        let fixture = ModelFixture::new(api, &model.url(), json!({ "tool_mode": "native" })).await;
        let events = fixture.ask("Change the notes.").await;
        assert_eq!(tools(&events), [], "{api:?}: native means native");
    }
}

fn action(tool: &str, arguments: Value) -> Value {
    json!({ "json": { "action": { "tool": tool, "arguments": arguments } } })
}

#[tokio::test]
async fn schema_mode_changes_the_file() {
    let turns = json!([
        { "answer": [action("fs_read", json!({ "path": "notes.txt" }))] },
        { "when": { "contains": "Result of `fs_read`:\none" }, "answer": [action("fs_write", json!({ "path": "notes.txt", "content": "changed\n" }))] },
        { "when": { "contains": "wrote notes.txt" }, "answer": [{ "json": { "action": { "tool": "dance" } } }] },
        { "when": { "contains": "unknown action \"dance\"" }, "answer": [action("shell_run", json!({ "command": "true" }))] },
        { "when": { "contains": "ran true" }, "answer": [{ "json": { "action": { "tool": "done", "answer": "All done." } } }] },
    ]);
    for api in Api::ALL {
        let model = scripted(turns.clone()).await;
        let fixture = ModelFixture::new(api, &model.url(), json!({ "tool_mode": "schema" })).await;
        let events = fixture.ask("Change the notes.").await;
        assert_eq!(end(&events), "All done.", "{api:?}: {}", model.report());
        assert_eq!(fixture.harness.read("notes.txt"), "changed\n", "{api:?}");
        let texts: Vec<&str> = events
            .iter()
            .filter_map(|event| match event {
                AgentEvent::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(texts, ["All done."], "{api:?}: the JSON is not shown");
    }
}

#[tokio::test]
async fn truncated_answer_is_requested_again() {
    let whole = r#"{\"action\":{\"tool\":\"done\",\"answer\":\"cut\"}}"#;
    let truncated =
        format!(r#"{{"message":{{"content":"{whole}"}},"done":true,"done_reason":"length"}}"#);
    let good = truncated.replace("length", "stop");
    let server = CannedServer::start(
        [truncated, good]
            .map(|body| http("200 OK", "", &body))
            .to_vec(),
    )
    .await;
    let fixture =
        ModelFixture::new(Api::Ollama, server.url(), json!({ "tool_mode": "schema" })).await;
    let events = fixture.ask("Go.").await;
    assert_eq!(end(&events), "cut");
    assert_eq!(server.seen().len(), 2, "the first answer is unusable");
    assert!(server.seen()[1].contains("truncated at the token limit"));
}

#[tokio::test]
async fn repeated_unusable_answers_end_the_turn() {
    let turns = json!([{ "answer": [{ "text": "What?" }], "times": 3 }]);
    let model = scripted(turns).await;
    let fixture =
        ModelFixture::new(Api::Ollama, &model.url(), json!({ "tool_mode": "schema" })).await;
    let events = fixture.ask("Go.").await;
    assert!(
        end(&events).starts_with("BackendError (transient): 3 answers in a row could not be used"),
        "{}",
        end(&events)
    );
}

fn task(mode: SchemaMode) -> StructuredAgentTask {
    StructuredAgentTask {
        name: "age".to_owned(),
        prompt: "How old is Ada?".to_owned(),
        schema: Some(json!({
            "type": "object",
            "properties": { "age": { "type": "integer" } },
            "required": ["age"],
            "additionalProperties": false,
        })),
        schema_mode: mode,
    }
}

#[tokio::test]
async fn native_schema_is_sent_to_every_api() {
    let sent = [
        (Api::Chat, "\"response_format\":{\"type\":\"json_schema\""),
        (
            Api::Responses,
            "\"text\":{\"format\":{\"type\":\"json_schema\"",
        ),
        (Api::Messages, "\"output_config\":{\"format\""),
        (Api::Ollama, "\"format\":{\"type\":\"object\""),
    ];
    for (api, expected) in sent {
        let answers = [body(api, "{\\\"age\\\": 36}")]
            .map(|body| http("200 OK", "content-type: application/json\r\n", &body));
        let server = CannedServer::start(answers.to_vec()).await;
        let extra = json!({ "stream": false, "schema_mode": "native", "tools": false });
        let fixture = ModelFixture::new(api, server.url(), extra).await;
        let options = CallOptions {
            session: fixture.options(),
            ..CallOptions::default()
        };
        let done = call(&fixture.handle(), None, task(SchemaMode::Native), options)
            .await
            .unwrap();
        assert_eq!(done.value, json!({ "age": 36 }), "{api:?}");
        let seen = &server.seen()[0];
        assert!(seen.contains(expected), "{api:?}: {seen}");
    }
}

/// Returns a complete response with this text.
fn body(api: Api, text: &str) -> String {
    match api {
        Api::Ollama => format!(
            r#"{{"message":{{"role":"assistant","content":"{text}"}},"done":true,"done_reason":"stop"}}"#
        ),
        Api::Chat => format!(
            r#"{{"id":"c","model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}]}}"#
        ),
        Api::Responses => format!(
            r#"{{"id":"r","model":"m","status":"completed","output":[{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"{text}"}}]}}]}}"#
        ),
        Api::Messages => format!(
            r#"{{"id":"m","type":"message","role":"assistant","model":"m","content":[{{"type":"text","text":"{text}"}}],"stop_reason":"end_turn","usage":{{"input_tokens":1,"output_tokens":1}}}}"#
        ),
    }
}

#[tokio::test]
async fn ollama_with_tools_uses_one_schema_for_calls_and_answer() {
    let turns = json!([
        { "answer": [action("fs_read", json!({ "path": "notes.txt" }))] },
        { "when": { "contains": "Result of `fs_read`" }, "answer": [{ "json": { "action": { "tool": "done", "answer": { "age": 36 } } } }] },
    ]);
    let model = scripted(turns).await;
    let fixture = ModelFixture::new(Api::Ollama, &model.url(), json!({})).await;
    let options = CallOptions {
        session: fixture.options(),
        ..CallOptions::default()
    };
    let done = call(&fixture.handle(), None, task(SchemaMode::Native), options)
        .await
        .unwrap();
    assert_eq!(done.value, json!({ "age": 36 }));
}

#[tokio::test]
async fn chat_completions_reject_native_schema_by_default() {
    let model = scripted(json!([{ "answer": [{ "text": "{\"age\": 36}" }] }])).await;
    let fixture = ModelFixture::new(Api::Chat, &model.url(), json!({})).await;
    let mut options = fixture.options();
    assert!(!fixture.handle().capabilities().native_schema);
    options.output_schema = task(SchemaMode::Native).schema;
    let error = fixture
        .handle()
        .new_session(options)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("schema_mode"), "{error}");
}
