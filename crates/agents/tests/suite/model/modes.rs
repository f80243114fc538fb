//! Models that have no calls of their own.

use serde_json::{Value, json};
use windlass_core::AgentEvent;
use windlass_core::structured::{CallOptions, SchemaMode, StructuredAgentTask, call};

use super::world::{Api, Canned, Desk, end, http, scripted, tools};

fn fence(call: Value) -> String {
    format!("I go on.\n\n```json\n{call}\n```")
}

#[tokio::test]
async fn a_model_that_only_writes_text_changes_the_file() {
    let turns = json!([
        { "answer": [{ "text": fence(json!({ "tool": "fs_read", "arguments": { "path": "notes.txt" } })) }] },
        { "when": { "contains": "Result of `fs_read`:\none" }, "answer": [{ "text": fence(json!({ "tool": "fs_write", "arguments": { "path": "notes.txt" } })).replace("}}", "}") }] },
        { "when": { "contains": "could not be used: the call is not JSON" }, "answer": [{ "text": fence(json!({ "tool": "fs_write", "arguments": { "path": "notes.txt", "content": "changed\n" } })) }] },
        { "when": { "contains": "wrote notes.txt" }, "answer": [{ "text": fence(json!({ "name": "shell_run", "arguments": { "command": "true" } })) }] },
        { "when": { "contains": "ran true" }, "answer": [{ "text": "All done." }] },
    ]);
    for api in Api::ALL {
        let model = scripted(turns.clone()).await;
        let desk = Desk::new(api, &model.url(), json!({ "tool_mode": "text" })).await;
        let events = desk.ask("Change the notes.").await;
        assert_eq!(end(&events), "All done.", "{api:?}: {}", model.report());
        assert_eq!(desk.world.read("notes.txt"), "changed\n", "{api:?}");
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
async fn auto_takes_the_one_call_that_stands_in_the_text() {
    let turns = json!([
        { "answer": [{ "text": fence(json!({ "name": "fs_write", "arguments": { "path": "notes.txt", "content": "changed\n" } })) }] },
        { "when": { "contains": "wrote notes.txt" }, "answer": [{ "text": "Here is an example:\n```json\n{\"name\": \"serde\"}\n```" }] },
    ]);
    for api in Api::ALL {
        let model = scripted(turns.clone()).await;
        let desk = Desk::new(api, &model.url(), json!({})).await;
        let events = desk.ask("Change the notes.").await;
        assert!(
            end(&events).starts_with("Here is an example"),
            "{api:?}: {}",
            model.report()
        );
        assert_eq!(desk.world.read("notes.txt"), "changed\n", "{api:?}");

        let model = scripted(turns.clone()).await;
        let desk = Desk::new(api, &model.url(), json!({ "tool_mode": "native" })).await;
        let events = desk.ask("Change the notes.").await;
        assert_eq!(tools(&events), [], "{api:?}: native means native");
    }
}

fn action(tool: &str, arguments: Value) -> Value {
    json!({ "json": { "action": { "tool": tool, "arguments": arguments } } })
}

#[tokio::test]
async fn a_model_that_only_follows_a_schema_changes_the_file() {
    let turns = json!([
        { "answer": [action("fs_read", json!({ "path": "notes.txt" }))] },
        { "when": { "contains": "Result of `fs_read`:\none" }, "answer": [action("fs_write", json!({ "path": "notes.txt", "content": "changed\n" }))] },
        { "when": { "contains": "wrote notes.txt" }, "answer": [{ "json": { "action": { "tool": "dance" } } }] },
        { "when": { "contains": "no action is called \"dance\"" }, "answer": [action("shell_run", json!({ "command": "true" }))] },
        { "when": { "contains": "ran true" }, "answer": [{ "json": { "action": { "tool": "done", "answer": "All done." } } }] },
    ]);
    for api in Api::ALL {
        let model = scripted(turns.clone()).await;
        let desk = Desk::new(api, &model.url(), json!({ "tool_mode": "schema" })).await;
        let events = desk.ask("Change the notes.").await;
        assert_eq!(end(&events), "All done.", "{api:?}: {}", model.report());
        assert_eq!(desk.world.read("notes.txt"), "changed\n", "{api:?}");
        let said: Vec<&str> = events
            .iter()
            .filter_map(|event| match event {
                AgentEvent::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(said, ["All done."], "{api:?}: nobody sees the JSON");
    }
}

#[tokio::test]
async fn an_answer_cut_at_the_limit_is_no_answer() {
    let whole = r#"{\"action\":{\"tool\":\"done\",\"answer\":\"cut\"}}"#;
    let cut =
        format!(r#"{{"message":{{"content":"{whole}"}},"done":true,"done_reason":"length"}}"#);
    let good = cut.replace("length", "stop");
    let server = Canned::start([cut, good].map(|body| http("200 OK", "", &body)).to_vec()).await;
    let desk = Desk::new(Api::Ollama, server.url(), json!({ "tool_mode": "schema" })).await;
    let events = desk.ask("Go.").await;
    assert_eq!(end(&events), "cut");
    assert_eq!(server.seen().len(), 2, "the first answer did not count");
    assert!(server.seen()[1].contains("cut at the limit on tokens"));
}

#[tokio::test]
async fn a_model_that_never_gets_it_right_is_given_up() {
    let turns = json!([{ "answer": [{ "text": "What?" }], "times": 3 }]);
    let model = scripted(turns).await;
    let desk = Desk::new(Api::Ollama, &model.url(), json!({ "tool_mode": "schema" })).await;
    let events = desk.ask("Go.").await;
    assert!(
        end(&events).starts_with("BackendError (again): 3 answers in a row could not be used"),
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
async fn a_structured_answer_is_held_to_its_schema_by_the_api() {
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
        let server = Canned::start(answers.to_vec()).await;
        let more = json!({ "stream": false, "schema_mode": "native", "tools": false });
        let desk = Desk::new(api, server.url(), more).await;
        let options = CallOptions {
            session: desk.options(),
            ..CallOptions::default()
        };
        let done = call(&desk.handle(), None, task(SchemaMode::Native), options)
            .await
            .unwrap();
        assert_eq!(done.value, json!({ "age": 36 }), "{api:?}");
        let seen = &server.seen()[0];
        assert!(seen.contains(expected), "{api:?}: {seen}");
    }
}

/// A whole answer of these words.
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
async fn with_tools_ollama_holds_calls_and_answer_to_one_schema() {
    let turns = json!([
        { "answer": [action("fs_read", json!({ "path": "notes.txt" }))] },
        { "when": { "contains": "Result of `fs_read`" }, "answer": [{ "json": { "action": { "tool": "done", "answer": { "age": 36 } } } }] },
    ]);
    let model = scripted(turns).await;
    let desk = Desk::new(Api::Ollama, &model.url(), json!({})).await;
    let options = CallOptions {
        session: desk.options(),
        ..CallOptions::default()
    };
    let done = call(&desk.handle(), None, task(SchemaMode::Native), options)
        .await
        .unwrap();
    assert_eq!(done.value, json!({ "age": 36 }));
}

#[tokio::test]
async fn chat_completions_leave_the_schema_to_the_prompt_unless_told_otherwise() {
    let model = scripted(json!([{ "answer": [{ "text": "{\"age\": 36}" }] }])).await;
    let desk = Desk::new(Api::Chat, &model.url(), json!({})).await;
    let mut options = desk.options();
    assert!(!desk.handle().capabilities().native_schema);
    options.output_schema = task(SchemaMode::Native).schema;
    let refused = desk
        .handle()
        .new_session(options)
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("schema_mode"), "{refused}");
}
