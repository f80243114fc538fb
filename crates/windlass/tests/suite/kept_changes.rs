//! The change of every attempt is kept, and `task diff` shows it, whatever the outcome.

use std::path::PathBuf;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::task_harness::{INSTANT, TaskHarness};

/// Writes a file, then takes a minute.
const SLOW: &str = r#"{"turns": [
  {"answer": [{"write_file": {"path": "done.txt", "content": "first\n"}}]},
  {"answer": [{"wait_ms": 60000}, {"text": "Done."}]},
  {"or_more": true, "answer": [{"text": "Done."}]}
]}"#;

/// Writes a file, then the provider rejects every request.
const REJECTED: &str = r#"{"turns": [
  {"answer": [{"write_file": {"path": "done.txt", "content": "first\n"}}]},
  {"or_more": true, "fault": {"status": {"code": 401, "message": "bad key"}}}
]}"#;

fn harness(test: &str, script: &str) -> TaskHarness {
    let harness = TaskHarness::new(test, script);
    harness.json(&["task", "add", "Do it", "--attempts", "1", "--json"]);
    harness
}

#[track_caller]
fn assert_kept(harness: &TaskHarness, status: &str, attempt: u32) -> Value {
    let run = harness.run(&["task", "diff", "1"]);
    assert!(
        run.stdout.contains("+first"),
        "{}{}",
        run.stdout,
        run.stderr
    );
    let number = attempt.to_string();
    let one = harness.run(&["task", "diff", "1", "--attempt", &number]);
    assert_eq!(one.stdout, run.stdout);
    let shown = harness.json(&["task", "show", "1", "--json"]);
    assert_eq!(shown["task"]["status"], status, "{shown}");
    let commit = &shown["attempts"][attempt as usize - 1]["commit"];
    let name = format!("refs/windlass/*/task-1/attempt-{attempt}");
    let refs = harness.git(&["for-each-ref", "--format=%(objectname)", &name]);
    assert_eq!(json!(refs.trim()), *commit);
    assert_eq!(harness.git(&["status", "--porcelain"]), "");
    shown
}

fn log(harness: &TaskHarness) -> String {
    harness.run(&["task", "log", "1"]).stdout
}

/// Waits until the agent has written its file in the clone.
fn wait_for_change(harness: &TaskHarness) {
    while harness
        .clone_files("task-1-attempt-1", "done.txt")
        .is_empty()
    {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[test]
fn p29_change_is_kept_after_blocked_and_continued_after_the_answer() {
    let script = INSTANT.replace("done\\n", "first\\n");
    let harness = harness("grep -q second done.txt", &script);
    harness.run(&["worker", "--once"]);
    assert_kept(&harness, "blocked", 1);

    // The next attempt continues, and does nothing but add a line.
    let more = r#"{"turns": [
      {"answer": [{"edit_file": {"path": "done.txt", "old": "first", "new": "first\nsecond"}}]},
      {"or_more": true, "answer": [{"text": "Done."}]}
    ]}"#;
    std::fs::write(harness.path("script.json"), more).unwrap();
    let id = harness.json(&["blockers", "--json"])[0]["id"].to_string();
    harness.json(&["answer", &id, "add a second line", "--json"]);
    let worker = harness.run(&["worker", "--once"]);
    assert_eq!(worker.code, 0, "{}{}", worker.stderr, log(&harness));
    let log = log(&harness);
    assert!(
        log.contains("starting from the change of attempt 1"),
        "{log}"
    );
    let shown = harness.json(&["task", "show", "1", "--json"]);
    let base = harness.git(&["rev-parse", "HEAD"]);
    assert_eq!(shown["proof"]["base"], base.trim(), "judged from the base");
    assert_eq!(shown["attempts"][1]["commit"], shown["proof"]["commit"]);
    let diff = harness.run(&["task", "diff", "1"]).stdout;
    assert!(
        diff.contains("+first") && diff.contains("+second"),
        "{diff}"
    );
    let first = harness.run(&["task", "diff", "1", "--attempt", "1"]).stdout;
    assert!(!first.contains("+second"), "{first}");
    let missing = harness.run(&["task", "diff", "1", "--attempt", "3"]);
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    assert!(
        missing.stderr.contains("task 1 has no attempt 3"),
        "{}",
        missing.stderr
    );
}

#[test]
fn p29_change_is_kept_after_failure_and_left_out_by_a_fresh_retry() {
    let harness = harness("test -f other.txt", REJECTED);
    harness.run(&["worker", "--once"]);
    let shown = assert_kept(&harness, "failed", 1);
    assert_eq!(shown["attempts"][0]["outcome"], "failed", "{shown}");

    let other = INSTANT.replace("done.txt", "other.txt");
    std::fs::write(harness.path("script.json"), other).unwrap();
    let task = harness.json(&["task", "retry", "1", "--fresh", "--json"]);
    assert_eq!(task["fresh"], true, "{task}");
    assert_eq!(harness.run(&["worker", "--once"]).code, 0);
    let diff = harness.run(&["task", "diff", "1"]).stdout;
    assert!(
        diff.contains("other.txt") && !diff.contains("done.txt"),
        "{diff}"
    );
    let earlier = harness.run(&["task", "diff", "1", "--attempt", "1"]);
    assert!(earlier.stdout.contains("+first"), "{}", earlier.stderr);
}

#[test]
fn p29_change_is_kept_after_timeout() {
    let harness = harness("true", SLOW);
    let config = std::fs::read_to_string(harness.path("named.toml")).unwrap();
    let config = config.replace("[store]", "timeout_secs = 2\n[store]");
    std::fs::write(harness.path("named.toml"), config).unwrap();
    harness.run(&["worker", "--once"]);
    assert_kept(&harness, "failed", 1);
}

#[test]
fn p29_change_is_kept_after_cancel() {
    let harness = harness("true", SLOW);
    let mut worker = harness.worker_with(&["--once"]);
    wait_for_change(&harness);
    harness.json(&["task", "cancel", "1", "--json"]);
    worker.wait().unwrap();
    assert_kept(&harness, "cancelled", 1);
}

#[test]
fn p29_change_is_found_after_sigkill_of_the_worker() {
    let harness = harness("true", SLOW);
    let mut worker = harness.worker_with(&["--once"]);
    wait_for_change(&harness);
    signal(&worker, Signal::KILL);
    worker.wait().unwrap();
    // At once: nothing has reclaimed the task yet.
    assert_kept(&harness, "in_progress", 1);
    assert_eq!(harness.processes(), Vec::<String>::new());
}

#[test]
fn p29_two_stores_for_one_repository_do_not_share_names() {
    let harness = harness("true", INSTANT);
    assert_eq!(harness.run(&["worker", "--once"]).code, 0);
    let branch = |harness: &TaskHarness| {
        let shown = harness.json(&["task", "show", "1", "--json"]);
        shown["task"]["branch"].as_str().unwrap().to_owned()
    };
    let first = branch(&harness);
    let second_store: PathBuf = harness.path("second.db");
    harness.configure(&format!("sqlite:{}", second_store.display()), "true");
    harness.json(&["task", "add", "Do it", "--json"]);
    assert_eq!(harness.run(&["worker", "--once"]).code, 0);
    let second = branch(&harness);
    assert_ne!(first, second);
    let branches = harness.git(&["branch", "--format=%(refname:short)"]);
    for name in [&first, &second] {
        assert!(
            branches.lines().any(|line| line == name),
            "{name}: {branches}"
        );
    }
    let refs = harness.git(&["for-each-ref", "refs/windlass/*/task-1/attempt-1"]);
    assert_eq!(refs.lines().count(), 2, "{refs}");
}

#[test]
fn unwritable_refs_are_one_sentence_and_the_task_still_ends() {
    let harness = harness("test -f other.txt", REJECTED);
    // A directory cannot be created where a file is.
    let refs = harness.project().join(".git/refs/windlass");
    std::fs::write(&refs, "").unwrap();
    harness.run(&["worker", "--once"]);
    let shown = harness.json(&["task", "show", "1", "--json"]);
    assert_eq!(shown["task"]["status"], "failed", "{shown}");
    let log = log(&harness);
    let lines = log
        .lines()
        .filter(|line| line.contains("the change is not kept yet"));
    assert_eq!(lines.count(), 1, "{log}");
    std::fs::remove_file(refs).unwrap();
    assert_kept(&harness, "failed", 1);
}
