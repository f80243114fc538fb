//! Tasks on the command line: add, run, prove, show, merge, block, answer and fail.

use serde_json::json;

use super::task_harness::{INSTANT, TaskHarness};

const EXPECTS_WORLD: &str = "[ \"$(sh greet.sh)\" = 'Hello, world!' ] && echo '1 passed, 0 failed'";

/// A script whose first edit fails the test and whose second passes it.
const CORRECTED: &str = r#"{"turns": [
  {"answer": [{"edit_file": {"path": "greet.sh", "old": "$1", "new": "${1:-World}"}}]},
  {"answer": [{"text": "The world is greeted."}]},
  {"answer": [{"edit_file": {"path": "greet.sh", "old": "World", "new": "world"}}]},
  {"answer": [{"text": "In small letters now."}]}
]}"#;

#[test]
fn task_is_corrected_proved_verified_and_merged() {
    let harness = TaskHarness::new(EXPECTS_WORLD, CORRECTED);
    let added = harness.json(&["task", "add", "Greet the world", "--json"]);
    assert_eq!(
        (&added["id"], &added["status"]),
        (&json!(1), &json!("pending"))
    );
    harness.file("notes.txt", "mine, not committed\n");

    let worker = harness.json(&["worker", "--once", "--json"]);
    assert_eq!(worker["completed"], 1, "{worker}");
    assert!(
        harness.read("greet.sh").contains("$1!"),
        "the checkout is untouched"
    );

    let shown = harness.json(&["task", "show", "1", "--json"]);
    assert_eq!(shown["task"]["status"], "completed");
    let branch = shown["task"]["branch"].as_str().unwrap();
    let id = branch.strip_prefix("windlass/").unwrap();
    let id = id.strip_suffix("/task-1").unwrap();
    assert_eq!(id.len(), 8, "the id of the store: {branch}");
    let outcomes: Vec<_> = shown["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| &run["result"]["status"])
        .collect();
    assert_eq!(outcomes, ["failed", "passed"]);
    assert_eq!(shown["corrections"][0]["correction"]["status"], "passed");
    assert_eq!(shown["proof"]["exit_code"], 0);

    let log = harness.git(&["log", "-1", "--format=%B", branch]);
    assert!(
        log.contains("Task-Id: 1") && log.contains("Attempt: 1"),
        "{log}"
    );
    let diff = harness.run(&["task", "diff", "1"]);
    assert!(
        diff.stdout.contains("+echo \"Hello, ${1:-world}!\""),
        "{}",
        diff.stdout
    );
    assert_eq!(harness.json(&["verify", "1", "--json"])["valid"], true);

    let merged = harness.json(&["task", "merge", "1", "--json"]);
    assert_eq!(merged["status"], "merged", "{merged}");
    assert!(harness.read("greet.sh").contains("${1:-world}"));
    assert_eq!(harness.read("notes.txt"), "mine, not committed\n");
    assert_eq!(harness.processes(), Vec::<String>::new());
}

#[test]
fn task_log_can_be_read_after_any_sequence_number() {
    let harness = TaskHarness::new("test -f done.txt", INSTANT);
    harness.json(&["task", "add", "Do it", "--json"]);
    let worker = harness.run(&["worker", "--once"]);
    assert_eq!(worker.code, 0, "{}", worker.stderr);
    let lines = |after: &str| -> Vec<serde_json::Value> {
        let run = harness.run(&["task", "log", "1", "--json", "--after", after]);
        let events = run.stdout.lines().map(serde_json::from_str);
        events.collect::<Result<_, _>>().unwrap()
    };
    let all = lines("0");
    let kinds: Vec<&str> = all
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    for kind in ["task_status", "test_result", "agent_event"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    let third = all[2]["seq"].to_string();
    assert_eq!(lines(&third), all[3..]);
}

#[test]
fn project_without_tests_is_blocked_before_agent_runs() {
    let harness = TaskHarness::new("true", INSTANT);
    let config = std::fs::read_to_string(harness.path("named.toml")).unwrap();
    let untested = config.split("[tests]").next().unwrap();
    std::fs::write(harness.path("named.toml"), untested).unwrap();
    harness.json(&["task", "add", "Do it", "--json"]);
    assert_eq!(harness.run(&["worker", "--once"]).code, 3);

    let blockers = harness.json(&["blockers", "--json"]);
    assert!(
        blockers[0]["question"].as_str().unwrap().contains("test"),
        "{blockers}"
    );
    let id = blockers[0]["id"].to_string();
    let task = harness.json(&["answer", &id, "run sh greet.sh", "--json"]);
    assert_eq!(task["status"], "pending");
    assert_eq!(harness.json(&["blockers", "--json"]), json!([]));
    let twice = harness.run(&["answer", &id, "once more"]);
    assert_eq!(twice.code, 2, "{}", twice.stderr);
}

#[test]
fn agent_without_changes_does_not_complete_task() {
    let idle = r#"{"turns": [{"or_more": true, "answer": [{"text": "All done!"}]}]}"#;
    let harness = TaskHarness::new("true", idle);
    harness.json(&["task", "add", "Do it", "--attempts", "1", "--json"]);
    harness.run(&["worker", "--once"]);
    let task = harness.json(&["task", "show", "1", "--json"]);
    assert_ne!(task["task"]["status"], "completed", "{task}");
    assert_eq!(task["proof"], json!(null));
}

/// A script that fails once and then succeeds.
const SECOND_TIME: &str = r#"{"turns": [
  {"fault": {"status": {"code": 500, "message": "not today"}}},
  {"answer": [{"write_file": {"path": "done.txt", "content": "done\n"}}]},
  {"or_more": true, "answer": [{"text": "Done."}]}
]}"#;

#[test]
fn failed_attempt_is_recorded_and_retried_task_completes() {
    let harness = TaskHarness::new("test -f done.txt", SECOND_TIME);
    harness.json(&["task", "add", "Do it", "--json"]);
    let worker = harness.run(&["worker", "--once"]);
    assert_eq!(worker.code, 0, "{}{}", worker.stdout, worker.stderr);
    assert!(
        worker.stderr.contains("the attempt failed: "),
        "{}",
        worker.stderr
    );
    let shown = harness.json(&["task", "show", "1", "--json"]);
    let outcomes: Vec<_> = shown["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|attempt| &attempt["outcome"])
        .collect();
    assert_eq!(outcomes, ["failed", "completed"], "{shown}");
    let text = harness.run(&["task", "show", "1"]).stdout;
    assert!(text.contains(", failed: "), "{text}");
}

#[test]
fn anthropic_key_selects_default_agent() {
    let harness = TaskHarness::new("true", INSTANT);
    let config = std::fs::read_to_string(harness.path("named.toml")).unwrap();
    let config = config.replace("default_agent = \"player\"\n", "");
    let nowhere = "[agents.anthropic]\nendpoint = \"http://127.0.0.1:9\"\nmax_retries = 0\n";
    std::fs::write(harness.path("named.toml"), config + nowhere).unwrap();
    harness.json(&["task", "add", "Do it", "--json"]);
    let none = harness.run(&["worker", "--once"]);
    assert_eq!(none.code, 2, "{}", none.stderr);
    let mut command = harness.command();
    command.env("ANTHROPIC_API_KEY", "k");
    super::cli_harness::Run::of(command.args(["worker", "--once"]));
    let task = harness.json(&["task", "show", "1", "--json"]);
    let why = task["task"]["output"].as_str().unwrap();
    assert!(why.contains("127.0.0.1:9"), "{why}");
}

#[test]
fn worker_without_default_agent_runs_tasks_that_name_theirs() {
    let harness = TaskHarness::new("true", INSTANT);
    let config = std::fs::read_to_string(harness.path("named.toml")).unwrap();
    let without_default = config.replace("default_agent = \"player\"\n", "");
    std::fs::write(harness.path("named.toml"), without_default).unwrap();
    harness.json(&["task", "add", "Do it", "--agent", "player", "--json"]);
    let run = harness.run(&["worker", "--once"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.stdout, "1 completed\n");
    let notice = "tasks that name no agent will fail: no agent selected";
    assert!(run.stderr.contains(notice), "{}", run.stderr);
    // A default that does not exist is still an error.
    let run = harness.run(&["worker", "--once", "--agent", "plaier"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
}

#[test]
fn routing_selects_the_agent_of_a_kind_of_task() {
    let harness = TaskHarness::new("test -f done.txt", r#"{"turns": []}"#);
    std::fs::write(harness.path("other.json"), INSTANT).unwrap();
    let file = harness.path("named.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let script = harness.path("other.json");
    let routing = format!(
        "[agents.other]\nbackend = \"mock\"\nscript = {script:?}\n[routing]\nfrontend = \"other\"\n"
    );
    std::fs::write(&file, config + &routing).unwrap();
    harness.json(&["task", "add", "First", "--kind", "frontend", "--json"]);
    // The default agent's script has no turn, so only the other one can complete it.
    let worker = harness.json(&["worker", "--once", "--json"]);
    assert_eq!(worker["completed"], 1, "{worker}");
}

#[test]
fn read_only_store_can_be_read() {
    let harness = TaskHarness::new("true", INSTANT);
    harness.json(&["task", "add", "Do it", "--json"]);
    // Keep another connection open: otherwise the last connection to close removes SQLite's WAL files.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let url = format!("sqlite:{}", harness.path("tasks.db").display());
    let _open = runtime.block_on(windlass_store::open(&url)).unwrap();
    let root = harness.path("");
    let mount = format!(
        "mount --bind '{0}' '{0}'; mount -o remount,ro,bind '{0}'",
        root.display()
    );
    let run = |args: &[&str]| {
        let mut inside = assert_cmd::Command::new("unshare");
        inside
            .args(["-Urm", "sh", "-euc", &format!("{mount}; exec \"$@\""), "sh"])
            .arg(assert_cmd::cargo::cargo_bin("windlass"))
            .arg("--config")
            .arg(harness.path("named.toml"))
            .args(args)
            .env("HOME", harness.home())
            .current_dir(harness.project());
        super::cli_harness::Run::of(&mut inside)
    };
    for args in [
        &["task", "list"][..],
        &["task", "show", "1"],
        &["task", "log", "1"],
    ] {
        let result = run(args);
        assert_eq!(result.code, 0, "{args:?}: {}", result.stderr);
    }
    let added = run(&["task", "add", "More"]);
    assert!(added.error().contains("is read-only"), "{}", added.stderr);
}

#[test]
fn merge_keeps_uncommitted_edit() {
    let harness = TaskHarness::new(EXPECTS_WORLD, CORRECTED);
    harness.json(&["task", "add", "Greet the world", "--json"]);
    assert_eq!(harness.run(&["worker", "--once"]).code, 0);
    harness.file("greet.sh", "echo \"Good day, $1!\"\n");
    let refused = harness.run(&["task", "merge", "1"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.error().contains("greet.sh"), "{}", refused.stderr);
    assert_eq!(harness.read("greet.sh"), "echo \"Good day, $1!\"\n");
}

#[test]
fn invalid_requests_are_one_sentence() {
    let harness = TaskHarness::new("true", INSTANT);
    let error = |args: &[&str]| {
        let run = harness.run(args);
        (run.code, run.error().to_owned())
    };
    assert_eq!(
        error(&["task", "show", "7"]),
        (2, "there is no task 7".to_owned())
    );
    assert_eq!(error(&["task", "add", "x", "--after", "9"]).0, 2);
    harness.json(&["task", "add", "x", "--key", "k", "--json"]);
    let (code, message) = error(&["task", "add", "y", "--key", "k"]);
    assert!(code == 2 && message.contains("task 1"), "{message}");
    let (code, message) = error(&["task", "merge", "1"]);
    assert!(code == 2 && message.contains("it is pending"), "{message}");
    let (code, message) = error(&["verify", "1"]);
    assert!(code == 2 && message.contains("no proof"), "{message}");
}

#[test]
fn demo_reaches_proof_and_removes_its_files() {
    let harness = TaskHarness::new("true", INSTANT);
    let demo = harness.run(&["demo"]);
    assert_eq!(demo.code, 0, "{}{}", demo.stdout, demo.stderr);
    assert!(
        demo.stderr.contains("tests failed: 2 passed, 1 failed"),
        "{}",
        demo.stderr
    );
    assert!(
        demo.stderr.contains("tests passed: 3 passed"),
        "{}",
        demo.stderr
    );
    assert!(
        demo.stdout.contains("+echo \"Hello, ${1:-world}!\""),
        "{}",
        demo.stdout
    );
    let state = harness.home().join(".local/state/windlass");
    let left: Vec<_> = std::fs::read_dir(state)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert!(
        !left
            .iter()
            .any(|name| name.to_string_lossy().starts_with("demo-")),
        "{left:?}"
    );
}
