//! `windlass mcp`: what a client on stdin and stdout may do, and the whole way of a task.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::cli_harness::Run;
use super::task_harness::{INSTANT, TaskHarness};

const TEST_COMMAND: &str = "grep -q '^done$' done.txt && echo '1 passed, 0 failed'";

/// A server process and the client's ends of its pipes. It is killed when the value is dropped.
struct McpProcess {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl McpProcess {
    /// Starts a server with these flags, and performs the handshake.
    fn start(harness: &TaskHarness, flags: &[&str]) -> Self {
        let mut child = harness
            .child(&["mcp"])
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut process = Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        };
        let client = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        let info = process.request("initialize", params);
        assert_eq!(info["result"]["serverInfo"]["name"], "windlass", "{info}");
        process.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        process
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn tools(&mut self) -> Vec<String> {
        let listed = self.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Calls a tool, which must succeed, and returns its data.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.result(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool, which must fail, and returns its error.
    #[track_caller]
    fn error(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.result(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    fn result(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.request("tools/call", params)["result"].clone()
    }

    fn read(&mut self, uri: &str) -> String {
        let found = self.request("resources/read", json!({ "uri": uri }));
        let text = found["result"]["contents"][0]["text"].as_str();
        text.unwrap().to_owned()
    }

    /// Closes the input, and returns the exit code.
    fn close(mut self) -> Option<i32> {
        self.input = None;
        self.child.wait().unwrap().code()
    }
}

impl Drop for McpProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn harness() -> TaskHarness {
    let harness = TaskHarness::new(TEST_COMMAND, INSTANT);
    let file = harness.path("named.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, config + "[agents.echo]\nbackend = \"mock\"\n").unwrap();
    harness
}

const READ: &[&str] = &[
    "list_tasks",
    "show_task",
    "wait_for_task",
    "diff_task",
    "list_blockers",
    "list_approvals",
    "list_agents",
];
const WORK: &[&str] = &["add_task", "retry_task"];
const APPROVE: &[&str] = &[
    "answer_blocker",
    "decide_approval",
    "cancel_task",
    "merge_task",
    "review_task",
    "land_task",
    "push_task",
];

#[test]
fn p22_flags_decide_what_a_client_may_do() {
    let harness = harness();
    for (flags, expected) in [
        (&[][..], [READ, WORK, &["ask_agent"]].concat()),
        (&["--read-only"], READ.to_vec()),
        (&["--scope", "read"], READ.to_vec()),
        (&["--scope", "work"], WORK.to_vec()),
        (
            &["--scope", "read", "--allow-approve"],
            [READ, APPROVE].concat(),
        ),
        (
            &["--allow-approve"],
            [READ, WORK, &["ask_agent"], APPROVE].concat(),
        ),
    ] {
        let mut server = McpProcess::start(&harness, flags);
        assert_eq!(server.tools(), expected, "{flags:?}");
        for tool in APPROVE.iter().filter(|tool| !expected.contains(tool)) {
            let error = server.error(tool, json!({ "id": 1 }));
            let rule =
                format!("{tool} needs the scope approve, which this connection does not have");
            assert_eq!(error, rule, "{flags:?}");
        }
        assert_eq!(server.close(), Some(0), "{flags:?}");
    }
    for (flags, reason) in [
        (
            &["--scope", "approve"][..],
            "pass --allow-approve to allow it",
        ),
        (
            &["--scope", "admin"],
            "no tool needs it: expected read or work",
        ),
        (&["--scope", "all"], "expected read or work"),
        (&["--read-only", "--allow-approve"], "cannot be used with"),
    ] {
        let run = harness.run(&[&["mcp"], flags].concat());
        assert_eq!(run.code, 2, "{flags:?}: {}", run.stderr);
        assert!(run.stderr.contains(reason), "{flags:?}: {}", run.stderr);
    }
}

/// A client adds a task, a worker does it, the client reads the proof and merges.
#[test]
fn client_drives_a_task_to_its_merge() {
    let harness = harness();
    let mut server = McpProcess::start(&harness, &["--allow-approve"]);
    let added = server.call("add_task", json!({ "title": "Write done.txt" }));
    let id = added["task"]["id"].as_i64().unwrap();
    let waiting = server.call("wait_for_task", json!({ "id": id, "timeout_secs": 0 }));
    assert_eq!(
        [&waiting["done"], &waiting["task"]["status"]],
        [&json!(false), &json!("pending")]
    );
    let early = server.error("merge_task", json!({ "id": id }));
    assert_eq!(early, format!("task {id} has no change: it is pending"));
    let worker = harness.run(&["worker", "--once"]);
    assert_eq!(worker.code, 0, "{}", worker.stderr);

    let done = server.call("wait_for_task", json!({ "id": id }));
    assert_eq!(
        [&done["done"], &done["task"]["status"]],
        [&json!(true), &json!("completed")]
    );
    let shown = server.call("show_task", json!({ "id": id }));
    let resources = shown["resources"].as_array().unwrap().clone();
    assert_eq!(resources.len(), 4, "{shown}");
    let proof: Value =
        serde_json::from_str(&server.read(&format!("windlass://task/{id}/proof"))).unwrap();
    assert_eq!(proof["counts"]["passed"], 1, "{proof}");
    assert_eq!(proof["commit"], shown["proof"]["commit"]);
    let diff = server.read(&format!("windlass://task/{id}/diff"));
    assert!(diff.contains("+done"), "{diff}");
    let log = server.read(&format!("windlass://task/{id}/log"));
    assert!(log.contains("is completed"), "{log}");
    let merged = server.call("merge_task", json!({ "id": id }));
    assert_eq!(merged["merge"]["status"], "merged", "{merged}");
    assert_eq!(harness.read("done.txt"), "done\n");
}

#[test]
fn client_asks_an_agent() {
    let harness = harness();
    let mut server = McpProcess::start(&harness, &[]);
    let answer = server.call("ask_agent", json!({ "prompt": "ahoy", "agent": "echo" }));
    assert_eq!(answer["agent"], "echo");
    assert!(
        answer["answer"].as_str().unwrap().contains("ahoy"),
        "{answer}"
    );
    let unknown = server.error("ask_agent", json!({ "prompt": "ahoy", "agent": "ecko" }));
    assert!(
        unknown.contains("ecko") && unknown.contains("echo"),
        "{unknown}"
    );
}

#[test]
fn mcp_outside_a_repository_is_an_error() {
    let harness = harness();
    // A directory without a repository above it.
    let run = Run::of(harness.command().current_dir("/").arg("mcp"));
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.error().contains("git repository"), "{}", run.stderr);
    assert_eq!(run.stdout, "");
}
