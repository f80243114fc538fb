//! The conformance suite on `windlass acp`, with Windlass itself as the client.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_agents::{AgentContext, acp};
use windlass_core::{AgentHandle, Result};
use windlass_sandbox::{Host, Sandbox};
use windlass_testkit::conformance::{
    Action, BackendUnderTest, CaseScript, ScriptedTurn, Verdict, exercise,
};

/// `windlass acp` with a mock that plays each case.
#[derive(Default)]
struct Served {
    dirs: Mutex<Vec<TempDir>>,
}

impl BackendUnderTest for Served {
    fn agent<'a>(&'a self, case: &'a CaseScript) -> BoxFuture<'a, Result<AgentHandle>> {
        Box::pin(async move {
            let dir = TempDir::with_prefix_in("acp-", env!("CARGO_TARGET_TMPDIR")).unwrap();
            let handle = handle(dir.path(), case).await;
            self.dirs.lock().push(dir);
            handle
        })
    }

    fn live_processes(&self) -> Vec<String> {
        let dirs = self.dirs.lock();
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let cwd = |entry: std::fs::DirEntry| std::fs::read_link(entry.path().join("cwd")).ok();
        let is_here = |cwd: &PathBuf| dirs.iter().any(|dir| cwd.starts_with(dir.path()));
        let here = entries.filter_map(cwd).filter(is_here);
        here.map(|cwd| format!("a process in {}", cwd.display()))
            .collect()
    }
}

/// Returns the agent of a case, as a client of `windlass acp` has it.
async fn handle(dir: &Path, case: &CaseScript) -> Result<AgentHandle> {
    let dir = dir.canonicalize().unwrap();
    for name in ["home", "work", "state"] {
        std::fs::create_dir(dir.join(name)).unwrap();
    }
    let work = dir.join("work");
    let git = Command::new("git").args(["init", "-q"]).arg(&work).output();
    assert!(git.unwrap().status.success());
    let config = dir.join("named.toml");
    let agent = json!({ "default_agent": "player", "agents": { "player": mock(case) } });
    std::fs::write(&config, toml::to_string(&agent).unwrap()).unwrap();
    let windlass = assert_cmd::cargo::cargo_bin("windlass");
    windlass_sandbox::init::set_program(&windlass);
    let home = dir.join("home");
    let host = Host::new([
        ("HOME", home.to_str().unwrap()),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ]);
    let sandbox = Sandbox::detect(host).await.unwrap();
    let context = AgentContext::new(sandbox, dir.join("state")).in_dir(work);
    let command = json!([windlass, "--config", config, "acp"]);
    let settings = json!({ "command": command, "readable": [config], "permissions": "allow" });
    acp::factory(None, context)(&settings)
}

/// Returns the configuration of a mock that plays the case. Without expectations it echoes every prompt, which may be
/// larger than a configuration.
fn mock(case: &CaseScript) -> Value {
    let echoes = case.turns.iter().all(|turn| turn.act == Action::EchoPrompt);
    let expectations: Vec<Value> = case
        .turns
        .iter()
        .map(|turn| expectation(case, turn))
        .collect();
    if echoes && !case.turns.is_empty() {
        json!({ "backend": "mock" })
    } else {
        json!({ "backend": "mock", "expectations": expectations })
    }
}

fn expectation(case: &CaseScript, turn: &ScriptedTurn) -> Value {
    let start = json!({ "type": "ToolStart", "id": "tool-1", "name": "shell", "input": { "command": "true" } });
    let mut events = match &turn.act {
        Action::UseTool { succeeds, .. } => {
            let output = json!({ "exit_code": i32::from(!succeeds) });
            let end = json!({ "type": "ToolEnd", "id": "tool-1", "name": "shell", "output": output, "success": succeeds, "duration_ms": 1 });
            vec![start, end]
        }
        Action::HangInTool => vec![start],
        Action::SayThenHang(text) => vec![json!({ "type": "Text", "text": text })],
        _ => Vec::new(),
    };
    if let Some(answer) = case.answer(turn) {
        let (head, tail) = answer.split_at(answer.floor_char_boundary(answer.len() / 2));
        events.extend([head, tail].map(|text| json!({ "type": "Text", "text": text })));
        let usage = json!({ "input_tokens": 100, "output_tokens": 10 });
        events.push(json!({ "type": "Result", "text": answer, "usage": usage }));
    }
    json!({ "prompt": turn.prompt, "events": events, "hang": turn.hangs() })
}

#[tokio::test]
async fn windlass_as_client_passes() {
    let report = exercise(&Served::default()).await;
    let rows = report.rows().iter();
    let failed = rows.filter(|row| matches!(row.verdict, Verdict::Failed(_)));
    assert_eq!(failed.count(), 0, "{report}");
}
