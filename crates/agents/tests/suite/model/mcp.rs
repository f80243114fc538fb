//! A session's MCP servers, offered to the model.

use serde_json::json;
use windlass_core::{McpServer, SessionOptions};
use windlass_mcp::demo;

use super::world::{Api, Desk, end, scripted, tools};

fn with(desk: &Desk, servers: Vec<McpServer>) -> SessionOptions {
    SessionOptions {
        mcp_servers: servers,
        ..desk.options()
    }
}

#[tokio::test]
async fn tools_and_resources_of_a_server_are_the_models_to_use() {
    let turns = json!([
        { "answer": [{ "mcp": { "server": "demo", "tool": "add", "arguments": { "a": 2, "b": 3 } } }] },
        { "when": { "contains": "5" }, "answer": [{ "mcp_resources": { "server": "demo" } }] },
        { "when": { "contains": "demo://greeting" }, "answer": [{ "mcp_resource": { "server": "demo", "uri": "demo://greeting" } }] },
        { "when": { "contains": "Hello from the demonstration server." }, "answer": [{ "mcp": { "server": "demo", "tool": "fail", "arguments": { "message": "no luck" } } }] },
        { "when": { "contains": "no luck" }, "answer": [{ "text": "Seen it all." }] },
    ]);
    for api in Api::ALL {
        let model = scripted(turns.clone()).await;
        let desk = Desk::new(api, &model.url(), json!({})).await;
        let handle = desk.handle();
        let options = with(&desk, vec![demo::server("demo").unwrap()]);
        let session = handle.new_session(options).await.unwrap();
        let events = handle
            .prompt(&session, "Try the server.")
            .await
            .unwrap()
            .collect()
            .await;
        assert_eq!(end(&events), "Seen it all.", "{api:?}: {}", model.report());
        let names = [
            ("mcp__demo__add", true),
            ("list_mcp_resources", true),
            ("read_mcp_resource", true),
            ("mcp__demo__fail", false),
        ];
        assert_eq!(
            tools(&events),
            names.map(|(name, success)| (name.to_owned(), success)),
            "{api:?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_does_not_start_is_an_error_that_names_it() {
    let model = scripted(json!([{ "answer": [{ "text": "Who?" }] }])).await;
    let desk = Desk::new(Api::Ollama, &model.url(), json!({})).await;
    let options = with(&desk, vec![demo::server("demo-broken").unwrap()]);
    let error = desk
        .handle()
        .new_session(options)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("demo-broken"), "{error}");
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_told_to_the_model() {
    let turns = json!([
        { "answer": [{ "mcp": { "server": "demo-dying", "tool": "echo", "arguments": { "text": "x" } } }] },
        { "when": { "contains": "demo-dying" }, "answer": [{ "text": "It is gone." }] },
    ]);
    let model = scripted(turns).await;
    let desk = Desk::new(Api::Chat, &model.url(), json!({})).await;
    let handle = desk.handle();
    let options = with(&desk, vec![demo::server("demo-dying").unwrap()]);
    let session = handle.new_session(options).await.unwrap();
    let events = handle
        .prompt(&session, "Go.")
        .await
        .unwrap()
        .collect()
        .await;
    assert_eq!(end(&events), "It is gone.", "{}", model.report());
}
