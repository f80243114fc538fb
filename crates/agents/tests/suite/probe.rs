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
