//! A task from the command line: added, worked on, proved, shown, merged; asked about, answered; told no.

use serde_json::json;

use super::task_world::{INSTANT, TaskWorld};

const WANTS_WORLD: &str = "[ \"$(sh greet.sh)\" = 'Hello, world!' ] && echo '1 passed, 0 failed'";

/// First in capitals, then right.
const CORRECTED: &str = r#"{"turns": [
  {"answer": [{"edit_file": {"path": "greet.sh", "old": "$1", "new": "${1:-World}"}}]},
  {"answer": [{"text": "The world is greeted."}]},
  {"answer": [{"edit_file": {"path": "greet.sh", "old": "World", "new": "world"}}]},
  {"answer": [{"text": "In small letters now."}]}
]}"#;

#[test]
fn a_task_is_corrected_proved_verified_and_merged() {
    let world = TaskWorld::new(WANTS_WORLD, CORRECTED);
    let added = world.json(&["task", "add", "Greet the world", "--json"]);
    assert_eq!(
        (&added["id"], &added["status"]),
        (&json!(1), &json!("pending"))
    );
    world.file("notes.txt", "mine, not committed\n");

    let worked = world.json(&["worker", "--once", "--json"]);
    assert_eq!(worked["completed"], 1, "{worked}");
    assert!(
        world.read("greet.sh").contains("$1!"),
        "the checkout is untouched"
    );

    let shown = world.json(&["task", "show", "1", "--json"]);
    assert_eq!(shown["task"]["status"], "completed");
    assert_eq!(shown["task"]["branch"], "windlass/task-1");
    let outcomes: Vec<_> = shown["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| &run["result"]["status"])
        .collect();
    assert_eq!(outcomes, ["failed", "passed"]);
    assert_eq!(shown["corrections"][0]["correction"]["status"], "passed");
    assert_eq!(shown["proof"]["exit_code"], 0);

    let log = world.git(&["log", "-1", "--format=%B", "windlass/task-1"]);
    assert!(
        log.contains("Task-Id: 1") && log.contains("Attempt: 1"),
        "{log}"
    );
    let diff = world.run(&["task", "diff", "1"]);
    assert!(
        diff.stdout.contains("+echo \"Hello, ${1:-world}!\""),
        "{}",
        diff.stdout
    );
    assert_eq!(world.run(&["verify", "1"]).code, 0);

    let merged = world.json(&["task", "merge", "1", "--json"]);
    assert_eq!(merged["status"], "merged", "{merged}");
    assert!(world.read("greet.sh").contains("${1:-world}"));
    assert_eq!(world.read("notes.txt"), "mine, not committed\n");
    assert_eq!(world.processes(), Vec::<String>::new());
}

#[test]
fn every_event_of_a_task_can_be_read_from_any_number_on() {
    let world = TaskWorld::new("test -f done.txt", INSTANT);
    world.json(&["task", "add", "Do it", "--json"]);
    assert_eq!(world.run(&["worker", "--once"]).code, 0);
    let lines = |after: &str| -> Vec<serde_json::Value> {
        let run = world.run(&["task", "log", "1", "--json", "--after", after]);
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
fn a_project_without_known_tests_asks_before_any_agent_runs() {
    let world = TaskWorld::new("true", INSTANT);
    let config = std::fs::read_to_string(world.path("named.toml")).unwrap();
    let untested = config.split("[tests]").next().unwrap();
    std::fs::write(world.path("named.toml"), untested).unwrap();
    world.json(&["task", "add", "Do it", "--json"]);
    assert_eq!(world.run(&["worker", "--once"]).code, 3);

    let questions = world.json(&["blockers", "--json"]);
    assert!(
        questions[0]["question"].as_str().unwrap().contains("test"),
        "{questions}"
    );
    let id = questions[0]["id"].to_string();
    let task = world.json(&["answer", &id, "run sh greet.sh", "--json"]);
    assert_eq!(task["status"], "pending");
    assert_eq!(world.json(&["blockers", "--json"]), json!([]));
    let twice = world.run(&["answer", &id, "once more"]);
    assert_eq!(twice.code, 2, "{}", twice.stderr);
}

#[test]
fn an_agent_that_changes_nothing_is_not_done() {
    let idle = r#"{"turns": [{"or_more": true, "answer": [{"text": "All done!"}]}]}"#;
    let world = TaskWorld::new("true", idle);
    world.json(&["task", "add", "Do it", "--attempts", "1", "--json"]);
    world.run(&["worker", "--once"]);
    let task = world.json(&["task", "show", "1", "--json"]);
    assert_ne!(task["task"]["status"], "completed", "{task}");
    assert_eq!(task["proof"], json!(null));
}

/// Breaks down once, then does it.
const SECOND_TIME: &str = r#"{"turns": [
  {"fault": {"status": {"code": 500, "message": "not today"}}},
  {"answer": [{"write_file": {"path": "done.txt", "content": "done\n"}}]},
  {"or_more": true, "answer": [{"text": "Done."}]}
]}"#;

#[test]
fn an_attempt_that_failed_is_remembered_and_its_task_is_no_failure() {
    let world = TaskWorld::new("test -f done.txt", SECOND_TIME);
    world.json(&["task", "add", "Do it", "--json"]);
    let worked = world.run(&["worker", "--once"]);
    assert_eq!(worked.code, 0, "{}{}", worked.stdout, worked.stderr);
    assert!(
        worked.stderr.contains("the attempt failed: "),
        "{}",
        worked.stderr
    );
    let shown = world.json(&["task", "show", "1", "--json"]);
    let outcomes: Vec<_> = shown["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|attempt| &attempt["outcome"])
        .collect();
    assert_eq!(outcomes, ["failed", "completed"], "{shown}");
    let told = world.run(&["task", "show", "1"]).stdout;
    assert!(told.contains(", failed: "), "{told}");
}

#[test]
fn where_nobody_is_chosen_a_key_to_anthropic_chooses() {
    let world = TaskWorld::new("true", INSTANT);
    let config = std::fs::read_to_string(world.path("named.toml")).unwrap();
    let nobody = config.replace("default_agent = \"player\"\n", "");
    std::fs::write(world.path("named.toml"), nobody).unwrap();
    world.json(&["task", "add", "Do it", "--json"]);
    let none = world.run(&["worker", "--once"]);
    assert_eq!(none.code, 2, "{}", none.stderr);
    let mut command = world.command();
    command.env("ANTHROPIC_API_KEY", "k");
    super::cli_world::Run::of(command.args(["worker", "--once"]));
    let task = world.json(&["task", "show", "1", "--json"]);
    let why = task["task"]["output"].as_str().unwrap();
    assert!(why.contains("agents.anthropic.model"), "{why}");
}

#[test]
fn a_store_that_cannot_be_written_can_be_looked_at() {
    let world = TaskWorld::new("true", INSTANT);
    world.json(&["task", "add", "Do it", "--json"]);
    // Somebody else has it open: else the log beside it may be half gone, as the last one out tidies up.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let url = format!("sqlite:{}", world.path("tasks.db").display());
    let _open = runtime.block_on(windlass_store::open(&url)).unwrap();
    let root = world.path("");
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
            .arg(world.path("named.toml"))
            .args(args)
            .env("HOME", world.home())
            .current_dir(world.project());
        super::cli_world::Run::of(&mut inside)
    };
    for args in [
        &["task", "list"][..],
        &["task", "show", "1"],
        &["task", "log", "1"],
    ] {
        let looked = run(args);
        assert_eq!(looked.code, 0, "{args:?}: {}", looked.stderr);
    }
    let added = run(&["task", "add", "More"]);
    assert!(added.error().contains("is read-only"), "{}", added.stderr);
}

#[test]
fn a_merge_never_loses_an_uncommitted_edit() {
    let world = TaskWorld::new(WANTS_WORLD, CORRECTED);
    world.json(&["task", "add", "Greet the world", "--json"]);
    assert_eq!(world.run(&["worker", "--once"]).code, 0);
    world.file("greet.sh", "echo \"Good day, $1!\"\n");
    let refused = world.run(&["task", "merge", "1"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.error().contains("greet.sh"), "{}", refused.stderr);
    assert_eq!(world.read("greet.sh"), "echo \"Good day, $1!\"\n");
}

#[test]
fn what_does_not_fit_is_one_sentence() {
    let world = TaskWorld::new("true", INSTANT);
    let error = |args: &[&str]| {
        let run = world.run(args);
        (run.code, run.error().to_owned())
    };
    assert_eq!(
        error(&["task", "show", "7"]),
        (2, "there is no task 7".to_owned())
    );
    assert_eq!(error(&["task", "add", "x", "--after", "9"]).0, 2);
    world.json(&["task", "add", "x", "--key", "k", "--json"]);
    let (code, message) = error(&["task", "add", "y", "--key", "k"]);
    assert!(code == 2 && message.contains("task 1"), "{message}");
    let (code, message) = error(&["task", "merge", "1"]);
    assert!(code == 2 && message.contains("it is pending"), "{message}");
    let (code, message) = error(&["verify", "1"]);
    assert!(code == 2 && message.contains("no proof"), "{message}");
}

#[test]
fn the_demo_goes_from_red_to_proof_and_leaves_nothing() {
    let world = TaskWorld::new("true", INSTANT);
    let demo = world.run(&["demo"]);
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
    let state = world.home().join(".local/state/windlass");
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
