//! Steering on the command line: edit, pause, cancel all, the note of a project, plans, imports and schedules.

use serde_json::{Value, json};

use super::cli_harness::Run;
use super::task_harness::{INSTANT, TaskHarness};

/// A title of 200 characters with a control sequence, which no output may contain.
fn hostile_title() -> String {
    format!("\u{1b}[31m{}\u{202e}", "x".repeat(200))
}

/// Runs the program with this script as the editor: `$1` is the file.
fn with_editor(harness: &TaskHarness, script: &str, args: &[&str]) -> Run {
    let editor = harness.path("editor.sh");
    std::fs::write(&editor, script).unwrap();
    let editor = format!("sh '{}'", editor.display());
    Run::of(harness.command().env("EDITOR", editor).args(args))
}

#[track_caller]
fn refused(run: &Run, wanted: &str) {
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains(wanted), "{}", run.stderr);
}

#[test]
fn task_is_edited_with_flags() {
    let harness = TaskHarness::new("true", INSTANT);
    harness.json(&["task", "add", "first", "--json"]);
    harness.json(&["task", "add", "second", "--json"]);
    let edited = harness.json(&[
        "task",
        "edit",
        "2",
        "--title",
        &hostile_title(),
        "--priority",
        "0",
        "--agent",
        "player",
        "--depends-on",
        "1",
        "--json",
    ]);
    assert_eq!(edited["title"], hostile_title());
    assert_eq!(
        (&edited["priority"], &edited["dependencies"]),
        (&json!(0), &json!([1]))
    );
    let shown = harness.run(&["task", "list"]);
    assert!(
        !shown.stdout.contains(['\u{1b}', '\u{202e}']),
        "{}",
        shown.stdout
    );
    refused(
        &harness.run(&["task", "edit", "1", "--depends-on", "2"]),
        "cannot depend on",
    );
    refused(
        &harness.run(&["task", "edit", "1", "--depends-on", "1"]),
        "cannot depend on itself",
    );
    refused(
        &harness.run(&["task", "edit", "9", "--title", "x"]),
        "there is no task 9",
    );
}

#[test]
fn task_is_edited_in_the_editor() {
    let harness = TaskHarness::new("true", INSTANT);
    harness.json(&["task", "add", "first", "--json"]);
    let title = hostile_title();
    let add = [
        "task",
        "add",
        &title,
        "--priority",
        "0",
        "--agent",
        "player",
    ];
    harness.json(&[&add[..], &["--after", "1", "--json"]].concat());
    // The editor changes one field, and keeps the hostile title.
    let script =
        "sed -i 's/^priority = 0/priority = 3/; s/^depends_on = .*/depends_on = []/' \"$1\"";
    let run = with_editor(&harness, script, &["task", "edit", "2"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let task = &harness.json(&["task", "show", "2", "--json"])["task"];
    assert_eq!(
        (&task["priority"], &task["title"]),
        (&json!(3), &json!(hostile_title()))
    );
    assert_eq!(
        (&task["dependencies"], &task["agent"]),
        (&json!([]), &json!("player"))
    );

    let run = with_editor(&harness, "true", &["task", "edit", "2"]);
    assert!(run.stderr.contains("not changed"), "{}", run.stderr);
    let run = with_editor(
        &harness,
        "echo 'title = 7' > \"$1\"",
        &["task", "edit", "2"],
    );
    refused(&run, "line 1");
    let run = with_editor(&harness, "exit 3", &["task", "edit", "2"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    // Another person edits the task while the editor is open.
    let binary = assert_cmd::cargo::cargo_bin("windlass");
    let script = format!(
        "'{}' --config '{}' task edit 2 --priority 1 && sed -i 's/^priority = 3/priority = 4/' \"$1\"",
        binary.display(),
        harness.path("named.toml").display()
    );
    refused(
        &with_editor(&harness, &script, &["task", "edit", "2"]),
        "has changed since",
    );
    assert_eq!(
        harness.json(&["task", "show", "2", "--json"])["task"]["priority"],
        1
    );
}

#[test]
fn paused_tasks_and_workers_do_nothing_until_they_are_resumed() {
    let harness = TaskHarness::new("test -f done.txt", INSTANT);
    harness.json(&["task", "add", "a", "--json"]);
    let paused = harness.json(&["task", "pause", "1", "--json"]);
    assert_eq!(paused["paused"], true);
    assert!(
        harness
            .run(&["task", "list"])
            .stdout
            .contains("pending (paused)")
    );
    assert!(
        harness
            .run(&["worker", "--once"])
            .stdout
            .contains("nothing to do")
    );
    harness.json(&["task", "resume", "1", "--json"]);
    refused(&harness.run(&["task", "resume", "1"]), "is not paused");

    let run = harness.run(&["worker", "pause", "--reason", "a release"]);
    assert!(
        run.stdout.contains("windlass worker resume"),
        "{}",
        run.stdout
    );
    let run = harness.run(&["worker", "--once"]);
    assert!(run.stdout.contains("nothing to do"), "{}", run.stdout);
    assert!(run.stderr.contains("(a release)"), "{}", run.stderr);
    let doctor = harness.run(&["doctor"]);
    assert!(doctor.stdout.contains("are paused"), "{}", doctor.stdout);
    assert_eq!(harness.json(&["worker", "resume", "--json"]), json!([]));
    assert_eq!(
        harness.json(&["worker", "--once", "--json"])["completed"],
        1
    );
    refused(&harness.run(&["task", "pause", "1"]), "nothing to pause");
}

#[test]
fn all_tasks_are_cancelled() {
    let harness = TaskHarness::new("true", INSTANT);
    for title in ["a", "b", "c"] {
        harness.json(&["task", "add", title, "--json"]);
    }
    harness.json(&["task", "cancel", "1", "--json"]);
    let cancelled = harness.json(&["task", "cancel", "--all", "--json"]);
    let ids: Vec<&Value> = cancelled
        .as_array()
        .unwrap()
        .iter()
        .map(|task| &task["id"])
        .collect();
    assert_eq!(ids, [&json!(2), &json!(3)]);
    assert!(
        harness
            .run(&["task", "cancel", "--all"])
            .stdout
            .contains("no task to cancel")
    );
    assert_eq!(harness.run(&["task", "cancel"]).code, 2);
}

#[test]
fn every_agent_of_a_project_is_told_its_note() {
    // The script answers only a prompt that contains the note.
    let script = r#"{"turns": [
      {"when": {"contains": "Use tabs, never spaces."}, "or_more": true,
       "answer": [{"write_file": {"path": "done.txt", "content": "done\n"}}]},
      {"or_more": true, "answer": [{"text": "Done."}]}
    ]}"#;
    let harness = TaskHarness::new("test -f done.txt", script);
    let none = harness.run(&["project", "note"]);
    assert!(none.stdout.contains("no note"), "{}", none.stdout);
    let set = harness.json(&["project", "note", "Use tabs, never spaces.", "--json"]);
    assert_eq!(set["note"], "Use tabs, never spaces.");
    let run = with_editor(
        &harness,
        "echo '```' >> \"$1\"",
        &["project", "note", "--edit"],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    harness.json(&["task", "add", "a", "--json"]);
    assert_eq!(
        harness.json(&["worker", "--once", "--json"])["completed"],
        1
    );
    refused(
        &harness.run(&["project", "note", &"x".repeat(9_000)]),
        "the limit is 8192",
    );
    let cleared = harness.json(&["project", "note", "--clear", "--json"]);
    assert_eq!(cleared["note"], "");
}

#[test]
fn file_is_imported_once() {
    let harness = TaskHarness::new("test -f done.txt", INSTANT);
    let list = format!(
        "# To do\n\n- [ ] release\n  With notes.\n  - [ ] {}\n- [x] old\n",
        hostile_title()
    );
    harness.file("TODO.md", &list);
    let dry = harness.run(&["task", "import", "TODO.md", "--dry-run"]);
    assert!(
        dry.stdout.contains("would be added  after #2"),
        "{}",
        dry.stdout
    );
    assert!(
        !dry.stdout.contains(['\u{1b}', '\u{202e}']),
        "{}",
        dry.stdout
    );
    assert_eq!(harness.json(&["task", "list", "--json"]), json!([]));
    let added = harness.json(&["task", "import", "TODO.md", "--json"]);
    assert_eq!(added[0]["task"]["description"], "With notes.");
    assert_eq!(added[0]["task"]["dependencies"], json!([2]));

    harness.file("TODO.md", &format!("- [ ] new\n{list}"));
    let again = harness.json(&["task", "import", "TODO.md", "--json"]);
    let fresh: Vec<&Value> = again
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["added"])
        .collect();
    assert_eq!(fresh, [&json!(true), &json!(false), &json!(false)]);
    // The third one builds on the change of the nested item, and has nothing left to write.
    let worker = harness.run(&["worker", "--once", "--json"]);
    assert!(
        worker.stdout.contains("\"completed\":2"),
        "{}",
        worker.stdout
    );

    let issue = json!({"number": 3, "title": "crash", "body": "b", "labels": [{"name": "P1"}],
        "url": "https://localhost/issues/3"});
    harness.file("issue.json", &issue.to_string());
    harness.file("issues.json", &json!([issue]).to_string());
    assert_eq!(
        harness.json(&["task", "import", "issue.json", "--json"])[0]["task"]["priority"],
        1
    );
    assert_eq!(
        harness.json(&["task", "import", "issues.json", "--json"])[0]["added"],
        false
    );
    harness.file("tasks.jsonl", "{\"title\": \"a\"}\n{\"title\": 7}\n");
    refused(
        &harness.run(&["task", "import", "tasks.jsonl"]),
        "tasks.jsonl: line 2, column",
    );
    refused(
        &harness.run(&["task", "import", "missing.md"]),
        "missing.md cannot be read",
    );
    harness.file("empty.md", "no list\n");
    refused(
        &harness.run(&["task", "import", "empty.md"]),
        "no open task",
    );
}

#[test]
fn plan_is_edited_before_its_tasks_are_added() {
    let plan = json!({"tasks": [
        {"title": "one", "description": "first", "priority": 2, "workflow_step": 1, "kind": "backend", "depends_on": []},
        {"title": "two", "description": "second", "priority": 2, "workflow_step": 1, "kind": "backend", "depends_on": [1]},
    ]});
    let script = json!({"turns": [{"or_more": true, "answer": [{"text": plan.to_string()}]}]});
    let harness = TaskHarness::new("true", &script.to_string());
    let editor = "sed -i 's/^## 2. two/## 2. zwei/; s/^agent: $/agent: player/' \"$1\"";
    let run = with_editor(
        &harness,
        editor,
        &["task", "plan", "a goal", "--edit", "--json"],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let tasks: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&tasks[1]["title"], &tasks[1]["agent"]),
        (&json!("zwei"), &json!("player"))
    );
    assert_eq!(tasks[1]["dependencies"], json!([1]));
    let run = with_editor(
        &harness,
        "echo > \"$1\"",
        &["task", "plan", "a goal", "--edit"],
    );
    assert!(run.stdout.contains("nothing was added"), "{}", run.stdout);
    let run = with_editor(
        &harness,
        "echo '## 1. x\nnot a field' > \"$1\"",
        &["task", "plan", "g", "--edit"],
    );
    refused(&run, "line 2");
    assert_eq!(
        harness
            .json(&["task", "list", "--json"])
            .as_array()
            .unwrap()
            .len(),
        2
    );
    // Without a terminal, nothing is asked.
    assert_eq!(harness.run(&["task", "plan", "a goal"]).code, 0);
    assert_eq!(
        harness
            .json(&["task", "list", "--json"])
            .as_array()
            .unwrap()
            .len(),
        4
    );
}

#[test]
fn schedule_is_listed_paused_resumed_and_removed() {
    let harness = TaskHarness::new("true", INSTANT);
    let add = |cron: &str| harness.run(&["task", "add", "nightly", "--cron", cron]);
    refused(&add("0 3 * *"), "has 4 fields");
    refused(&add("0 25 * * *"), "expected numbers from 0 to 23");
    let run = add("0 3 * * 1");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("03:00"), "{}", run.stdout);
    let list = harness.json(&["schedule", "list", "--json"]);
    assert_eq!(
        (&list[0]["cron"], &list[0]["paused"]),
        (&json!("0 3 * * 1"), &json!(false))
    );
    let zone = list[0]["zone"].as_str().unwrap();
    assert!(harness.run(&["schedule", "list"]).stdout.contains(zone));
    assert_eq!(
        harness.json(&["task", "list", "--json"]),
        json!([]),
        "it is not due"
    );
    assert_eq!(
        harness.json(&["schedule", "pause", "1", "--json"])["paused"],
        true
    );
    assert_eq!(
        harness.json(&["schedule", "resume", "1", "--json"])["paused"],
        false
    );
    assert_eq!(harness.run(&["schedule", "remove", "1"]).code, 0);
    refused(
        &harness.run(&["schedule", "remove", "1"]),
        "there is no schedule 1",
    );
    refused(
        &harness.run(&["schedule", "resume", "1"]),
        "there is no schedule 1",
    );
}
