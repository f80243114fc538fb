//! Probes of agents that have not run yet.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use windlass_agents::acp;
use windlass_agents::model::{self, ModelKind};

use super::harness::Harness;

/// A script like Copilot, which unpacks itself before it prints its version.
const UNPACKS: &str = r#"#!/bin/sh
mkdir -p "$HOME/.cache/copilot/pkg" && echo "GitHub Copilot CLI 1.0.102." && exit 0
echo "cannot unpack" >&2
exit 1
"#;

fn install(harness: &Harness, name: &str, text: &str) -> std::path::PathBuf {
    let dir = harness.state().join("bin");
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join(name);
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    dir
}

#[tokio::test]
async fn program_may_unpack_itself_before_reporting_its_version() {
    let preset = acp::preset("copilot");
    for (config, touched) in [
        (json!({}), true),
        (json!({ "endpoint": "http://127.0.0.1:1" }), false),
    ] {
        let harness = Harness::new();
        let context = harness
            .context(&[install(&harness, "copilot", UNPACKS)])
            .await;
        let found = acp::probe(preset, &context, &config).await.unwrap();
        assert_eq!(found.version.unwrap().to_string(), "1.0.102");
        let exists = harness.home().join(".cache/copilot/pkg").exists();
        assert_eq!(exists, touched, "{config}");
    }
}

/// A program that ends like an agent whose own directory is hidden.
const READ_ONLY_STATE: &str = "#!/bin/sh\nread -r _\n\
    echo 'failed to initialize state under ~/.mine: Read-only file system' >&2\nexit 1\n";

#[tokio::test]
async fn hidden_state_of_an_unknown_agent_names_the_settings() {
    let harness = Harness::new();
    let dir = install(&harness, "my-agent", READ_ONLY_STATE);
    install(&harness, "codex-acp", READ_ONLY_STATE);
    let context = harness.context(&[dir]).await;
    let error = |command: &str| {
        let config = json!({ "command": [command] });
        let context = &context;
        async move {
            let probed = acp::probe(None, context, &config).await;
            probed.unwrap_err().to_string()
        }
    };
    let unknown = error("my-agent").await;
    assert!(
        unknown.contains("`writable`") && unknown.contains("`preset`"),
        "{unknown}"
    );
    // The program's name is that of a known agent, whose state is visible.
    let known = error("codex-acp").await;
    assert!(
        known.contains("codex-acp") && !known.contains("`preset`"),
        "{known}"
    );
}

/// Codex, as far as its version.
const CODEX: &str = "#!/bin/sh\necho 'codex-cli 0.166.0'\n";

#[tokio::test]
async fn profile_selects_a_transport_that_takes_it() {
    let harness = Harness::new();
    let context = harness.context(&[install(&harness, "codex", CODEX)]).await;
    let codex = &windlass_agents::cli::codex::PROFILE;
    let probe = |config: serde_json::Value| {
        let context = &context;
        async move { windlass_agents::cli::probe(codex, context, &config).await }
    };
    assert_eq!(probe(json!({})).await.unwrap().transport, "app-server");
    let found = probe(json!({ "profile": "p1" })).await.unwrap();
    assert_eq!(found.transport, "exec");
    let config = json!({ "profile": "p1", "transport": "app-server" });
    let error = probe(config).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "transport: expected one of exec, because `profile` is set"
    );
}

#[tokio::test]
async fn broken_program_error_is_forwarded() {
    let harness = Harness::new();
    let broken = "#!/bin/sh\necho 'libfoo.so is missing' >&2\nexit 127\n";
    let context = harness
        .context(&[install(&harness, "gemini", broken)])
        .await;
    let probed = acp::probe(acp::preset("gemini"), &context, &json!({})).await;
    let error = probed.unwrap_err().to_string();
    assert!(
        error.contains("exited with code 127") && error.contains("libfoo.so is missing"),
        "{error}"
    );
}

#[tokio::test]
async fn unreachable_local_model_is_unavailable() {
    let harness = Harness::new();
    let context = harness.context(&[]).await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = json!({ "endpoint": format!("http://{}", listener.local_addr().unwrap()) });
    let probe = || model::probe(ModelKind::Ollama, &context, &config);
    probe().await.unwrap();
    drop(listener);
    let error = probe().await.unwrap_err().to_string();
    assert!(
        error.contains("connection refused") && error.contains("ollama serve"),
        "{error}"
    );
    // A remote server is not checked.
    let remote = json!({ "endpoint": "https://models.example" });
    model::probe(ModelKind::Ollama, &context, &remote)
        .await
        .unwrap();
}
