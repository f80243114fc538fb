//! Invalid input is rejected before a server is started or called.

use serde_json::Map;
use windlass_mcp::Error;

use super::support::{User, script, server};

#[tokio::test]
async fn unknown_name_error_lists_known_names() {
    let servers = User::new().demos(&["demo", "demo-empty"]).await;
    let call = async |server, tool| {
        let error = servers.call(server, tool, Map::new()).await.unwrap_err();
        error.to_string()
    };
    assert_eq!(
        call("dmeo", "echo").await,
        r#"no mcp server "dmeo": available: demo, demo-empty"#
    );
    assert_eq!(
        call("demo", "eco").await,
        r#"mcp server demo has no tool "eco": available: add, echo, env, fail, flood, slow"#
    );
    assert_eq!(
        call("demo-empty", "echo").await,
        r#"mcp server demo-empty has no tool "echo": available: none"#
    );
    assert!(servers.read("dmeo", "demo://greeting").await.is_err());
    assert!(servers.resources("dmeo").is_err());
}

#[tokio::test]
async fn invalid_and_duplicate_server_names_are_rejected() {
    let user = User::new();
    for name in ["", "a b", "a.b", "ä", "a\n", &"x".repeat(65)] {
        let error = user.connect(&[script(name, "")]).await.unwrap_err();
        assert!(
            matches!(error, Error::InvalidName { .. }),
            "{name:?}: {error}"
        );
    }
    let twice = user
        .connect(&[server("demo"), server("demo")])
        .await
        .unwrap_err();
    assert_eq!(
        twice.to_string(),
        r#"mcp server "demo": two servers have this name: rename one"#
    );
}

#[tokio::test]
async fn missing_program_error_names_it() {
    let mut missing = script("missing", "");
    missing.command = "no-such-server".to_owned();
    let error = User::new().connect(&[missing]).await.unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("mcp server missing: no-such-server: not found"),
        "{message}"
    );
    assert!(!error.retry().is_worthwhile());
}
