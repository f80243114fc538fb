//! Real agents with MCP servers, structured answers and errors.

use std::path::Path;

use super::harness::Harness;
use super::models::script;

const MCP: &str = r#"{"turns": [
    {"answer": [{"mcp": {"server": "echo", "tool": "say_back", "arguments": {"text": "halyard"}}}]},
    {"when": {"contains": "echo: halyard"}, "answer": [{"mcp_resources": {"server": "echo"}}]},
    {"when": {"contains": "log://today"}, "answer": [{"mcp_resource": {"server": "echo", "uri": "log://today"}}]},
    {"when": {"contains": "Fair wind."}, "answer": [{"text": "Received."}]}
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
        let harness = Harness::new(script(MCP), &[]).await;
        let mut command = harness.codex(model);
        // Codex waits only for required servers.
        let server = format!(
            "mcp_servers.echo={{command=\"python3\",args=[{:?}],required=true}}",
            echo()
        );
        command.args(["-c", &server, "Call the server"]);
        let run = harness.run(command).await;
        assert!(
            run.report.is_clean() && run.stdout.contains("Received."),
            "{}",
            run.details
        );
    }
}

#[tokio::test]
async fn claude_code_calls_mcp_servers() {
    let harness = Harness::new(script(MCP), &[]).await;
    let config =
        serde_json::json!({ "mcpServers": { "echo": { "command": "python3", "args": [echo()] } } });
    let mut command = harness.claude();
    command
        .args([
            "--mcp-config",
            &config.to_string(),
            "--allowedTools",
            "mcp__echo__say_back",
        ])
        .args(["--", "Call the server"]);
    let run = harness.run(command).await;
    assert!(
        run.report.is_clean() && run.stdout.contains("Received."),
        "{}",
        run.details
    );
}

#[tokio::test]
async fn codex_returns_a_structured_answer() {
    let harness = Harness::new(script(OBJECT), &[("schema.json", SCHEMA)]).await;
    let mut command = harness.codex("gpt-5.5");
    command.args(["--output-schema", "schema.json", "Name a knot"]);
    let run = harness.run(command).await;
    assert!(
        run.stdout.contains(r#"{\"knot\":\"bowline\"}"#),
        "{}",
        run.details
    );
}

#[tokio::test]
async fn claude_code_returns_a_structured_answer() {
    let harness = Harness::new(script(OBJECT), &[]).await;
    let mut command = harness.claude();
    command.args(["--json-schema", SCHEMA, "--", "Name a knot"]);
    let run = harness.run(command).await;
    assert!(
        run.stdout
            .contains(r#""structured_output":{"knot":"bowline"}"#),
        "{}",
        run.details
    );
}

#[tokio::test]
async fn agents_report_an_error_status() {
    let unauthorized = r#"{"turns": [{"fault": {"status": {"code": 401, "message": "no such key"}}, "or_more": true}]}"#;
    let harness = Harness::new(script(unauthorized), &[]).await;
    let mut command = harness.codex("gpt-5.5");
    command.arg("Say pong");
    let run = harness.run(command).await;
    assert!(
        run.stdout.contains("turn.failed") && run.stdout.contains("401"),
        "{}",
        run.details
    );

    let harness = Harness::new(script(unauthorized), &[]).await;
    let mut command = harness.claude();
    command.args(["--", "Say pong"]);
    let run = harness.run(command).await;
    assert!(
        run.stdout.contains(r#""api_error_status":401"#),
        "{}",
        run.details
    );
}
