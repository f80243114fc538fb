//! Servers that print, flood, send requests or never respond do not block the client.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use windlass_core::ErrorCode;
use windlass_mcp::McpLimits;

use super::support::{User, arguments, limits_ms, script, server, shell};

#[tokio::test]
async fn non_protocol_output_is_counted_and_ignored() {
    let servers = User::new().demos(&["demo-noisy"]).await;
    assert_eq!(servers.stray_line_count("demo-noisy").unwrap(), 5);
    let echo = arguments(json!({ "text": "clear" }));
    assert_eq!(
        servers.call("demo-noisy", "echo", echo).await.unwrap(),
        "clear"
    );
}

#[tokio::test]
async fn server_that_never_responds_times_out() {
    let start = Instant::now();
    let user = User::new();
    let error = user
        .connect_with_limits(&[server("demo-mute")], limits_ms(2_000, 2_000))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "mcp server demo-mute: starting took longer than 2 s; stderr: reading input without responding"
    );
    assert_eq!(error.code(), ErrorCode::Timeout);
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn p12_long_result_is_truncated_and_marked() {
    let servers = User::new().demos(&["demo"]).await;
    let flood = arguments(json!({ "bytes": 3 << 20 }));
    let result = servers.call("demo", "flood", flood).await.unwrap();
    let text = result.as_str().unwrap();
    assert!(text.len() < (1 << 20) + 64 && text.contains("[… 2097152 bytes cut …]"));
}

#[tokio::test]
async fn p12_too_long_line_stops_the_server() {
    let servers = User::new().demos(&["demo"]).await;
    let flood = arguments(json!({ "bytes": 17 << 20 }));
    let error = servers.call("demo", "flood", flood).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "mcp server demo sent a line of more than 16 MiB and was stopped: request less data per call"
    );
    assert_eq!(error.code(), ErrorCode::OutputLimit);
    let again = servers.call("demo", "env", Default::default()).await;
    assert_eq!(again.unwrap_err().code(), ErrorCode::OutputLimit);
}

#[tokio::test]
async fn p12_flooding_server_times_out() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    for line in ["noise", ping, notification] {
        let flood = script("flood", &format!("yes '{line}'"));
        let error = User::new()
            .connect_with_limits(&[flood], limits_ms(700, 700))
            .await
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::Timeout, "{line}: {error}");
    }
}

#[tokio::test]
async fn p12_writes_to_server_that_does_not_read_time_out() {
    let tools = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{}}]}}"#;
    let blocked = shell("blocked", &[tools]);
    let limits = McpLimits {
        call: Duration::from_millis(500),
        ..McpLimits::default()
    };
    let servers = User::new()
        .connect_with_limits(&[blocked], limits)
        .await
        .unwrap();
    let long = || arguments(json!({ "text": "x".repeat(1 << 20) }));
    servers.call("blocked", "t", long()).await.unwrap_err();
    let error = servers.call("blocked", "t", long()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "mcp server blocked no longer reads its input"
    );
}
