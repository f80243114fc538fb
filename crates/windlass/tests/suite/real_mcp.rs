//! Real MCP clients of `windlass mcp` and of `/mcp` on `windlass serve`: the official SDKs, the inspector, and real
//! agents on a scripted model.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use serde_json::{Value, json};

use super::real_scenarios::{programs, programs_of};
use super::run::Server;
use super::serve_harness::ServeProcess;
use super::task_harness::{INSTANT, TaskHarness};

const TEST_COMMAND: &str = "grep -q '^done$' done.txt && echo '1 passed, 0 failed'";

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap().canonicalize().unwrap()
}

/// Installs a part of the setup, and returns its directory.
fn install(part: &str) -> PathBuf {
    let setup = root().join("scripts/setup");
    let output = Command::new(setup).args(["--only", part]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    root().join(".cache").join(part)
}

/// How a client reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Stdio,
    Http,
}

/// A project, a server with a worker for it, and the two ways to reach its tasks.
struct Board {
    harness: TaskHarness,
    server: ServeProcess,
}

impl Board {
    fn new() -> Self {
        let harness = TaskHarness::new(TEST_COMMAND, INSTANT);
        let file = harness.path("named.toml");
        let config = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, config + "[agents.echo]\nbackend = \"mock\"\n").unwrap();
        std::fs::create_dir(harness.path("client-home")).unwrap();
        // Tasks of the other kinds stay in the queue.
        let server = ServeProcess::start(&harness, &["--kind", "backend"]);
        Self { harness, server }
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.server.addr)
    }

    /// Returns how to start the server on stdin and stdout.
    fn stdio(&self) -> Value {
        let config = self.harness.path("named.toml");
        json!({
            "command": assert_cmd::cargo::cargo_bin("windlass"),
            "args": ["--config", config, "mcp", "--allow-approve"],
            "cwd": self.harness.project(),
            "env": { "HOME": self.harness.home(), "PATH": std::env::var("PATH").unwrap() },
        })
    }

    /// Returns a client's command with a clean environment.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.harness.path("client-home"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .current_dir(self.harness.project())
            .timeout(Duration::from_secs(300));
        command
    }

    /// Runs a script of `tests/mcp`, and checks that it succeeds and that its change was merged.
    #[track_caller]
    fn run_script(&self, program: &Path, script: &str, transport: Transport, more: &Value) {
        let mut config = match transport {
            Transport::Stdio => json!({ "server": self.stdio() }),
            Transport::Http => json!({ "url": self.url(), "token": self.server.token }),
        };
        for (name, value) in more.as_object().unwrap() {
            config[name] = value.clone();
        }
        let script = root().join("crates/windlass/tests/mcp").join(script);
        let mut command = self.command(program);
        let output = command
            .arg(script)
            .arg(config.to_string())
            .output()
            .unwrap();
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.status.success(), "{transport:?}: {text}");
        assert!(output.stdout.ends_with(b"ok\n"), "{transport:?}: {text}");
        assert_eq!(self.harness.read("done.txt"), "done\n");
    }
}

fn node_client(script: &str, transport: Transport) {
    let modules = install("mcp");
    let more = json!({ "modules": modules, "name": script });
    Board::new().run_script(Path::new("node"), script, transport, &more);
}

fn python_client(transport: Transport, mode: &str) {
    let python = install("mcp-python").join("bin/python");
    let more = json!({ "mode": mode });
    Board::new().run_script(&python, "use_mcp.py", transport, &more);
}

#[test]
fn node_sdk_over_stdio() {
    node_client("use_sdk.mjs", Transport::Stdio);
}

#[test]
fn node_sdk_over_http() {
    node_client("use_sdk.mjs", Transport::Http);
}

#[test]
fn node_client_without_sessions_over_stdio() {
    node_client("use_client.mjs", Transport::Stdio);
}

#[test]
fn node_client_without_sessions_over_http() {
    node_client("use_client.mjs", Transport::Http);
}

#[test]
fn python_sdk_over_stdio() {
    python_client(Transport::Stdio, "legacy");
}

#[test]
fn python_sdk_over_http() {
    python_client(Transport::Http, "auto");
}

/// Runs the inspector's command line on the server over HTTP, and returns its output as JSON.
#[track_caller]
fn inspect(board: &Board, args: &[&str]) -> Value {
    let bin = programs_of("mcp-inspector");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let header = format!("Authorization: Bearer {}", board.server.token);
    let mut command = board.command(&bin.join("mcp-inspector"));
    let output = command
        .env("PATH", path)
        .args([
            "--cli",
            &board.url(),
            "--transport",
            "http",
            "--header",
            &header,
        ])
        .args(args)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stdout}{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

#[test]
#[ignore = "full: starts the MCP inspector"]
fn inspector_lists_and_calls_tools() {
    let board = Board::new();
    let listed = inspect(&board, &["--method", "tools/list"]);
    assert_eq!(listed["tools"].as_array().unwrap().len(), 17, "{listed}");
    let add = [
        "--method",
        "tools/call",
        "--tool-name",
        "add_task",
        "--tool-arg",
        "title=Inspect",
    ];
    let added = inspect(&board, &add);
    assert_eq!(
        added["structuredContent"]["task"]["title"], "Inspect",
        "{added}"
    );
    let resources = inspect(&board, &["--method", "resources/list"]);
    // The server works on the task meanwhile; a completed one has more resources.
    let is_log = |resource: &Value| resource["uri"] == "windlass://task/1/log";
    let listed = resources["resources"].as_array().unwrap();
    assert!(listed.iter().any(is_log), "{resources}");
    let read = [
        "--method",
        "resources/read",
        "--uri",
        "windlass://task/1/log",
    ];
    let read = inspect(&board, &read);
    assert!(
        read["contents"][0]["text"]
            .as_str()
            .unwrap()
            .contains("is pending"),
        "{read}"
    );
}

/// The script of a model that adds a task, waits for it, reads its proof and merges it.
fn drive_board() -> Value {
    let call = |tool: &str, arguments: Value| json!([{ "mcp": { "server": "windlass", "tool": tool, "arguments": arguments } }]);
    json!([
        { "answer": call("add_task", json!({ "title": "Write the file" })) },
        { "when": { "contains": "pending" }, "answer": call("list_tasks", json!({})) },
        { "when": { "contains": "Write the file" }, "answer": call("wait_for_task", json!({ "id": 1 })) },
        {
            "when": { "contains": "completed" },
            "answer": [{ "mcp_resource": { "server": "windlass", "uri": "windlass://task/1/proof" } }]
        },
        { "when": { "contains": "log_sha256" }, "answer": call("merge_task", json!({ "id": 1 })) },
        { "when": { "contains": "merged" }, "answer": [{ "text": "The file is merged." }] },
    ])
}

/// Runs a real agent on the script, and checks that its task was done and merged.
#[track_caller]
fn drives_board(board: &Board, model: Server, command: &mut Command) {
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stdout.contains("The file is merged."), "{stdout}{stderr}");
    let task = board.server.get("/tasks/1");
    assert_eq!(task["status"], "completed", "{task}");
    assert_eq!(board.harness.read("done.txt"), "done\n");
    model.finish();
}

fn claude_code(transport: Transport) {
    let board = Board::new();
    let model = Server::with_turns(drive_board());
    let server = match transport {
        Transport::Stdio => {
            let mut server = board.stdio();
            server["type"] = json!("stdio");
            server
        }
        Transport::Http => {
            let headers = json!({ "Authorization": format!("Bearer {}", board.server.token) });
            json!({ "type": "http", "url": board.url(), "headers": headers })
        }
    };
    let servers = json!({ "mcpServers": { "windlass": server } });
    let mut command = board.command(&programs().join("claude"));
    command
        .env("ANTHROPIC_API_KEY", "dummy")
        .env("ANTHROPIC_BASE_URL", model.url())
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("CLAUDE_CODE_MAX_RETRIES", "0")
        .args(["-p", "--output-format", "stream-json", "--verbose"])
        .args(["--strict-mcp-config", "--mcp-config", &servers.to_string()])
        .args(["--allowedTools", "mcp__windlass", "ReadMcpResourceTool"])
        .args(["--", "Have the file written, and merge it"]);
    drives_board(&board, model, &mut command);
}

#[test]
#[ignore = "full: starts the real Claude Code as an MCP client"]
fn claude_code_drives_the_board_over_stdio() {
    claude_code(Transport::Stdio);
}

#[test]
#[ignore = "full: starts the real Claude Code as an MCP client"]
fn claude_code_drives_the_board_over_http() {
    claude_code(Transport::Http);
}

fn codex(transport: Transport) {
    let board = Board::new();
    let model = Server::with_turns(drive_board());
    let server = match transport {
        Transport::Stdio => {
            let server = board.stdio();
            let env = &server["env"];
            format!(
                "{{command={},args={},cwd={},env={{HOME={},PATH={}}}}}",
                server["command"], server["args"], server["cwd"], env["HOME"], env["PATH"]
            )
        }
        Transport::Http => format!(
            "{{url={:?},bearer_token_env_var=\"BOARD_TOKEN\"}}",
            board.url()
        ),
    };
    let provider = format!(
        "model_providers.scripted={{name=\"scripted\",base_url=\"{}/v1\",env_key=\"KEY\",wire_api=\"responses\",\
         request_max_retries=0,stream_max_retries=0}}",
        model.url()
    );
    let mut command = board.command(&programs().join("codex"));
    command
        .env("KEY", "dummy")
        .env("BOARD_TOKEN", &board.server.token)
        .args(["exec", "--json", "--skip-git-repo-check", "-m", "gpt-5.5"])
        .arg("--dangerously-bypass-approvals-and-sandbox")
        .args(["-c", "model_provider=\"scripted\"", "-c", &provider])
        .args(["-c", &format!("mcp_servers.windlass={server}")])
        .arg("Have the file written, and merge it");
    drives_board(&board, model, &mut command);
}

#[test]
#[ignore = "full: starts the real Codex as an MCP client"]
fn codex_drives_the_board_over_stdio() {
    codex(Transport::Stdio);
}

#[test]
#[ignore = "full: starts the real Codex as an MCP client"]
fn codex_drives_the_board_over_http() {
    codex(Transport::Http);
}
