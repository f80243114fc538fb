//! Real agents whose provider limits them: tasks wait or go on with another agent, and no attempt is lost.

use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use windlass_core::{Clock, SystemClock};

use super::output_schema;
use super::real_composite::{harness, json_of, path_with_agents, run};
use super::run::Server;
use super::task_harness::TaskHarness;

/// How long the provider limits the account. Three attempts must have started by then.
const LIMIT_SECS: u64 = 25;
const TIMEOUT: Duration = Duration::from_secs(180);

fn agent(name: &str, backend: &str, model: &str, server: &Server) -> String {
    format!(
        "[agents.{name}]\nbackend = {backend:?}\nmodel = {model:?}\nendpoint = {:?}\napi_key_env = \"ANY_KEY\"\n\
         permissions = \"allow\"\n",
        server.url()
    )
}

fn limited(seconds: u64) -> Value {
    json!({ "status": { "code": 429, "retry_after_secs": seconds } })
}

fn worker(harness: &TaskHarness, concurrency: &str) -> Child {
    start(harness, &["worker", "--once", "-c", concurrency])
}

fn start(harness: &TaskHarness, arguments: &[&str]) -> Child {
    let mut command = harness.child(arguments);
    let command = command
        .env("PATH", path_with_agents())
        .env("ANY_KEY", "canary-of-all");
    command.stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until the condition holds.
#[track_caller]
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let clock = SystemClock::new();
    while !condition() {
        assert!(clock.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Returns how many tasks have said that they wait for quota.
fn waiting(harness: &TaskHarness, tasks: u32) -> usize {
    let is_waiting = |task: &u32| {
        let log = run(harness, &["task", "log", &task.to_string()]);
        log.stdout.contains("waiting for quota until")
    };
    (1..=tasks).filter(is_waiting).count()
}

#[test]
fn limited_account_holds_workers_of_two_processes_without_using_an_attempt() {
    let server = Server::with_turns(json!([
        { "fault": limited(LIMIT_SECS) },
        { "when": { "turn": 1 }, "or_more": true, "answer": [{ "write_file": { "path": "done.txt", "content": "done\n" } }] },
        { "or_more": true, "answer": [{ "text": "Done." }] },
    ]));
    let harness = harness(&agent("codex", "codex", "gpt-5", &server));
    for title in ["One", "Two", "Three"] {
        let added = run(&harness, &["task", "add", "--agent", "codex", title]);
        assert_eq!(added.code, 0, "{}", added.stderr);
    }
    let clock = SystemClock::new();
    let mut first = worker(&harness, "1");
    wait_until("the limit is not stored", || server.request_count() > 0);
    wait_until("no task waits", || waiting(&harness, 3) == 1);
    let limits = json_of(run(&harness, &["usage", "--limits", "--json"]));
    output_schema::check("account_limits", &limits);
    assert_eq!(limits.as_array().unwrap().len(), 1, "{limits}");
    let mut second = worker(&harness, "2");
    wait_until("not all tasks wait", || waiting(&harness, 3) == 3);
    assert!(
        clock.elapsed() < Duration::from_secs(LIMIT_SECS),
        "too slow"
    );
    // Neither the agent's own repetitions nor the other tasks have reached the provider.
    assert_eq!(server.request_count(), 1);
    for child in [&mut first, &mut second] {
        assert!(child.wait().unwrap().success());
    }
    assert!(clock.elapsed() >= Duration::from_secs(LIMIT_SECS));
    for task in json_of(run(&harness, &["task", "list", "--all", "--json"]))
        .as_array()
        .unwrap()
    {
        assert_eq!(task["status"], "completed", "{task}");
        assert_eq!(task["attempt"], 1, "{task}");
    }
    let limits = run(&harness, &["usage", "--limits"]);
    assert_eq!(limits.stdout.trim(), "no account must wait");
}

#[test]
fn task_of_a_killed_worker_goes_on_waiting_and_the_provider_is_not_called() {
    let server = Server::with_turns(json!([
        { "fault": limited(LIMIT_SECS) },
        { "when": { "turn": 1 }, "or_more": true, "answer": [{ "write_file": { "path": "done.txt", "content": "done\n" } }] },
        { "or_more": true, "answer": [{ "text": "Done." }] },
    ]));
    let harness = harness(&agent("codex", "codex", "gpt-5", &server));
    harness.lease(5);
    let added = run(&harness, &["task", "add", "--agent", "codex", "One"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    let clock = SystemClock::new();
    let mut first = worker(&harness, "1");
    wait_until("no task waits", || waiting(&harness, 1) == 1);
    first.kill().unwrap();
    first.wait().unwrap();
    // It takes the task when the lease has expired.
    let mut second = start(&harness, &["worker"]);
    let calls = server.request_count();
    let waits = |harness: &TaskHarness| {
        let log = run(harness, &["task", "log", "1"]).stdout;
        log.matches("waiting for quota until").count()
    };
    wait_until("the second worker does not wait", || waits(&harness) == 2);
    assert!(
        clock.elapsed() < Duration::from_secs(LIMIT_SECS),
        "too slow"
    );
    assert_eq!(server.request_count(), calls, "the provider was called");
    let is_completed = || {
        let shown = json_of(run(&harness, &["task", "show", "1", "--json"]));
        shown["task"]["status"] == "completed"
    };
    wait_until("the task is not completed", is_completed);
    assert!(clock.elapsed() >= Duration::from_secs(LIMIT_SECS));
    second.kill().unwrap();
    second.wait().unwrap();
}

#[test]
fn other_agent_finishes_a_task_in_the_same_clone() {
    let first = Server::with_turns(json!([
        { "when": { "turn": 1 }, "answer": [{ "write_file": { "path": "half.txt", "content": "half\n" } }] },
        { "or_more": true, "fault": limited(3600) },
    ]));
    let second = Server::with_turns(json!([
        { "when": { "turn": 1 }, "or_more": true, "answer": [{ "write_file": { "path": "done.txt", "content": "done\n" } }] },
        { "or_more": true, "answer": [{ "text": "Done." }] },
    ]));
    let agents = agent("codex", "codex", "gpt-5", &first)
        + &agent("claude", "claude", "claude-sonnet-4-5", &second)
        + "[composites.both]\nkind = \"fallback\"\nnodes = [\"codex\", \"claude\"]\n";
    let harness = harness(&agents);
    let added = [
        "task",
        "add",
        "--agent",
        "composite/profile/both",
        "Write done.txt",
    ];
    assert_eq!(run(&harness, &added).code, 0);
    let worker = run(&harness, &["worker", "--once"]);
    assert_eq!(worker.code, 0, "{}{}", worker.stdout, worker.stderr);
    let shown = json_of(run(&harness, &["task", "show", "1", "--json"]));
    assert_eq!(shown["task"]["status"], "completed", "{shown}");
    assert_eq!(shown["task"]["attempt"], 1, "{shown}");
    assert!(shown["proof"].is_object(), "{shown}");
    let diff = run(&harness, &["task", "diff", "1"]).stdout;
    for file in ["half.txt", "done.txt"] {
        assert!(diff.contains(file), "{file}: {diff}");
    }
    let prompts: Vec<String> = second
        .requests()
        .into_iter()
        .map(|call| call.prompt)
        .collect();
    let hand_over = prompts
        .iter()
        .find(|prompt| prompt.contains("## Hand-over"));
    let hand_over = hand_over.unwrap_or_else(|| unreachable!("no hand-over: {prompts:?}"));
    assert!(hand_over.contains("half.txt"), "{hand_over}");
}
