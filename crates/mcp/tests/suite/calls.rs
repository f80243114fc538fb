//! Calls of tools, reads of resources, and their errors.

use serde_json::json;
use windlass_core::ErrorCode;
use windlass_mcp::{Error, ResourceBody};

use super::support::{User, arguments, limits_ms, server};

#[tokio::test]
async fn tool_returns_its_result() {
    let servers = User::new().demos(&["demo"]).await;
    let echo = arguments(json!({ "text": "round\nand \u{202e}round" }));
    assert_eq!(
        servers.call("demo", "echo", echo).await.unwrap(),
        "round\nand \u{202e}round"
    );
    let add = arguments(json!({ "a": 2, "b": 3 }));
    assert_eq!(servers.call("demo", "add", add).await.unwrap(), "5");
}

#[tokio::test]
async fn failing_tool_returns_its_own_message() {
    let servers = User::new().demos(&["demo"]).await;
    let fail = arguments(json!({ "message": "no such row" }));
    let error = servers.call("demo", "fail", fail).await.unwrap_err();
    assert!(
        matches!(&error, Error::ToolFailed { server, tool, .. } if server == "demo" && tool == "fail")
    );
    assert_eq!(
        (error.to_string().as_str(), error.code()),
        ("no such row", ErrorCode::ToolFailed)
    );
}

#[tokio::test]
async fn invalid_arguments_fail_only_the_call() {
    let servers = User::new().demos(&["demo"]).await;
    let error = servers
        .call("demo", "add", arguments(json!({ "a": "two" })))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::ToolFailed { .. }), "{error:?}");
    assert!(error.to_string().contains("expected i64"), "{error}");
    let add = arguments(json!({ "a": 1, "b": 1 }));
    assert_eq!(
        servers.call("demo", "add", add).await.unwrap(),
        "2",
        "the server still runs"
    );
}

#[tokio::test]
async fn slow_call_does_not_block_another() {
    let servers = User::new().demos(&["demo"]).await;
    let slow = servers.call("demo", "slow", arguments(json!({ "ms": 60_000 })));
    let quick = servers.call("demo", "slow", arguments(json!({ "ms": 1 })));
    tokio::select! {
        biased;
        _ = slow => panic!("the slow call returned first"),
        result = quick => assert_eq!(result.unwrap(), "waited 1 ms"),
    }
}

#[tokio::test]
async fn call_times_out_and_server_stays_usable() {
    let user = User::new();
    let servers = user
        .connect_with_limits(&[server("demo")], limits_ms(30_000, 2_000))
        .await
        .unwrap();
    let slow = arguments(json!({ "ms": 60_000 }));
    let error = servers.call("demo", "slow", slow).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "mcp server demo: slow took longer than 2 s"
    );
    assert!(error.code() == ErrorCode::Timeout && error.retry().is_worthwhile());
    let echo = arguments(json!({ "text": "still here" }));
    assert_eq!(
        servers.call("demo", "echo", echo).await.unwrap(),
        "still here"
    );
}

#[tokio::test]
async fn resources_are_read() {
    let servers = User::new().demos(&["demo"]).await;
    let contents = servers.read("demo", "demo://numbers").await.unwrap();
    assert_eq!(contents.len(), 1);
    assert_eq!(contents[0].mime_type.as_deref(), Some("application/json"));
    assert_eq!(
        contents[0].body,
        ResourceBody::Text("[1, 2, 3, 5, 8]".to_owned())
    );
}

#[tokio::test]
async fn unreadable_resource_returns_the_reason() {
    let servers = User::new().demos(&["demo"]).await;
    let broken = servers.read("demo", "demo://broken").await.unwrap_err();
    assert_eq!(
        broken.to_string(),
        "mcp server demo: demo://broken: demo://broken cannot be read (-32603)"
    );
    let missing = servers.read("demo", "demo://missing").await.unwrap_err();
    assert!(matches!(missing, Error::ErrorResponse { .. }), "{missing}");
}
