//! Tools are called and resources read; what fails says why.

use serde_json::json;
use windlass_core::ErrorCode;
use windlass_mcp::{Error, ResourceBody};

use super::support::{User, arguments, hurry, server};

#[tokio::test]
async fn a_tool_answers() {
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
async fn a_tool_that_fails_says_so_in_its_own_words() {
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
async fn arguments_that_do_not_fit_fail_the_call_alone() {
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
        "the server lives on"
    );
}

#[tokio::test]
async fn a_slow_call_keeps_no_other_waiting() {
    let servers = User::new().demos(&["demo"]).await;
    let slow = servers.call("demo", "slow", arguments(json!({ "ms": 60_000 })));
    let quick = servers.call("demo", "slow", arguments(json!({ "ms": 1 })));
    tokio::select! {
        biased;
        _ = slow => panic!("the slow one came first"),
        answer = quick => assert_eq!(answer.unwrap(), "waited 1 ms"),
    }
}

#[tokio::test]
async fn a_call_has_a_deadline_and_the_server_outlives_it() {
    let user = User::new();
    let servers = user
        .connect_within(&[server("demo")], hurry(30_000, 2_000))
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
async fn a_resource_that_cannot_be_read_says_why() {
    let servers = User::new().demos(&["demo"]).await;
    let broken = servers.read("demo", "demo://broken").await.unwrap_err();
    assert_eq!(
        broken.to_string(),
        "mcp server demo: demo://broken: demo://broken cannot be read (-32603)"
    );
    let missing = servers.read("demo", "demo://missing").await.unwrap_err();
    assert!(matches!(missing, Error::ErrorResponse { .. }), "{missing}");
}
