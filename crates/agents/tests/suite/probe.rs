//! Whether an agent is there, before it has ever run.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use windlass_agents::acp;
use windlass_agents::model::{self, ModelKind};

use super::world::World;

/// Like Copilot, which unpacks itself before it says its version.
const UNPACKS: &str = r#"#!/bin/sh
mkdir -p "$HOME/.cache/copilot/pkg" && echo "GitHub Copilot CLI 1.0.102." && exit 0
echo "no place to unpack" >&2
exit 1
"#;

fn install(world: &World, name: &str, text: &str) -> std::path::PathBuf {
    let folder = world.state().join("bin");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    folder
}

#[tokio::test]
async fn a_program_may_unpack_itself_before_it_says_its_version() {
    let preset = acp::preset("copilot");
    for (config, touched) in [
        (json!({}), true),
        (json!({ "endpoint": "http://127.0.0.1:1" }), false),
    ] {
        let world = World::new();
        let context = world.context(&[install(&world, "copilot", UNPACKS)]).await;
        let found = acp::probe(preset, &context, &config).await.unwrap();
        assert_eq!(found.version.unwrap().to_string(), "1.0.102");
        let is_there = world.home().join(".cache/copilot/pkg").exists();
        assert_eq!(is_there, touched, "{config}");
    }
}

#[tokio::test]
async fn what_a_broken_program_complains_of_is_passed_on() {
    let world = World::new();
    let broken = "#!/bin/sh\necho 'libfoo.so is missing' >&2\nexit 127\n";
    let context = world.context(&[install(&world, "gemini", broken)]).await;
    let probed = acp::probe(acp::preset("gemini"), &context, &json!({})).await;
    let error = probed.unwrap_err().to_string();
    assert!(
        error.contains("ended with 127") && error.contains("libfoo.so is missing"),
        "{error}"
    );
}

#[tokio::test]
async fn a_model_that_nobody_serves_here_is_not_there() {
    let world = World::new();
    let context = world.context(&[]).await;
    let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = json!({ "endpoint": format!("http://{}", door.local_addr().unwrap()) });
    let probe = || model::probe(ModelKind::Ollama, &context, &config);
    probe().await.unwrap();
    drop(door);
    let error = probe().await.unwrap_err().to_string();
    assert!(
        error.contains("nobody listens there") && error.contains("ollama serve"),
        "{error}"
    );
    // Whether a server elsewhere is there shows in a turn.
    let far = json!({ "endpoint": "https://models.example" });
    model::probe(ModelKind::Ollama, &context, &far)
        .await
        .unwrap();
}
