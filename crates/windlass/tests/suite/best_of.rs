//! Several agents do one task side by side, and the best change is kept.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_core::{Clock, SystemClock};

use super::task_harness::TaskHarness;

/// The test that decides: the greeting must be right.
const TEST: &str = "[ \"$(sh greet.sh)\" = 'Hello, world!' ] && echo '1 passed, 0 failed'";

const RIGHT: &str = r#"{"turns": [
  {"when": {"turn": 1}, "or_more": true, "answer": [{"edit_file": {"path": "greet.sh", "old": "$1", "new": "world"}}]},
  {"or_more": true, "answer": [{"text": "The world is greeted."}]}
]}"#;

/// Right, but with a longer change.
const LONG: &str = r#"{"turns": [
  {"when": {"turn": 1}, "or_more": true, "answer": [
    {"edit_file": {"path": "greet.sh", "old": "$1", "new": "world"}},
    {"write_file": {"path": "notes.txt", "content": "one\ntwo\nthree\n"}}]},
  {"or_more": true, "answer": [{"text": "The world is greeted, with notes."}]}
]}"#;

const WRONG: &str = r#"{"turns": [
  {"when": {"turn": 1}, "or_more": true, "answer": [{"edit_file": {"path": "greet.sh", "old": "$1", "new": "moon"}}]},
  {"or_more": true, "answer": [{"text": "The moon is greeted."}]}
]}"#;

/// A project with an agent for each of these scripts.
fn project(agents: &[(&str, &str)]) -> TaskHarness {
    let harness = TaskHarness::new(TEST, RIGHT);
    let file = harness.path("named.toml");
    let mut config = std::fs::read_to_string(&file).unwrap();
    for (name, script) in agents {
        let path = harness.path(&format!("{name}.json"));
        std::fs::write(&path, script).unwrap();
        config.push_str(&format!(
            "[agents.{name}]\nbackend = \"mock\"\nscript = {path:?}\n"
        ));
    }
    std::fs::write(&file, config).unwrap();
    harness
}

fn agents(shown: &Value) -> Vec<(&str, bool, bool)> {
    let rows = shown["candidates"].as_array().unwrap();
    let row = |row: &'_ Value| {
        let flag = |name: &str| row[name].as_bool().unwrap();
        (flag("chosen"), flag("proved"))
    };
    rows.iter()
        .map(|one| (one["agent"].as_str().unwrap(), row(one).0, row(one).1))
        .collect()
}

#[test]
fn right_candidate_wins_and_both_are_shown() {
    let harness = project(&[("wrong", WRONG), ("right", RIGHT)]);
    let added = harness.json(&[
        "task",
        "add",
        "Greet the world",
        "--agents",
        "wrong,right",
        "--best-of",
        "2",
        "--json",
    ]);
    assert_eq!(added["id"], 1);
    let worker = harness.run(&["worker", "--once"]);
    // One candidate asked a question, but the task is completed.
    assert_eq!(worker.code, 0, "{}{}", worker.stdout, worker.stderr);
    let shown = harness.json(&["task", "show", "1", "--json"]);
    assert_eq!(shown["task"]["status"], "completed", "{shown}");
    assert_eq!(shown["task"]["agent"], "right");
    assert_eq!(
        agents(&shown),
        [("wrong", false, false), ("right", true, true)]
    );
    assert_eq!(shown["proof"]["exit_code"], 0);
    let winner = harness.json(&["task", "show", "3", "--json"]);
    assert_eq!(shown["task"]["branch"], winner["task"]["branch"]);
    assert_eq!(
        shown["attempts"][0]["commit"],
        winner["attempts"][0]["commit"]
    );
    // The question of the loser is settled, and nothing waits for a person.
    let loser = harness.json(&["task", "show", "2", "--json"]);
    assert_eq!(loser["task"]["status"], "cancelled");
    // The result is an ordinary proved task.
    assert_eq!(harness.json(&["verify", "1", "--json"])["valid"], true);
    let diff = harness.run(&["task", "diff", "1"]);
    assert!(
        diff.stdout.contains("+echo \"Hello, world!\""),
        "{}",
        diff.stdout
    );
    assert_eq!(
        harness.json(&["task", "merge", "1", "--json"])["status"],
        "merged"
    );
    let text = harness.run(&["task", "show", "1"]).stdout;
    let head = text.lines().find(|line| line.contains("outcome")).unwrap();
    assert!(
        head.contains("warnings") && head.contains("lines"),
        "{text}"
    );
    assert!(text.contains("chosen"), "{text}");
    assert_eq!(harness.processes(), Vec::<String>::new());
}

#[test]
fn smaller_change_wins_among_proved_ones() {
    let harness = project(&[("long", LONG), ("right", RIGHT)]);
    harness.json(&["task", "add", "Greet", "--agents", "long,right", "--json"]);
    assert_eq!(harness.run(&["worker", "--once"]).code, 0);
    let shown = harness.json(&["task", "show", "1", "--json"]);
    assert_eq!(
        agents(&shown),
        [("long", false, true), ("right", true, true)]
    );
    let lines = |at: usize| shown["candidates"][at]["lines"].as_u64().unwrap();
    assert_eq!((lines(0), lines(1)), (5, 2));
}

#[test]
fn both_wrong_fails_with_both_reasons_and_can_be_retried() {
    let harness = project(&[("wrong", WRONG), ("worse", WRONG)]);
    harness.json(&["task", "add", "Greet", "--agents", "wrong,worse", "--json"]);
    let worker = harness.run(&["worker", "--once"]);
    assert_eq!(worker.code, 1, "{}", worker.stderr);
    let shown = harness.json(&["task", "show", "1", "--json"]);
    assert_eq!(shown["task"]["status"], "failed");
    let why = shown["task"]["output"].as_str().unwrap();
    assert!(why.contains("no candidate passed"), "{why}");
    assert!(
        why.contains("wrong (task 2)") && why.contains("worse (task 3)"),
        "{why}"
    );
    assert_eq!(
        harness.json(&["blockers", "--json"]),
        json!([]),
        "no person is asked"
    );
    std::fs::write(harness.path("worse.json"), RIGHT).unwrap();
    harness.json(&["task", "retry", "1", "--fresh", "--json"]);
    harness.run(&["worker", "--once"]);
    let shown = harness.json(&["task", "show", "1", "--json"]);
    assert_eq!(shown["task"]["status"], "completed", "{shown}");
    assert_eq!(shown["task"]["agent"], "worse");
}

/// A judge that answers after a while, if it is asked to choose.
fn judge(winner: u32, wait_ms: u32) -> String {
    let answer = json!({ "winner": winner, "reason": "It has notes." }).to_string();
    json!({ "turns": [{ "or_more": true, "answer": [{ "wait_ms": wait_ms }, { "text": answer }] }] })
        .to_string()
}

#[test]
fn worker_killed_during_the_choice_loses_nothing() {
    let slow = judge(2, 60_000);
    let harness = project(&[("long", LONG), ("right", RIGHT), ("judge", &slow)]);
    harness.lease(3);
    harness.json(&[
        "task",
        "add",
        "Greet",
        "--agents",
        "long,right",
        "--judge",
        "judge",
        "--rubric",
        "notes",
        "--json",
    ]);
    let mut worker = harness.worker();
    let (clock, limit) = (SystemClock::new(), Duration::from_secs(240));
    loop {
        let shown = harness.json(&["task", "show", "1", "--json"]);
        if shown["task"]["status"] == "in_progress" {
            break;
        }
        assert!(clock.elapsed() < limit, "{shown}");
    }
    worker.kill().unwrap();
    worker.wait().unwrap();
    let shown = harness.json(&["task", "show", "1", "--json"]);
    assert_eq!(shown["task"]["branch"], Value::Null, "nothing was chosen");
    std::fs::write(harness.path("judge.json"), judge(2, 1)).unwrap();
    let mut worker = harness.worker();
    loop {
        let shown = harness.json(&["task", "show", "1", "--json"]);
        if shown["task"]["status"] == "completed" {
            assert_eq!(
                agents(&shown),
                [("long", true, true), ("right", false, true)]
            );
            let why = shown["task"]["output"].as_str().unwrap();
            assert!(why.contains("judge chose it: It has notes."), "{why}");
            break;
        }
        assert!(clock.elapsed() < limit, "{shown}");
    }
    worker.kill().unwrap();
    worker.wait().unwrap();
}

#[test]
fn flags_that_make_no_choice_are_refused() {
    let harness = project(&[]);
    for flags in [
        &["--best-of", "1"][..],
        &["--best-of", "9"],
        &["--agents", "a,b,c", "--best-of", "2"],
        &["--first"],
        &["--rubric", "x"],
        &["--agents", "a,b", "--agent", "c"],
    ] {
        let args = [&["task", "add", "x"], flags].concat();
        let run = harness.run(&args);
        assert_eq!(run.code, 2, "{flags:?}: {}", run.stdout);
    }
    assert_eq!(harness.json(&["task", "list", "--json"]), json!([]));
}
