//! Tasks that build on the changes of other tasks, on the command line.

use serde_json::{Value, json};

use super::task_harness::TaskHarness;

const PASSES: &str = "echo '1 passed, 0 failed'";

/// A script that does this for the task with each title.
fn script(turns: &[(&str, Value)]) -> String {
    let mut turns: Vec<Value> = turns
        .iter()
        .map(|(title, answer)| {
            let when = json!({"contains": format!("# Task: {title}")});
            json!({"when": when, "or_more": true, "answer": [answer]})
        })
        .collect();
    turns.push(json!({"or_more": true, "answer": [{"text": "Done."}]}));
    json!({ "turns": turns }).to_string()
}

fn shell(command: &str) -> Value {
    json!({"shell": {"command": command}})
}

#[track_caller]
fn add(harness: &TaskHarness, title: &str, flags: &[&str]) {
    let args = [&["task", "add", title, "--json"], flags].concat();
    harness.json(&args);
}

fn show(harness: &TaskHarness, task: &str) -> Value {
    harness.json(&["task", "show", task, "--json"])
}

fn parts(record: &Value) -> Vec<i64> {
    let parts = record["base_parts"].as_array().cloned().unwrap_or_default();
    parts
        .iter()
        .filter_map(|part| part["task"].as_i64())
        .collect()
}

#[test]
fn p31_every_task_of_a_diamond_sees_the_changes_that_it_depends_on() {
    let turns = [
        ("Top", shell("echo top > top.txt")),
        ("Left", shell("cat top.txt > left.txt")),
        ("Right", shell("cat top.txt > right.txt")),
        ("Bottom", shell("cat left.txt right.txt > bottom.txt")),
    ];
    let harness = TaskHarness::new(PASSES, &script(&turns));
    add(&harness, "Top", &[]);
    add(&harness, "Left", &["--after", "1"]);
    add(&harness, "Right", &["--after", "1"]);
    add(&harness, "Bottom", &["--after", "2", "--after", "3"]);
    let main = harness.git(&["rev-parse", "main"]);
    let worker = harness.json(&["worker", "--once", "--json"]);
    assert_eq!(worker["completed"], 4, "{worker}");
    assert_eq!(harness.git(&["rev-parse", "main"]), main);
    assert_eq!(harness.git(&["status", "--porcelain"]), "");

    let bottom = show(&harness, "4");
    let branch = bottom["task"]["branch"].as_str().unwrap();
    let file = harness.git(&["show", &format!("{branch}:bottom.txt")]);
    assert_eq!(file, "top\ntop\n");
    assert_eq!(parts(&bottom["proof"]), [1, 2, 3], "{bottom}");
    assert_eq!(bottom["attempts"][0]["base"], bottom["proof"]["base"]);
    assert_eq!(parts(&bottom["attempts"][0]), [1, 2, 3]);
    let diff = harness.run(&["task", "diff", "4"]).stdout;
    assert!(
        diff.contains("bottom.txt") && !diff.contains("left.txt"),
        "{diff}"
    );
    let text = harness.run(&["task", "show", "4"]).stdout;
    assert!(text.contains("with task 1 ("), "{text}");
    assert_eq!(harness.json(&["verify", "4", "--json"])["valid"], true);
    let statement = harness.run(&["proof", "4", "--in-toto"]).stdout;
    assert!(statement.contains("\"task-3\""), "{statement}");
}

#[test]
fn dependencies_are_not_merged_without_being_named() {
    let turns = [
        ("Top", shell("echo top > top.txt")),
        ("Left", shell("cat top.txt > left.txt")),
    ];
    let harness = TaskHarness::new(PASSES, &script(&turns));
    add(&harness, "Top", &[]);
    add(&harness, "Left", &["--after", "1"]);
    assert_eq!(harness.run(&["worker", "--once"]).code, 0);
    let main = harness.git(&["rev-parse", "main"]);
    for flags in [&["--dry-run"][..], &[]] {
        let args = [&["task", "merge", "2"], flags].concat();
        let refused = harness.run(&args);
        assert_eq!(refused.code, 3, "{}{}", refused.stdout, refused.stderr);
        let why = "tasks that have not landed (1)";
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
        assert_eq!(harness.git(&["rev-parse", "main"]), main);
    }
    let merged = harness.json(&["task", "merge", "2", "--with-dependencies", "--json"]);
    assert_eq!(merged["status"], "merged", "{merged}");
    assert_eq!(harness.read("left.txt"), "top\n");

    // After its dependency, a task is merged as it is.
    harness.git(&["reset", "-q", "--hard", main.trim()]);
    assert_eq!(
        harness.json(&["task", "merge", "1", "--json"])["status"],
        "merged"
    );
    assert_eq!(
        harness.json(&["task", "merge", "2", "--json"])["status"],
        "merged"
    );
}

#[test]
fn question_of_a_dependant_without_work_says_what_its_base_has() {
    let turns = [
        ("Top", shell("echo top > top.txt")),
        ("Again", shell("echo top > top.txt")),
    ];
    let harness = TaskHarness::new(PASSES, &script(&turns));
    add(&harness, "Top", &[]);
    add(&harness, "Again", &["--after", "1"]);
    assert_eq!(harness.run(&["worker", "--once"]).code, 3);
    let blockers = harness.json(&["blockers", "--json"]);
    let question = blockers[0]["question"].as_str().unwrap();
    for part in ["that it depends on (1)", "windlass task cancel 2"] {
        assert!(question.contains(part), "{part}: {question}");
    }
}

/// Two tasks that write the same file, and one that needs both.
fn conflicting() -> TaskHarness {
    let turns = [
        ("One", shell("echo one > notes.txt")),
        ("Two", shell("echo two > notes.txt")),
        ("Both", shell("cat notes.txt > both.txt")),
        (
            "Merge the changes of tasks 1 and 2",
            shell("printf 'one\\ntwo\\n' > notes.txt"),
        ),
    ];
    let harness = TaskHarness::new(PASSES, &script(&turns));
    add(&harness, "One", &["--kind", "test"]);
    add(&harness, "Two", &[]);
    add(&harness, "Both", &["--after", "1", "--after", "2"]);
    harness
}

#[test]
fn p31_conflict_is_merged_by_an_agent_and_a_replaced_change_makes_dependants_outdated() {
    let harness = conflicting();
    let worker = harness.json(&["worker", "--once", "--json"]);
    assert_eq!(worker["completed"], 4, "{worker}");
    let both = show(&harness, "3");
    assert_eq!(both["task"]["dependencies"], json!([4]));
    assert_eq!(parts(&both["proof"]), [1, 2, 4]);
    let branch = both["task"]["branch"].as_str().unwrap();
    let file = harness.git(&["show", &format!("{branch}:both.txt")]);
    assert_eq!(file, "one\ntwo\n");
    let merge = show(&harness, "4");
    assert_eq!(merge["task"]["merges"], true);
    let description = merge["task"]["description"].as_str().unwrap();
    assert!(
        description.contains("notes.txt") && description.contains("=======\ntwo"),
        "{description}"
    );

    // A new change of the first task.
    harness.json(&["task", "retry", "1", "--json"]);
    let worker = harness.json(&["worker", "--once", "--kind", "test", "--json"]);
    assert_eq!(worker["completed"], 1, "{worker}");
    for id in ["3", "4"] {
        let task = show(&harness, id)["task"].clone();
        assert_eq!(
            (&task["status"], &task["outdated"]),
            (&json!("pending"), &json!(true))
        );
    }
    let listed = harness.run(&["task", "list"]).stdout;
    assert!(listed.contains("pending (outdated)"), "{listed}");
    let merged = harness.run(&["task", "merge", "3"]);
    assert_eq!(merged.code, 2, "{}", merged.stderr);
    assert!(merged.stderr.contains("outdated"), "{}", merged.stderr);

    let worker = harness.json(&["worker", "--once", "--json"]);
    assert_eq!(worker["completed"], 2, "{worker}");
    let first = show(&harness, "1")["proof"]["commit"].clone();
    let both = show(&harness, "3");
    assert_eq!(both["task"]["outdated"], false);
    assert_eq!(both["proof"]["base_parts"][0]["commit"], first);
    // No agent was needed: the changes were applied and tested.
    let log = harness.run(&["task", "log", "3", "--json"]).stdout;
    let by_agent = |line: &&str| line.contains("\"agent_event\"") && line.contains("\"attempt\":3");
    assert_eq!(log.lines().filter(by_agent).count(), 0, "{log}");
    assert_eq!(harness.json(&["verify", "3", "--json"])["valid"], true);
}

#[test]
fn person_is_asked_about_a_conflict_with_both_sides() {
    let harness = conflicting();
    let file = harness.path("named.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{config}[tasks]\nconflicts = \"ask\"\n")).unwrap();
    assert_eq!(harness.run(&["worker", "--once"]).code, 3);
    let blockers = harness.json(&["blockers", "--json"]);
    let question = blockers[0]["question"].as_str().unwrap();
    assert!(
        question.starts_with("The changes of tasks 1 and 2 conflict.")
            && question.contains("<<<<<<<\none\n=======\ntwo\n>>>>>>>"),
        "{question}"
    );
    let id = blockers[0]["id"].to_string();
    harness.json(&["answer", &id, "keep both lines", "--json"]);
    let worker = harness.json(&["worker", "--once", "--json"]);
    assert_eq!(worker["completed"], 2, "{worker}");
    let merge = show(&harness, "4");
    let description = merge["task"]["description"].as_str().unwrap();
    assert!(
        description.contains("A person decided: keep both lines"),
        "{description}"
    );
    assert_eq!(show(&harness, "3")["task"]["status"], "completed");
}
