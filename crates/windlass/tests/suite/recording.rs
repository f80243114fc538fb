//! Recorded attempts become scenarios, which reach the same files again without the model.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::cli_harness::Run;
use super::real_composite::{harness, json_of, model, path_with_agents, run};
use super::run::Server;
use super::task_harness::TaskHarness;

/// What a replay must not replace: an id, a port, a path outside of the workspace, a letter of two bytes.
const CONTENT: &str =
    "done\nhttp://127.0.0.1:8080/ž\n8c1f4a0e-5a53-4c0b-9d3e-0a1b2c3d4e5f\n/tmp/x\n";

/// Runs a command in another directory than the project.
pub(crate) fn run_elsewhere(harness: &TaskHarness, dir: &Path, args: &[&str]) -> Run {
    let mut command = harness.command();
    let command = command
        .current_dir(dir)
        .env("PATH", path_with_agents())
        .env("ANY_KEY", "canary-of-all");
    Run::of(command.args(args))
}

/// Runs a task with this agent and records it, makes a scenario of it, and returns the directory of the scenario.
#[track_caller]
pub(crate) fn record_task(harness: &TaskHarness, agent: &str, code: i32) -> tempfile::TempDir {
    let added = run(
        harness,
        &["task", "add", "--agent", agent, "Write done.txt"],
    );
    assert_eq!(added.code, 0, "{}", added.stderr);
    let worker = run(harness, &["worker", "--once", "--record"]);
    assert_eq!(worker.code, code, "{}{}", worker.stdout, worker.stderr);
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().to_str().unwrap();
    let made = run(harness, &["scenario", "from-task", "1", "-o", output]);
    assert_eq!(made.code, 0, "{}{}", made.stdout, made.stderr);
    dir
}

/// Returns the recordings of the attempts.
fn recordings(harness: &TaskHarness) -> Vec<PathBuf> {
    let dir = harness.home().join(".local/state/windlass/recordings");
    let stores = std::fs::read_dir(dir).unwrap();
    let files = stores.flat_map(|store| std::fs::read_dir(store.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

/// Runs the scenario and returns its report.
pub(crate) fn repeat(harness: &TaskHarness, dir: &Path, agent: &str) -> (i32, Value) {
    let args = ["scenario", "run", "task-1.json", "-a", agent, "--json"];
    let repeated = run_elsewhere(harness, dir, &args);
    let report = serde_json::from_str(&repeated.stdout);
    let report = report.unwrap_or_else(|_| Value::String(repeated.stderr));
    (repeated.code, report)
}

/// The turns of a model that first breaks the test and then corrects it.
pub(crate) fn corrected() -> Value {
    json!([
        { "when": { "turn": 1 }, "answer": [
            { "text": "First a draft. " },
            { "write_file": { "path": "done.txt", "content": "draft\n" } },
        ] },
        { "when": { "turn": 2 }, "answer": [{ "text": "Done." }] },
        { "when": { "turn": 3 }, "answer": [
            { "edit_file": { "path": "done.txt", "old": "draft\n", "new": CONTENT } },
        ] },
        { "when": { "turn": 4 }, "answer": [{ "text": "Corrected." }] },
    ])
}

#[test]
fn recorded_task_is_repeated_elsewhere_without_its_model() {
    let server = Server::with_turns(corrected());
    let harness = harness(&model("first", "openai", "/v1", &server));
    let dir = record_task(&harness, "first", 0);
    server.finish();

    let (code, report) = repeat(&harness, dir.path(), "first");
    assert_eq!(code, 0, "{report}");
    assert_eq!(report["results"][0]["outcome"], "passed", "{report}");

    // The prompts are those of the task and of the correction.
    let file = dir.path().join("task-1.json");
    let mut scenario: Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(scenario["then"].as_array().unwrap().len(), 1, "{scenario}");
    assert_eq!(scenario["script"]["turns"].as_array().unwrap().len(), 4);

    // Another result is noticed.
    let mut turn = scenario["script"]["turns"][2].to_string();
    assert!(turn.contains(":8080"), "{turn}");
    turn = turn.replace(":8080", ":8081");
    scenario["script"]["turns"][2] = serde_json::from_str(&turn).unwrap();
    std::fs::write(&file, scenario.to_string()).unwrap();
    let (code, report) = repeat(&harness, dir.path(), "first");
    assert_eq!(code, 1, "{report}");
    let problem = report["results"][0]["problem"].as_str().unwrap_or_default();
    assert!(problem.contains("the tree is"), "{report}");
}

#[test]
fn failed_attempt_becomes_a_regression_test() {
    let server = Server::with_turns(json!([
        { "or_more": true, "when": { "turn": 1 }, "answer": [
            { "write_file": { "path": "wrong.txt", "content": "wrong\n" } },
        ] },
        { "or_more": true, "answer": [{ "text": "Done." }] },
    ]));
    let harness = harness(&model("first", "anthropic", "", &server));
    let dir = record_task(&harness, "first", 3);
    let (code, report) = repeat(&harness, dir.path(), "first");
    assert_eq!(code, 0, "{report}");
}

#[test]
fn recording_that_a_killed_worker_has_cut_is_named() {
    let server = Server::with_turns(corrected());
    let harness = harness(&model("first", "openai", "/v1", &server));
    let dir = record_task(&harness, "first", 0);
    let [file] = &recordings(&harness)[..] else {
        unreachable!("one attempt was recorded")
    };
    let whole = std::fs::read(file).unwrap();
    std::fs::write(file, &whole[..whole.len() - 20]).unwrap();
    let output = dir.path().to_str().unwrap();
    let args = ["scenario", "from-task", "1", "--force", "-o", output];
    let made = run(&harness, &args);
    assert_ne!(made.code, 0, "{}", made.stdout);
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(made.stderr.contains(name), "{}", made.stderr);
    assert_eq!(made.stderr.trim().lines().count(), 1, "{}", made.stderr);
}

#[test]
fn p19_recording_has_no_secret() {
    let server = Server::with_turns(json!([
        { "when": { "turn": 1 }, "answer": [
            { "text": "The key is canary-of-all." },
            { "write_file": { "path": "done.txt", "content": "done\n" } },
        ] },
        { "or_more": true, "answer": [{ "text": "Done." }] },
    ]));
    let agent = model("first", "openai", "/v1", &server) + "api_key_env = \"ANY_KEY\"\n";
    let harness = harness(&agent);
    let dir = record_task(&harness, "first", 0);
    let scenario = std::fs::read_to_string(dir.path().join("task-1.json")).unwrap();
    assert!(!scenario.contains("canary-of-all"), "{scenario}");
    assert!(scenario.contains("The key is {secret"), "{scenario}");
    let files = recordings(&harness);
    assert_eq!(files.len(), 1);
    let recorded = std::fs::read_to_string(&files[0]).unwrap();
    assert!(!recorded.contains("canary-of-all"), "{recorded}");
}

#[test]
fn p19_secret_that_a_stream_splits_is_not_recorded() {
    // The scripted model sends 24 bytes at a time.
    let text = "Now, the key is this canary-of-all";
    let server = Server::with_turns(json!([
        { "when": { "turn": 1 }, "answer": [
            { "text": text },
            { "write_file": { "path": "done.txt", "content": "done\n" } },
        ] },
        { "or_more": true, "answer": [{ "text": "Done." }] },
    ]));
    let agent = model("first", "openai", "/v1", &server) + "api_key_env = \"ANY_KEY\"\n";
    let harness = harness(&agent);
    let added = run(&harness, &["task", "add", "--agent", "first", "Write it"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    let worker = run(&harness, &["worker", "--once", "--record"]);
    assert_eq!(worker.code, 0, "{}{}", worker.stdout, worker.stderr);
    assert!(
        worker.stderr.contains("repeated a secret in parts"),
        "{}",
        worker.stderr
    );
    let refused = run(&harness, &["scenario", "from-task", "1"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
}

#[test]
fn task_that_was_not_recorded_is_refused() {
    let server = Server::with_turns(json!([
        { "when": { "turn": 1 }, "answer": [{ "write_file": { "path": "done.txt", "content": "done\n" } }] },
        { "or_more": true, "answer": [{ "text": "Done." }] },
    ]));
    let harness = harness(&model("first", "openai", "/v1", &server));
    let added = run(&harness, &["task", "add", "--agent", "first", "Write it"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    assert_eq!(run(&harness, &["worker", "--once"]).code, 0);
    let refused = run(&harness, &["scenario", "from-task", "1"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    let text = "attempt 1 of task 1 was not recorded on this machine: run the worker with --record";
    assert!(refused.stderr.contains(text), "{}", refused.stderr);
}

#[test]
fn recorded_turn_has_its_model_calls() {
    let server = Server::with_turns(json!([{ "or_more": true, "answer": [{ "text": "Yes." }] }]));
    let harness = harness(&model("first", "openai", "/v1", &server));
    let file = harness.path("turn.jsonl");
    let to = file.to_str().unwrap();
    let recorded = run(&harness, &["record", "-a", "first", "--to", to, "Ready?"]);
    assert_eq!(recorded.code, 0, "{}", recorded.stderr);
    let text = std::fs::read_to_string(&file).unwrap();
    for line in [
        "{\"type\":\"turn\"",
        "{\"type\":\"request\"",
        "{\"type\":\"response\"",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let rows = json_of(run(&harness, &["usage", "--by", "agent", "--json"]));
    assert_eq!(rows[0]["calls"], 1, "{rows}");
}
