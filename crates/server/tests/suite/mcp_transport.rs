//! The MCP server: limits of requests and calls, and the transport over a pair of pipes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use windlass_server::{McpAccess, McpStdioServer, ServerLimits};
use windlass_tasks::{Scope, TaskStore};

use super::harness::{Harness, TestHostOps};
use super::mcp_client::{PipeClient, http_request, message, only_response, tool_error};

#[tokio::test]
async fn p12_large_request_is_rejected() {
    let mut limits = ServerLimits::default();
    limits.body_bytes = 10_000;
    let harness = Harness::with(limits).await;
    let large = json!({ "name": "add_task", "arguments": { "title": "x".repeat(20_000) } });
    let request = http_request(&harness, harness.token(), &message("tools/call", large));
    assert_eq!(harness.send(request).await.status, 413);
}

/// Calls beyond the limit fail at once, and a client that leaves frees its slot.
#[tokio::test]
async fn p12_running_calls_are_limited() {
    let harness = Harness::new().await;
    harness.add("one").await;
    let wait = json!({ "name": "wait_for_task", "arguments": { "id": 1, "timeout_secs": 600 } });
    let wait = http_request(&harness, harness.token(), &message("tools/call", wait));
    let list = http_request(
        &harness,
        harness.token(),
        &message("tools/call", json!({ "name": "list_tasks" })),
    );
    let mut waiting = Vec::new();
    for _ in 0..64 {
        let mut stream = TcpStream::connect(harness.addr()).await.unwrap();
        stream.write_all(&wait).await.unwrap();
        waiting.push(stream);
    }
    let is_busy = async || {
        let response = only_response(&harness.send(list.clone()).await);
        let text = response["result"]["content"][0]["text"].clone();
        text == "64 calls are running: wait for one of them, then try again"
    };
    while !is_busy().await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(waiting);
    while is_busy().await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Starts a server on a pair of pipes.
fn serve_pipes(harness: &Harness, scopes: &[Scope]) -> (PipeClient, tokio::task::JoinHandle<bool>) {
    let (client, server) = tokio::io::duplex(64 << 10);
    let access = McpAccess {
        scopes: scopes.to_vec(),
        projects: Some(vec![harness.project.id]),
        project: harness.project.id,
        author: "Ada".to_owned(),
    };
    let store: Arc<dyn TaskStore> = Arc::clone(&harness.store) as _;
    let (input, output) = tokio::io::split(server);
    let server = McpStdioServer::new(store, Arc::new(TestHostOps), access);
    let serving = async move {
        let stop = CancellationToken::new();
        server.serve(input, output, stop).await.is_ok()
    };
    (PipeClient::new(client), tokio::spawn(serving))
}

#[tokio::test]
async fn pipes_serve_the_same_tools_and_end_with_their_input() {
    let harness = Harness::new().await;
    let (mut client, serving) = serve_pipes(&harness, &[Scope::Read, Scope::Work]);
    let info = client.initialize().await;
    assert_eq!(info["result"]["serverInfo"]["name"], "windlass");
    let listed = client.request("tools/list", json!({})).await;
    let token = harness
        .create_token("same", &[Scope::Read, Scope::Work], None)
        .await;
    let over_http = harness.mcp(&token, "tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"], over_http["result"]["tools"]);
    let add = json!({ "name": "add_task", "arguments": { "title": "piped" } });
    let added = client.request("tools/call", add).await;
    assert_eq!(
        added["result"]["structuredContent"]["task"]["title"],
        "piped"
    );
    let ask = json!({ "name": "ask_agent", "arguments": { "prompt": "ahoy" } });
    let answer = client.request("tools/call", ask).await;
    assert_eq!(
        answer["result"]["structuredContent"]["answer"],
        "/home/me/shop: ahoy"
    );
    let merge = json!({ "name": "merge_task", "arguments": { "id": 1 } });
    let refused = client.request("tools/call", merge).await;
    assert!(tool_error(&refused["result"]).contains("needs the scope approve"));
    drop(client);
    assert!(serving.await.unwrap());
}

#[tokio::test]
async fn p12_noise_and_long_lines_are_ignored() {
    let harness = Harness::new().await;
    let (mut client, _serving) = serve_pipes(&harness, &[Scope::Read]);
    client.initialize().await;
    client.send_line("this is no JSON").await;
    client.send_line("").await;
    client.send_line(&"x".repeat(17 << 20)).await;
    let listed = client.request("tools/list", json!({})).await;
    assert!(listed["result"]["tools"].is_array(), "{listed}");
}

/// A cancelled call frees its slot, and other calls run beside it.
#[tokio::test]
async fn call_on_pipes_can_be_cancelled() {
    let harness = Harness::new().await;
    harness.add("one").await;
    let (mut client, _serving) = serve_pipes(&harness, &[Scope::Read]);
    client.initialize().await;
    let wait = json!({ "name": "wait_for_task", "arguments": { "id": 1, "timeout_secs": 600 } });
    let wait = json!({ "jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": wait });
    client.send_line(&wait.to_string()).await;
    let beside = client
        .request("tools/call", json!({ "name": "list_tasks" }))
        .await;
    assert_eq!(beside["result"]["isError"], false, "{beside}");
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "slow" } });
    client.send_line(&cancel.to_string()).await;
    let after = client
        .request("tools/call", json!({ "name": "list_tasks" }))
        .await;
    assert_eq!(after["id"], 1, "{after}");
}
