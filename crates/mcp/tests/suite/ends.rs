//! P5: no server outlives its session. A server that exits is reported by name.

use serde_json::{Map, json};
use windlass_core::{ErrorCode, McpServer};

use super::support::{User, arguments, disappears, is_running, limits_ms, script, server};

/// Returns the demo server with a mark in its command line by which its process can be found.
fn marked(name: &str, mark: &str) -> McpServer {
    let mut marked = server(name);
    marked.args.push(mark.to_owned());
    marked
}

#[tokio::test]
async fn p5_servers_are_stopped_on_drop() {
    let user = User::new();
    let detached = "setsid sleep 5100101 & exec \"$0\" \"$@\"";
    let mut wrapped = script("demo", detached);
    let inner = marked("demo", "mark-5100101");
    wrapped.args.push(inner.command);
    wrapped.args.extend(inner.args);
    let servers = user.connect(&[wrapped]).await.unwrap();
    assert!(is_running("5100101"));
    drop(servers);
    assert!(disappears("5100101").await);
}

#[tokio::test]
async fn p5_servers_are_stopped_during_a_call() {
    let servers = User::new()
        .connect(&[marked("demo", "mark-5100201")])
        .await
        .unwrap();
    let slow = servers.call("demo", "slow", arguments(json!({ "ms": 60_000 })));
    assert!(
        tokio::time::timeout(std::time::Duration::from_millis(100), slow)
            .await
            .is_err()
    );
    drop(servers);
    assert!(disappears("mark-5100201").await);
}

#[tokio::test]
async fn p5_failed_start_leaves_no_process() {
    let user = User::new();
    let both = [marked("demo", "mark-5100301"), server("demo-broken")];
    user.connect(&both).await.unwrap_err();
    assert!(disappears("mark-5100301").await);

    let mute = [marked("demo-mute", "mark-5100302")];
    user.connect_with_limits(&mute, limits_ms(300, 300))
        .await
        .unwrap_err();
    assert!(disappears("mark-5100302").await);
}

#[tokio::test]
async fn failed_start_error_has_name_and_stderr() {
    let error = User::new()
        .connect(&[server("demo-broken")])
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "mcp server demo-broken ended with code 1; stderr: this server cannot start"
    );
    assert_eq!(error.code(), ErrorCode::BackendError);
}

#[tokio::test]
async fn exit_during_call_error_has_name_and_stderr() {
    let servers = User::new().demos(&["demo-dying", "demo"]).await;
    let message =
        "mcp server demo-dying ended with code 3; stderr: this server exits in every call";
    for _ in 0..2 {
        let error = servers
            .call("demo-dying", "env", Map::new())
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    assert!(
        servers.call("demo", "env", Map::new()).await.is_ok(),
        "other servers still run"
    );
}
