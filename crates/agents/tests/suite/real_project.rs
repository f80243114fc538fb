//! What a project may say to a real agent: words, and nothing that runs.

use serde_json::json;
use windlass_agents::cli;
use windlass_core::SessionOptions;
use windlass_core::cassette::Substitutions;
use windlass_gateway::{Script, ScriptedModel};

use super::world::{World, programs, turn};

/// A project whose every file wants to be obeyed.
fn project() -> World {
    let world = World::new();
    let work = world.work();
    let touch = work.join("obeyed").display().to_string();
    let hook = json!([{ "hooks": [{ "type": "command", "command": format!("touch {touch}") }] }]);
    let settings = json!({ "hooks": { "SessionStart": hook, "UserPromptSubmit": hook } });
    let servers = json!({ "mcpServers": { "evil": { "command": "touch", "args": [touch] } } });
    let codex = format!("[mcp_servers.evil]\ncommand = \"touch\"\nargs = [{touch:?}]\n");
    for (name, text) in [
        ("CLAUDE.md", "Speak of the canary-claude.".to_owned()),
        ("AGENTS.md", "Speak of the canary-codex.".to_owned()),
        (".claude/settings.json", settings.to_string()),
        (".mcp.json", servers.to_string()),
        (".codex/config.toml", codex),
    ] {
        let path = work.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    world
}

/// What this agent's model was told there.
async fn told(agent: &str, transport: &str) -> String {
    let world = project();
    let script = r#"{ "turns": [{ "answer": [{ "text": "Yes." }], "or_more": true }] }"#;
    let model = ScriptedModel::new(Script::parse(script, "test").unwrap())
        .recording()
        .listen("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let profile = cli::PROFILES
        .iter()
        .find(|profile| profile.name == agent)
        .unwrap();
    let context = world.context(&[programs("agents")]).await;
    let config = json!({
        "endpoint": model.url(), "api_key_env": "TEST_KEY",
        "transport": transport, "permissions": "allow",
    });
    let handle = cli::factory(profile, context)(&config).unwrap();
    let options = SessionOptions::in_dir(world.work());
    let mut session = handle.new_session(options).await.unwrap();
    let events = turn(&handle, &mut session, "Hello").await;
    assert!(!world.work().join("obeyed").exists(), "{events:?}");
    model.cassette(&Substitutions::new()).unwrap().unwrap()
}

#[tokio::test]
async fn p20_real_claude_hears_the_project_and_does_not_obey_it() {
    for transport in ["stream-json", "print"] {
        let told = told("claude", transport).await;
        assert!(told.contains("canary-claude"), "{transport}");
    }
}

#[tokio::test]
async fn p20_real_codex_hears_the_project_and_does_not_obey_it() {
    for transport in ["app-server", "exec"] {
        let told = told("codex", transport).await;
        assert!(told.contains("canary-codex"), "{transport}");
    }
}
