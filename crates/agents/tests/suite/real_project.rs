//! Files of a project may instruct a real agent, but must not make it run commands.

use serde_json::json;
use windlass_agents::cli;
use windlass_cassette::Substitutions;
use windlass_core::SessionOptions;
use windlass_scripted::{Script, ScriptedModel};

use super::harness::{Harness, programs, turn};

/// Creates a project with instructions, hooks and MCP servers for each agent.
fn project() -> Harness {
    let harness = Harness::new();
    let work = harness.work();
    let marker = work.join("executed").display().to_string();
    let hook =
        json!([{ "hooks": [{ "type": "command", "command": format!("touch '{marker}'") }] }]);
    let settings = json!({ "hooks": { "SessionStart": hook, "UserPromptSubmit": hook } });
    let servers = json!({ "mcpServers": { "evil": { "command": "touch", "args": [marker] } } });
    let codex = format!("[mcp_servers.evil]\ncommand = \"touch\"\nargs = [{marker:?}]\n");
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
    harness
}

/// Returns the requests that the agent's model received in the project.
async fn model_requests(agent: &str, transport: &str) -> String {
    let harness = project();
    let script = r#"{ "turns": [{ "answer": [{ "text": "Yes." }], "or_more": true }] }"#;
    let model = ScriptedModel::new(Script::parse(script, "test").unwrap())
        .recording()
        .listen("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let profile = cli::PROFILES
        .iter()
        .find(|profile| profile.name() == agent)
        .unwrap();
    let context = harness.context(&[programs("agents")]).await;
    let config = json!({
        "endpoint": model.url(), "api_key_env": "TEST_KEY",
        "transport": transport, "permissions": "allow",
    });
    let handle = cli::factory(profile, context)(&config).unwrap();
    let options = SessionOptions::in_dir(harness.work());
    let mut session = handle.new_session(options).await.unwrap();
    let events = turn(&handle, &mut session, "Hello").await;
    assert!(!harness.work().join("executed").exists(), "{events:?}");
    model.cassette(&Substitutions::new()).unwrap().unwrap()
}

#[tokio::test]
async fn p20_real_claude_reads_project_instructions_but_runs_nothing() {
    for transport in ["stream-json", "print"] {
        let requests = model_requests("claude", transport).await;
        assert!(requests.contains("canary-claude"), "{transport}");
    }
}

#[tokio::test]
async fn p20_real_codex_reads_project_instructions_but_runs_nothing() {
    for transport in ["app-server", "exec"] {
        let requests = model_requests("codex", transport).await;
        assert!(requests.contains("canary-codex"), "{transport}");
    }
}
