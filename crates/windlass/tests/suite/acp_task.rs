//! Mode `task` of `windlass acp`: the whole loop, cancelled, released, and resumed in another process.

use serde_json::{Value, json};

use super::acp_client::{AcpClient, Turn, assert_no_process};
use super::task_harness::TaskHarness;

const TEST: &str = "grep -q '^done$' done.txt && echo '1 passed, 0 failed'";

fn plan() -> Value {
    json!({ "answer": [{ "json": { "plan": ["Write done.txt"], "coder_prompt": "Write done.txt.", "tests": [] } }] })
}

/// Returns a project in which the agent plans, and then plays these turns.
fn with_turns(turns: &[Value]) -> TaskHarness {
    let turns: Vec<Value> = [plan()].into_iter().chain(turns.iter().cloned()).collect();
    TaskHarness::new(TEST, &json!({ "turns": turns }).to_string())
}

fn write(content: &str) -> Value {
    json!({ "answer": [{ "write_file": { "path": "done.txt", "content": content } }] })
}

fn say(text: &str) -> Value {
    json!({ "answer": [{ "text": text }] })
}

/// Returns the titles of the tool calls.
fn titles(turn: &Turn) -> Vec<String> {
    let calls = turn.of_kind("tool_call").into_iter();
    let title = |call: &Value| call["title"].as_str().unwrap_or_default().to_owned();
    calls
        .map(title)
        .map(|title| title.split(" in 0").next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn prompt_becomes_a_proven_task() {
    let harness = with_turns(&[
        write("wrong\n"),
        say("Written."),
        write("done\n"),
        say("Corrected."),
    ]);
    let mut client = AcpClient::start(&harness, &["--mode", "task"]);
    let session = client.new_session(&harness.project());
    let turn = client.prompt(&session, "Write done.txt");
    assert_eq!(
        turn.response["result"]["stopReason"], "end_turn",
        "{}",
        turn.response
    );
    let titles = titles(&turn);
    let corrections = titles
        .iter()
        .filter(|title| title.starts_with("correction 1 of 3"));
    assert_eq!(corrections.count(), 1, "{titles:?}");
    assert_eq!(
        titles
            .iter()
            .filter(|title| *title == "Write done.txt")
            .count(),
        2,
        "{titles:?}"
    );
    assert!(
        titles.last().unwrap().starts_with("tests passed: 1 passed"),
        "{titles:?}"
    );
    // The agent worked in a clone, but the paths are those of the project.
    let call = turn.of_kind("tool_call")[0];
    assert_eq!(
        call["content"][0]["path"],
        json!(harness.project().join("done.txt"))
    );
    let plans = turn.of_kind("plan");
    let entries = plans.last().unwrap()["entries"].as_array().unwrap();
    let entries: Vec<&Value> = entries.iter().map(|entry| &entry["status"]).collect();
    assert_eq!(entries, ["completed"; 3]);
    let text = turn.text();
    assert!(
        text.contains("**Task 1 is completed.**") && text.contains("/task-1`"),
        "{text}"
    );
    assert!(text.contains("exited 0: 1 passed, 0 failed"), "{text}");
    assert!(harness.git(&["branch", "--list"]).contains("/task-1"));
    assert!(!harness.project().join("done.txt").exists());
    assert_eq!(
        harness.json(&["task", "show", "1", "--json"])["task"]["status"],
        "completed"
    );
    assert_eq!(client.finish(), Some(0));
    // A session of tasks needs no agent's session, so another process can load it.
    let mut client = AcpClient::start(&harness, &[]);
    let load = json!({ "sessionId": session, "cwd": harness.project(), "mcpServers": [] });
    let loaded = client.call("session/load", load);
    assert_eq!(
        loaded["result"]["modes"]["currentModeId"], "task",
        "{loaded}"
    );
    let replayed = format!("{:?}", client.updates);
    assert!(replayed.contains("Task 1 is completed"), "{replayed}");
}

#[test]
fn cancelled_task_is_cancelled_in_the_store() {
    let harness =
        with_turns(&[json!({ "answer": [{ "shell": { "command": "tail -f greet.sh" } }] })]);
    let mut client = AcpClient::start(&harness, &["--mode", "task"]);
    let session = client.new_session(&harness.project());
    let prompt = client.start_prompt(&session, "Wait");
    client.wait_update("tool_call");
    client.cancel(&session);
    assert_eq!(client.response(prompt)["result"]["stopReason"], "cancelled");
    assert_eq!(client.finish(), Some(0));
    assert_eq!(
        harness.json(&["task", "show", "1", "--json"])["task"]["status"],
        "cancelled"
    );
    assert_no_process(&harness);
}

/// The client is gone: the task is not lost.
#[test]
fn task_of_a_client_that_is_gone_is_released() {
    let harness =
        with_turns(&[json!({ "answer": [{ "shell": { "command": "tail -f greet.sh" } }] })]);
    let mut client = AcpClient::start(&harness, &["--mode", "task"]);
    let session = client.new_session(&harness.project());
    client.start_prompt(&session, "Wait");
    client.wait_update("tool_call");
    assert_eq!(client.finish(), Some(0));
    assert_eq!(
        harness.json(&["task", "show", "1", "--json"])["task"]["status"],
        "pending"
    );
    assert_no_process(&harness);
}

#[test]
fn planner_that_fails_is_an_error_and_no_task() {
    let harness = TaskHarness::new(
        TEST,
        r#"{"turns": [{ "fault": { "status": { "code": 401 } }, "or_more": true }]}"#,
    );
    let mut client = AcpClient::start(&harness, &["--mode", "task"]);
    let session = client.new_session(&harness.project());
    let turn = client.prompt(&session, "Write done.txt");
    let message = turn.response["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("planner player: "), "{message}");
    assert_eq!(harness.json(&["task", "list", "--json"]), json!([]));
}
