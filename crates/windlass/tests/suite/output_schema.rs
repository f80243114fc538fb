//! The output of commands with `--json` matches the published schemas.

use serde_json::{Value, json};

use super::cli_harness::Run;
use super::run::{Server, harness, planning, run, three_calls};
use super::task_harness::{INSTANT, TaskHarness};

/// Checks a value against a definition in `docs/output.schema.json`.
#[track_caller]
pub(crate) fn check(name: &str, value: &Value) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/output.schema.json");
    let mut schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(schema["$defs"].get(name).is_some(), "{name} is not defined");
    schema["$ref"] = json!(format!("#/$defs/{name}"));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}\n{value:#}");
}

#[test]
fn tasks_have_one_shape() {
    let harness = TaskHarness::new("true", INSTANT);
    let added = harness.json(&["task", "add", "Do it", "--agent", "player", "--json"]);
    check("task", &added);
    check("tasks", &harness.json(&["task", "list", "--json"]));
    assert_eq!(
        harness.json(&["task", "show", "1", "--json"])["task"],
        added
    );
    let worker = harness.run(&["worker", "--once", "--json"]);
    check("worker", &serde_json::from_str(&worker.stdout).unwrap());
    let done = harness.json(&["task", "list", "--json"]);
    check("tasks", &done);
    assert_eq!(done[0]["status"], "completed");
    check("traces", &harness.json(&["trace", "--json"]));
    check("usage_rows", &harness.json(&["usage", "--json"]));
    check(
        "account_limits",
        &harness.json(&["usage", "--limits", "--json"]),
    );
    check(
        "merge",
        &harness.json(&["task", "merge", "1", "--accept", "--json"]),
    );
}

#[test]
fn projects_have_their_shapes() {
    let harness = TaskHarness::new("true", INSTANT);
    check(
        "shown_project",
        &harness.json(&["project", "add", "--json"]),
    );
    check("projects", &harness.json(&["project", "list", "--json"]));
    let shown = harness.json(&["project", "show", "project", "--json"]);
    check("shown_project", &shown);
    assert!(shown["project"]["root_commit"].is_string(), "{shown}");
    let removed = harness.json(&["project", "remove", "1", "--json"]);
    check("removed_project", &removed);
}

#[test]
fn questions_and_answers_have_their_shapes() {
    let harness = TaskHarness::new("echo '0 passed, 1 failed'; false", INSTANT);
    harness.json(&["task", "add", "Do it", "--json"]);
    let blocked = harness.run(&["worker", "--once", "--json"]);
    assert_eq!(blocked.code, 3, "{blocked:?}");
    check("worker", &serde_json::from_str(&blocked.stdout).unwrap());
    check("questions", &harness.json(&["blockers", "--json"]));
    check("approvals", &harness.json(&["approvals", "--json"]));
    check("task", &harness.json(&["answer", "1", "Do more", "--json"]));
}

#[test]
fn run_has_its_shape() {
    let (harness, planner) = (harness(), Server::with_turns(planning()));
    let planned = run(
        &harness,
        &planner.url(),
        "http://127.0.0.1:9",
        &["--json", "Write"],
    );
    check("run", &serde_json::from_str(&planned.stdout).unwrap());
    let (planner, coder) = (
        Server::with_turns(planning()),
        Server::with_turns(three_calls()),
    );
    let args = ["--apply", "--json", "Write the notes"];
    let done = run(&harness, &planner.url(), &coder.url(), &args);
    assert_eq!(done.code, 0, "{done:?}");
    check("run", &serde_json::from_str(&done.stdout).unwrap());
}

#[test]
fn reports_about_the_machine_have_their_shapes() {
    let harness = TaskHarness::new("true", INSTANT);
    check("settings", &harness.json(&["config", "--json"]));
    check("agents", &harness.json(&["agents", "--json"]));
    harness.file("windlass.toml", "");
    harness.run(&["trust", "--yes", "windlass.toml"]);
    let trusted = harness.json(&["trust", "--list", "--json"]);
    check("trusted", &trusted);
    assert_eq!(trusted.as_array().map(Vec::len), Some(1), "{trusted}");
    let doctor = Run::of(harness.command().args(["doctor", "--json"]));
    check("checks", &serde_json::from_str(&doctor.stdout).unwrap());
}
