//! Servers that print, flood, ask and never answer: they harm nobody, and nobody waits for ever.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use windlass_core::ErrorCode;
use windlass_mcp::McpLimits;

use super::support::{User, arguments, hurry, script, server, shell};

#[tokio::test]
async fn noise_is_counted_and_passed_over() {
    let servers = User::new().demos(&["demo-noisy"]).await;
    assert_eq!(servers.stray_line_count("demo-noisy").unwrap(), 5);
    let echo = arguments(json!({ "text": "clear" }));
    assert_eq!(
        servers.call("demo-noisy", "echo", echo).await.unwrap(),
        "clear"
    );
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let start = Instant::now();
    let user = User::new();
    let error = user
        .connect_within(&[server("demo-mute")], hurry(2_000, 2_000))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "mcp server demo-mute: starting took longer than 2 s; it said: not a word"
    );
    assert_eq!(error.code(), ErrorCode::Timeout);
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn p12_a_long_answer_is_cut_and_said_so() {
    let servers = User::new().demos(&["demo"]).await;
    let flood = arguments(json!({ "bytes": 3 << 20 }));
    let answer = servers.call("demo", "flood", flood).await.unwrap();
    let text = answer.as_str().unwrap();
    assert!(text.len() < (1 << 20) + 64 && text.contains("[… 2097152 bytes cut …]"));
}

#[tokio::test]
async fn p12_an_answer_without_end_stops_its_server() {
    let servers = User::new().demos(&["demo"]).await;
    let flood = arguments(json!({ "bytes": 17 << 20 }));
    let error = servers.call("demo", "flood", flood).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "mcp server demo sent a line of more than 16 MiB and was stopped: ask it for less at once"
    );
    assert_eq!(error.code(), ErrorCode::OutputLimit);
    let again = servers.call("demo", "env", Default::default()).await;
    assert_eq!(again.unwrap_err().code(), ErrorCode::OutputLimit);
}

#[tokio::test]
async fn p12_a_server_that_floods_instead_of_answering_is_given_up() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let news = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    for line in ["noise", ping, news] {
        let flood = script("flood", &format!("yes '{line}'"));
        let error = User::new()
            .connect_within(&[flood], hurry(700, 700))
            .await
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::Timeout, "{line}: {error}");
    }
}

#[tokio::test]
async fn p12_messages_to_a_server_that_reads_none_do_not_pile_up() {
    let tools = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{}}]}}"#;
    let deaf = shell("deaf", &[tools]);
    let limits = McpLimits {
        call: Duration::from_millis(500),
        ..McpLimits::default()
    };
    let servers = User::new().connect_within(&[deaf], limits).await.unwrap();
    let long = || arguments(json!({ "text": "x".repeat(1 << 20) }));
    servers.call("deaf", "t", long()).await.unwrap_err();
    let error = servers.call("deaf", "t", long()).await.unwrap_err();
    assert_eq!(error.to_string(), "mcp server deaf no longer listens");
}
