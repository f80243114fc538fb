//! The official SDKs of ACP as clients of `windlass acp`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use serde_json::json;

use super::acp_client::assert_no_process;
use super::real_sdk::{install, root};
use super::run::Server;
use super::task_harness::TaskHarness;

const TEST: &str = "grep -q '^done$' done.txt && echo '1 passed, 0 failed'";

/// Runs a script of `tests/sdk` with this program, and checks that it succeeds.
#[track_caller]
fn run_client(program: &Path, script: &str, more: &[PathBuf]) {
    let turns = json!({ "turns": [
        { "answer": [{ "reasoning": "I look first." }, { "edit_file": { "path": "greet.sh", "old": "Hello", "new": "Ahoy" } }] },
        { "answer": [{ "text": "Now it says Ahoy." }] },
        { "answer": [{ "shell": { "command": "tail -f greet.sh" } }] },
        { "answer": [{ "json": { "plan": ["Write done.txt"], "coder_prompt": "Write done.txt.", "tests": [] } }] },
        { "answer": [{ "write_file": { "path": "done.txt", "content": "done\n" } }] },
        { "answer": [{ "text": "Written." }] },
    ] });
    let server = Server::with_turns(json!([
        { "answer": [{ "write_file": { "path": "new.txt", "content": "new\n" } }] },
        { "answer": [{ "text": "So be it." }] },
    ]));
    let harness = TaskHarness::new(TEST, &turns.to_string());
    let file = harness.path("named.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let agent = format!(
        "[agents.careful]\nbackend = \"openai\"\nendpoint = \"{}/v1\"\nmodel = \"m\"\napi_key_env = \"KEY\"\n",
        server.url()
    );
    std::fs::write(&file, format!("{config}{agent}")).unwrap();
    let output = Command::new(program)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", harness.home())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(root().join("crates/windlass/tests/sdk").join(script))
        .arg(assert_cmd::cargo::cargo_bin("windlass"))
        .args([file, harness.project()])
        .args(more)
        .timeout(Duration::from_secs(300))
        .output()
        .unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success() && text.contains("ok\n"), "{text}");
    server.finish();
    assert_no_process(&harness);
}

#[test]
fn python_sdk() {
    let python = install("sdk-python", "sdk-python").join("bin/python");
    run_client(&python, "use_acp.py", &[]);
}

#[test]
fn typescript_sdk() {
    let modules = install("sdk-node", "sdk-node");
    run_client(Path::new("node"), "use_acp.mjs", &[modules]);
}
