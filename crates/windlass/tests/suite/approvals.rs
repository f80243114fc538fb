//! Permission requests on the command line: listed with `approvals`, decided with `decide`.

use serde_json::{Value, json};

use super::cli_harness::Run;
use super::real_composite::harness;
use super::run::Server;
use super::task_harness::TaskHarness;

/// Returns a project with an agent that requests permission before it writes.
fn with_asking_agent(server: &Server) -> TaskHarness {
    harness(&format!(
        "[agents.careful]\nbackend = \"openai\"\nendpoint = \"{}/v1\"\nmodel = \"m\"\napi_key_env = \"KEY\"\n\
         permissions = \"ask\"\n",
        server.url()
    ))
}

/// Runs a worker until no task is left.
fn run_worker(harness: &TaskHarness) -> Run {
    let mut command = harness.command();
    Run::of(
        command
            .env("KEY", "not-a-real-key")
            .args(["worker", "--once"]),
    )
}

/// Waits for a permission request and returns the list.
fn wait_for_request(harness: &TaskHarness) -> Value {
    loop {
        let list = harness.json(&["approvals", "--json"]);
        if list != json!([]) {
            return list;
        }
        std::thread::yield_now();
    }
}

/// Checks that the request is listed without terminal control characters.
fn check_shown(harness: &TaskHarness) {
    let shown = harness.run(&["approvals"]).stdout;
    assert!(
        shown.starts_with("permission request 1 (task 1, attempt 1)\n"),
        "{shown}"
    );
    assert!(
        shown.contains("careful requests permission: fs_write\n"),
        "{shown}"
    );
    assert!(
        shown.contains("windlass decide 1 1  yes, once: Allow\n"),
        "{shown}"
    );
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
    let task = harness.run(&["task", "show", "1"]).stdout;
    assert!(task.contains("windlass approvals"), "{task}");
}

/// Checks that one of its options can be chosen, once.
fn check_decided(harness: &TaskHarness) {
    for wrong in ["0", "4", "maybe", "allow"] {
        let refused = harness.run(&["decide", "1", wrong]);
        assert_eq!(refused.code, 2, "{wrong}");
        assert!(
            refused.error().contains("does not offer"),
            "{}",
            refused.stderr
        );
    }
    assert_eq!(harness.run(&["decide", "7", "1"]).code, 2);
    let decided = harness.run(&["decide", "1", "allow_once"]);
    assert_eq!(
        (decided.code, decided.stdout.trim()),
        (0, "Allow: task 1 resumed")
    );
    let again = harness.run(&["decide", "1", "3"]);
    assert_eq!(again.code, 2);
    assert!(
        again.error().contains("already decided: allow_once"),
        "{}",
        again.stderr
    );
}

#[test]
fn p24_permission_request_is_shown_escaped_and_decided() {
    let server = Server::with_turns(json!([
        { "when": { "turn": 1 }, "answer": [{ "write_file": { "path": "done.txt", "content": "done\n\u{1b}[2Jx\u{202e}" } }] },
        { "or_more": true, "answer": [{ "text": "Done." }] },
    ]));
    let harness = with_asking_agent(&server);
    let none = harness.run(&["approvals"]);
    assert_eq!(
        (none.code, none.stdout.trim()),
        (0, "no permission requests")
    );
    harness.json(&["task", "add", "Do it", "--agent", "careful", "--json"]);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| run_worker(&harness));
        let list = wait_for_request(&harness);
        assert_eq!(list[0]["tool"], "fs_write", "{list}");

        check_shown(&harness);
        check_decided(&harness);
        let worker = worker.join().unwrap();
        assert!(
            worker
                .stderr
                .contains("needs input: run windlass approvals"),
            "{}",
            worker.stderr
        );
    });
    assert_eq!(harness.json(&["approvals", "--json"]), json!([]));
    let all = harness.json(&["approvals", "--all", "--json"]);
    assert_eq!(all[0]["decision"]["option"], "allow_once", "{all}");
    let log = harness.run(&["task", "log", "1"]).stdout;
    assert!(
        log.contains("permission request 1: fs_write, decided: allow_once"),
        "{log}"
    );
    // The trace names the agent by its configured name, not by its backend.
    let trace = harness.json(&["trace", "task-1-attempt-1", "--json"]);
    assert_eq!(trace["agent"], "careful", "{trace}");
    let steps = trace["children"].as_array().unwrap();
    let prompt = steps.iter().find(|step| step["name"] == "prompt").unwrap();
    assert_eq!(prompt["agent"], "careful", "{trace}");
    let all = harness.run(&["approvals", "--all"]).stdout;
    assert!(all.contains("decided: allow_once"), "{all}");
}

#[test]
fn approvals_of_another_project_are_not_listed() {
    let server = Server::with_turns(json!([
        { "when": { "turn": 1 }, "or_more": true, "answer": [{ "write_file": { "path": "done.txt", "content": "done\n" } }] },
        { "or_more": true, "answer": [{ "text": "Done." }] },
    ]));
    let harness = with_asking_agent(&server);
    harness.json(&["task", "add", "Do it", "--agent", "careful", "--json"]);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| run_worker(&harness));
        wait_for_request(&harness);
        let other = harness.path("other/.git");
        std::fs::create_dir_all(other).unwrap();
        let mut elsewhere = harness.command();
        let elsewhere = Run::of(
            elsewhere
                .current_dir(harness.path("other"))
                .arg("approvals"),
        );
        assert_eq!(
            elsewhere.stdout.trim(),
            "no permission requests",
            "{}",
            elsewhere.stderr
        );
        assert_eq!(harness.run(&["decide", "1", "3"]).code, 0);
        // The agent was denied, changes nothing, and the task is not completed.
        assert_ne!(worker.join().unwrap().code, 0);
    });
}
