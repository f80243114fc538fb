//! A session's MCP servers as tools of the model.

use serde_json::json;
use windlass_core::{McpServer, SessionOptions};
use windlass_mcp::demo;

use super::harness::{Api, ModelFixture, end, scripted, tools};

fn with(fixture: &ModelFixture, servers: Vec<McpServer>) -> SessionOptions {
    SessionOptions {
        mcp_servers: servers,
        ..fixture.options()
    }
}

#[tokio::test]
async fn model_uses_tools_and_resources_of_mcp_server() {
    let turns = json!([
        { "answer": [{ "mcp": { "server": "demo", "tool": "add", "arguments": { "a": 2, "b": 3 } } }] },
        { "when": { "contains": "5" }, "answer": [{ "mcp_resources": { "server": "demo" } }] },
        { "when": { "contains": "demo://greeting" }, "answer": [{ "mcp_resource": { "server": "demo", "uri": "demo://greeting" } }] },
        { "when": { "contains": "Hello from the demonstration server." }, "answer": [{ "mcp": { "server": "demo", "tool": "fail", "arguments": { "message": "no luck" } } }] },
        { "when": { "contains": "no luck" }, "answer": [{ "text": "Seen it all." }] },
    ]);
    for api in Api::ALL {
        let model = scripted(turns.clone()).await;
        let fixture = ModelFixture::new(api, &model.url(), json!({})).await;
        let handle = fixture.handle();
        let options = with(&fixture, vec![demo::server("demo").unwrap()]);
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
async fn mcp_server_start_failure_names_the_server() {
    let model = scripted(json!([{ "answer": [{ "text": "Who?" }] }])).await;
    let fixture = ModelFixture::new(Api::Ollama, &model.url(), json!({})).await;
    let options = with(&fixture, vec![demo::server("demo-broken").unwrap()]);
    let error = fixture
        .handle()
        .new_session(options)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("demo-broken"), "{error}");
}

#[tokio::test]
async fn mcp_server_crash_in_a_call_is_reported_to_the_model() {
    let turns = json!([
        { "answer": [{ "mcp": { "server": "demo-dying", "tool": "echo", "arguments": { "text": "x" } } }] },
        { "when": { "contains": "demo-dying" }, "answer": [{ "text": "It is gone." }] },
    ]);
    let model = scripted(turns).await;
    let fixture = ModelFixture::new(Api::Chat, &model.url(), json!({})).await;
    let handle = fixture.handle();
    let options = with(&fixture, vec![demo::server("demo-dying").unwrap()]);
    let session = handle.new_session(options).await.unwrap();
    let events = handle
        .prompt(&session, "Go.")
        .await
        .unwrap()
        .collect()
        .await;
    assert_eq!(end(&events), "It is gone.", "{}", model.report());
}
