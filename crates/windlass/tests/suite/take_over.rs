//! Take-over: a person works on a task's files and hands them back, and talks to its agent.

use serde_json::json;

use super::cli_harness::Run;
use super::task_harness::TaskHarness;

const EXPECTS_WORLD: &str = "[ \"$(sh greet.sh)\" = 'Hello, world!' ] && echo '1 passed, 0 failed'";

/// An agent that never gets it right.
const WRONG: &str = r#"{"turns": [
  {"when": {"turn": 1}, "or_more": true, "answer": [{"edit_file": {"path": "greet.sh", "old": "$1", "new": "${1:-World}"}}]},
  {"or_more": true, "answer": [{"text": "Done."}]}
]}"#;

/// Opens a task with this script as the shell.
fn open(harness: &TaskHarness, script: &str, args: &[&str]) -> Run {
    let shell = harness.path("shell.sh");
    std::fs::write(&shell, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&shell, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = harness.command();
    command.env("SHELL", &shell).env("USER", "ann");
    Run::of(command.args(["task", "open", "1"]).args(args))
}

fn blocked_task() -> TaskHarness {
    let harness = TaskHarness::new(EXPECTS_WORLD, WRONG);
    harness.json(&["task", "add", "Greet the world", "--json"]);
    assert_eq!(harness.run(&["worker", "--once"]).code, 3);
    harness
}

#[test]
fn edits_of_a_person_are_judged_and_complete_the_task() {
    let harness = blocked_task();
    // The person sees the change of the agent, and corrects it.
    let script = "grep -q World greet.sh && sed -i 's/World/world/' greet.sh";
    let run = open(&harness, script, &["--hand-back"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let shown = harness.json(&["task", "show", "1", "--json"]);
    assert_eq!(shown["task"]["status"], "completed", "{shown:#}");
    assert_eq!(shown["attempts"][1]["worker"], "ann");
    assert_eq!(shown["proof"]["exit_code"], 0);
    assert_eq!(harness.json(&["verify", "1", "--json"])["valid"], true);
    assert_eq!(
        harness.json(&["task", "merge", "1", "--json"])["status"],
        "merged"
    );
    assert!(harness.read("greet.sh").contains("${1:-world}"));
    assert_eq!(harness.processes(), Vec::<String>::new());
}

#[test]
fn wrong_edits_of_a_person_are_not_completed() {
    let harness = blocked_task();
    let run = open(
        &harness,
        "sed -i 's/World/Mars/' greet.sh",
        &["--hand-back"],
    );
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    let task = harness.json(&["task", "show", "1", "--json"]);
    assert_eq!(task["task"]["status"], "blocked");
    let diff = harness.run(&["task", "diff", "1"]).stdout;
    assert!(diff.contains("Mars"), "the change is kept: {diff}");
}

#[test]
fn person_goes_on_where_the_shell_was_left() {
    let harness = TaskHarness::new(EXPECTS_WORLD, WRONG);
    harness.json(&["task", "add", "Greet the world", "--json"]);
    let run = open(&harness, "sed -i 's/$1/${1:-world}/' greet.sh", &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("not handed back"), "{}", run.stdout);
    let task = &harness.json(&["task", "show", "1", "--json"])["task"];
    assert_eq!(
        (&task["status"], &task["paused"]),
        (&json!("pending"), &json!(true))
    );
    assert!(
        harness
            .run(&["worker", "--once"])
            .stdout
            .contains("nothing to do")
    );
    let run = open(
        &harness,
        "grep -q world greet.sh || rm greet.sh",
        &["--hand-back"],
    );
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let task = &harness.json(&["task", "show", "1", "--json"])["task"];
    assert_eq!(
        (&task["status"], &task["paused"]),
        (&json!("completed"), &json!(false))
    );
}

#[test]
fn looking_changes_nothing() {
    let harness = blocked_task();
    let before = harness.json(&["task", "show", "1", "--json"]);
    let run = open(&harness, "cat greet.sh; false", &["--hand-back"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("nothing was changed"), "{}", run.stdout);
    let after = harness.json(&["task", "show", "1", "--json"]);
    assert_eq!(before["task"]["status"], after["task"]["status"]);
    assert_eq!(before["attempts"], after["attempts"]);
    let run = open(&harness, "true", &["--agent"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("without --agent"), "{}", run.stderr);
}

#[test]
fn message_reaches_the_agent() {
    let script = r#"{"turns": [
      {"when": {"contains": "say world, not World"}, "or_more": true,
       "answer": [{"edit_file": {"path": "greet.sh", "old": "$1", "new": "${1:-world}"}}]},
      {"or_more": true, "answer": [{"text": "Done."}]}
    ]}"#;
    let harness = TaskHarness::new(EXPECTS_WORLD, script);
    harness.json(&["task", "add", "Greet the world", "--json"]);
    let sent = harness.json(&[
        "task",
        "attach",
        "1",
        "--message",
        "say world, not World",
        "--json",
    ]);
    assert_eq!(sent["attempt"], json!(null));
    assert_eq!(
        harness.json(&["worker", "--once", "--json"])["completed"],
        1
    );
    let log = harness.run(&["task", "log", "1"]).stdout;
    assert!(log.contains("say world, not World"), "{log}");
    let run = harness.run(&["task", "attach", "1", "-m", "too late"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("is completed"), "{}", run.stderr);
    // Following an ended task prints its log and ends.
    let followed = harness.run(&["task", "attach", "1"]);
    assert_eq!(followed.code, 0);
    assert!(followed.stdout.contains("completed"), "{}", followed.stdout);
}
