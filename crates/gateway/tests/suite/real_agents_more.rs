//! Real agents beyond files and commands: MCP servers, structured answers, failures.

use std::path::Path;

use super::models::script;
use super::world::World;

const MCP: &str = r#"{"turns": [
    {"answer": [{"mcp": {"server": "echo", "tool": "say_back", "arguments": {"text": "halyard"}}}]},
    {"when": {"contains": "echo: halyard"}, "answer": [{"mcp_resources": {"server": "echo"}}]},
    {"when": {"contains": "log://today"}, "answer": [{"mcp_resource": {"server": "echo", "uri": "log://today"}}]},
    {"when": {"contains": "Fair wind."}, "answer": [{"text": "Heard."}]}
]}"#;

const OBJECT: &str = r#"{"turns": [{"answer": [{"json": {"knot": "bowline"}}], "or_more": true}]}"#;
const SCHEMA: &str = r#"{"type":"object","properties":{"knot":{"type":"string"}},"required":["knot"],"additionalProperties":false}"#;

fn echo() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/echo.py");
    file.display().to_string()
}

#[tokio::test]
async fn codex_calls_mcp_servers_by_namespace_and_from_code() {
    for model in ["gpt-5.5", "gpt-6.1-sol"] {
        let world = World::new(script(MCP), &[]).await;
        let mut command = world.codex(model);
        // Codex waits only for servers that it requires.
        let server = format!(
            "mcp_servers.echo={{command=\"python3\",args=[{:?}],required=true}}",
            echo()
        );
        command.args(["-c", &server, "Call the server"]);
        let ended = world.run(command).await;
        assert!(
            ended.report.is_clean() && ended.stdout.contains("Heard."),
            "{}",
            ended.story
        );
    }
}

#[tokio::test]
async fn claude_code_calls_mcp_servers() {
    let world = World::new(script(MCP), &[]).await;
    let config =
        serde_json::json!({ "mcpServers": { "echo": { "command": "python3", "args": [echo()] } } });
    let mut command = world.claude();
    command
        .args([
            "--mcp-config",
            &config.to_string(),
            "--allowedTools",
            "mcp__echo__say_back",
        ])
        .args(["--", "Call the server"]);
    let ended = world.run(command).await;
    assert!(
        ended.report.is_clean() && ended.stdout.contains("Heard."),
        "{}",
        ended.story
    );
}

#[tokio::test]
async fn codex_gives_a_structured_answer() {
    let world = World::new(script(OBJECT), &[("schema.json", SCHEMA)]).await;
    let mut command = world.codex("gpt-5.5");
    command.args(["--output-schema", "schema.json", "Name a knot"]);
    let ended = world.run(command).await;
    assert!(
        ended.stdout.contains(r#"{\"knot\":\"bowline\"}"#),
        "{}",
        ended.story
    );
}

#[tokio::test]
async fn claude_code_gives_a_structured_answer() {
    let world = World::new(script(OBJECT), &[]).await;
    let mut command = world.claude();
    command.args(["--json-schema", SCHEMA, "--", "Name a knot"]);
    let ended = world.run(command).await;
    assert!(
        ended
            .stdout
            .contains(r#""structured_output":{"knot":"bowline"}"#),
        "{}",
        ended.story
    );
}

#[tokio::test]
async fn agents_understand_a_refusal() {
    let refused = r#"{"turns": [{"fault": {"status": {"code": 401, "message": "no such key"}}, "or_more": true}]}"#;
    let world = World::new(script(refused), &[]).await;
    let mut command = world.codex("gpt-5.5");
    command.arg("Say pong");
    let ended = world.run(command).await;
    assert!(
        ended.stdout.contains("turn.failed") && ended.stdout.contains("401"),
        "{}",
        ended.story
    );

    let world = World::new(script(refused), &[]).await;
    let mut command = world.claude();
    command.args(["--", "Say pong"]);
    let ended = world.run(command).await;
    assert!(
        ended.stdout.contains(r#""api_error_status":401"#),
        "{}",
        ended.story
    );
}
