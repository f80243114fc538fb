//! P5: no server outlives its session; one that dies is mourned by name.

use serde_json::{Map, json};
use windlass_core::{ErrorCode, McpServer};

use super::support::{User, arguments, hurry, is_running, script, server, vanishes};

/// The demonstration server, with a mark by which its process can be found.
fn marked(name: &str, mark: &str) -> McpServer {
    let mut marked = server(name);
    marked.args.push(mark.to_owned());
    marked
}

#[tokio::test]
async fn p5_servers_end_with_the_value() {
    let user = User::new();
    let detached = "setsid sleep 5100101 & exec \"$0\" \"$@\"";
    let mut wrapped = script("demo", detached);
    let inner = marked("demo", "mark-5100101");
    wrapped.args.push(inner.command);
    wrapped.args.extend(inner.args);
    let servers = user.connect(&[wrapped]).await.unwrap();
    assert!(is_running("5100101"));
    drop(servers);
    assert!(vanishes("5100101").await);
}

#[tokio::test]
async fn p5_servers_end_in_the_middle_of_a_call() {
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
    assert!(vanishes("mark-5100201").await);
}

#[tokio::test]
async fn p5_a_start_that_fails_leaves_nothing_running() {
    let user = User::new();
    let both = [marked("demo", "mark-5100301"), server("demo-broken")];
    user.connect(&both).await.unwrap_err();
    assert!(vanishes("mark-5100301").await);

    let mute = [marked("demo-mute", "mark-5100302")];
    user.connect_within(&mute, hurry(300, 300))
        .await
        .unwrap_err();
    assert!(vanishes("mark-5100302").await);
}

#[tokio::test]
async fn a_server_that_cannot_start_is_named_with_its_words() {
    let error = User::new()
        .connect(&[server("demo-broken")])
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "mcp server demo-broken ended with code 1; it said: this server cannot start"
    );
    assert_eq!(error.code(), ErrorCode::BackendError);
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_named_with_its_words() {
    let servers = User::new().demos(&["demo-dying", "demo"]).await;
    let words = "mcp server demo-dying ended with code 3; it said: this server dies in every call";
    for _ in 0..2 {
        let error = servers
            .call("demo-dying", "env", Map::new())
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), words);
    }
    assert!(
        servers.call("demo", "env", Map::new()).await.is_ok(),
        "others live on"
    );
}
