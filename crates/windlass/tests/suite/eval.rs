//! `windlass eval`: agents do the same tasks, and the proofs decide.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use super::output_schema;
use super::task_harness::{INSTANT, TaskHarness};

/// An agent that changes nothing of use.
const WRONG: &str = r#"{"turns": [
  {"when": {"turn": 1}, "or_more": true, "answer": [{"write_file": {"path": "other.txt", "content": "done\n"}}]},
  {"or_more": true, "answer": [{"text": "Done."}]}
]}"#;

/// An agent that is right, but takes its time.
const SLOW: &str = r#"{"turns": [
  {"when": {"turn": 1}, "or_more": true, "delay_ms": 1500, "answer": [{"write_file": {"path": "done.txt", "content": "done\n"}}]},
  {"or_more": true, "answer": [{"text": "Done."}]}
]}"#;

/// A harness with an agent for each of these scripts.
fn harness(agents: &[(&str, &str)]) -> TaskHarness {
    let harness = TaskHarness::new("true", INSTANT);
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

/// A file with this many tasks: each wants the file `done.txt`.
pub(crate) fn suite(agents: &str, tasks: usize, repeats: u32) -> String {
    let mut text = format!("agents = [{agents}]\nrepeats = {repeats}\n");
    for number in 1..=tasks {
        text.push_str(&format!(
            "[[tasks]]\nname = \"write-{number}\"\ntitle = \"Write done.txt for number {number}\"\n\
             tests = [\"sh\", \"test.sh\"]\n[tasks.files]\n\
             \"test.sh\" = \"test -f done.txt && echo '1 passed, 0 failed' || {{ echo '0 passed, 1 failed'; exit 1; }}\\n\"\n"
        ));
    }
    text
}

/// Returns the passed, done and total results of each agent.
pub(crate) fn totals(report: &Value) -> BTreeMap<String, [u64; 3]> {
    let agents = report["agents"].as_array().unwrap().iter();
    let total = |agent: &Value| {
        let numbers = ["passed", "done", "total"].map(|key| agent[key].as_u64().unwrap());
        (agent["agent"].as_str().unwrap().to_owned(), numbers)
    };
    agents.map(total).collect()
}

#[test]
fn agents_are_compared_by_their_proofs() {
    let harness = harness(&[("right", INSTANT), ("wrong", WRONG)]);
    harness.file("eval.toml", &suite("\"wrong\", \"right\"", 2, 2));
    let report = harness.json(&["eval", "eval.toml", "--json"]);
    output_schema::check("eval", &report);
    let expected = [("right", [4, 4, 4]), ("wrong", [0, 4, 4])];
    let expected = expected.map(|(name, totals)| (name.to_owned(), totals));
    assert_eq!(totals(&report), BTreeMap::from(expected), "{report:#}");
    // The best one is first, and the cost of a mock is unknown, not zero.
    assert_eq!(report["agents"][0]["agent"], "right");
    assert_eq!(report["agents"][0]["pass_rate"], 1.0);
    assert_eq!(report["agents"][0]["cost_usd"], Value::Null);
    let wrong = report["results"].as_array().unwrap().iter();
    let mut wrong = wrong.filter(|result| result["agent"] == "wrong");
    assert!(wrong.all(|result| result["reason"].as_str().unwrap().starts_with("blocked")));

    let text = harness.run(&["eval", "eval.toml", "--report"]);
    assert!(text.stdout.contains("4 of 4"), "{}", text.stdout);
    assert!(text.stdout.contains("0 of 2"), "{}", text.stdout);
    // Nothing of it is in the project.
    assert_eq!(harness.git(&["status", "--porcelain"]), "?? eval.toml\n");
    assert_eq!(
        harness.json(&["task", "list", "--json"]),
        serde_json::json!([])
    );
}

#[test]
fn killed_evaluation_continues_where_it_stopped() {
    let harness = harness(&[("slow", SLOW)]);
    harness.lease(8);
    harness.file("eval.toml", &suite("\"slow\"", 3, 2));
    let mut first = harness
        .child(&["eval", "eval.toml", "--concurrency", "1"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stderr = BufReader::new(first.stderr.take().unwrap());
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("completed"), "{line}");
    let busy = harness.run(&["eval", "eval.toml"]);
    assert_eq!(busy.code, 2, "{}", busy.stderr);
    assert!(busy.stderr.contains("another process"), "{}", busy.stderr);
    first.kill().unwrap();
    first.wait().unwrap();
    let before = harness.json(&["eval", "eval.toml", "--report", "--json"]);
    let before = totals(&before)["slow"][1];
    assert!((1..6).contains(&before), "{before} results before the kill");

    let report = harness.json(&["eval", "eval.toml", "--json"]);
    assert_eq!(totals(&report)["slow"], [6, 6, 6], "{report:#}");
    // A further run has nothing to do; a restart does it again.
    let again = harness.run(&["eval", "eval.toml", "--json"]);
    assert_eq!(again.stderr, "");
    assert_eq!(
        serde_json::from_str::<Value>(&again.stdout).unwrap(),
        report
    );
    let restarted = harness.json(&["eval", "eval.toml", "--restart", "--repeats", "1", "--json"]);
    assert_eq!(totals(&restarted)["slow"], [3, 3, 3]);
}

#[test]
fn past_commits_become_tasks() {
    let right = r#"{"turns": [
      {"when": {"turn": 1}, "or_more": true, "answer": [{"edit_file": {"path": "greet.sh", "old": "$1", "new": "${1:-world}"}}]},
      {"or_more": true, "answer": [{"text": "Done."}]}
    ]}"#;
    let harness = harness(&[("right", right), ("wrong", WRONG)]);
    let config = std::fs::read_to_string(harness.path("named.toml")).unwrap();
    let config = config.replace(
        "\"true\"",
        "\"for test in tests/*.sh; do sh $test || exit 1; done; echo 1 passed, 0 failed\"",
    );
    std::fs::write(harness.path("named.toml"), config).unwrap();
    std::fs::create_dir(harness.project().join("tests")).unwrap();
    harness.file(
        "tests/name.sh",
        "test \"$(sh greet.sh Ada)\" = 'Hello, Ada!'\n",
    );
    harness.git(&["add", "-A"]);
    harness.git(&["commit", "-q", "-m", "Test the name, which works already"]);
    harness.file("greet.sh", "echo \"Hello, ${1:-world}!\"\n");
    harness.file(
        "tests/world.sh",
        "test \"$(sh greet.sh)\" = 'Hello, world!'\n",
    );
    harness.git(&["add", "-A"]);
    harness.git(&[
        "commit",
        "-q",
        "-m",
        "Greet the world",
        "-m",
        "Without a name, greet the world.",
    ]);
    harness.file("greet.sh", "# Greets.\necho \"Hello, ${1:-world}!\"\n");
    harness.file(
        "tests/name.sh",
        "# A name.\ntest \"$(sh greet.sh Ada)\" = 'Hello, Ada!'\n",
    );
    harness.git(&["add", "-A"]);
    harness.git(&["commit", "-q", "-m", "Comment, which no test needs"]);

    let made = harness.run(&[
        "eval",
        "from-history",
        "--agent",
        "right",
        "--agent",
        "wrong",
    ]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert!(
        made.stderr.contains("do not fail without it"),
        "{}",
        made.stderr
    );
    assert_eq!(
        made.stdout.matches("[[tasks]]").count(),
        1,
        "{}",
        made.stdout
    );
    assert!(made.stdout.contains("Greet the world"), "{}", made.stdout);

    std::fs::write(harness.path("eval.toml"), made.stdout).unwrap();
    let file = harness.path("eval.toml");
    let report = harness.json(&["eval", file.to_str().unwrap(), "--repeats", "1", "--json"]);
    assert_eq!(totals(&report)["right"], [1, 1, 1], "{report:#}");
    assert_eq!(totals(&report)["wrong"], [0, 1, 1], "{report:#}");
    // The agent's repository has no history that contains the solution.
    let of_file = only_dir(&harness.home().join(".local/state/windlass/eval"));
    let repository = only_dir(&only_dir(&of_file.join("repositories")));
    let path = repository.to_str().unwrap();
    assert_eq!(
        harness.git(&["-C", path, "log", "--format=%s", "main"]),
        "Begin\n"
    );
    assert_eq!(
        harness.git(&["-C", path, "show", "main:greet.sh"]),
        "echo \"Hello, $1!\"\n"
    );
    assert!(!repository.join(".git/objects/info/alternates").exists());
}

/// Returns the only subdirectory.
fn only_dir(dir: &Path) -> PathBuf {
    let entries = std::fs::read_dir(dir).unwrap().flatten();
    let dirs: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    assert_eq!(dirs.len(), 1, "{dirs:?}");
    dirs.into_iter().next().unwrap()
}

#[test]
fn mistakes_are_named() {
    let harness = harness(&[]);
    harness.file("eval.toml", &suite("", 1, 1));
    for (args, expected) in [
        (vec!["eval", "eval.toml"], "no agent to evaluate"),
        (vec!["eval", "eval.toml", "-a", "missing"], "missing"),
        (vec!["eval", "missing.toml", "-a", "player"], "missing.toml"),
        (
            vec!["eval", "eval.toml", "-a", "player", "-a", "player"],
            "listed twice",
        ),
    ] {
        let run = harness.run(&args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{args:?}: {}", run.stderr);
    }
}
