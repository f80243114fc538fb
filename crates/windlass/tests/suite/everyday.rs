//! Everyday commands: what a run checks first, what commands print, and how blocked work continues.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use super::cli_harness::Run;
use super::run::{Server, harness, planning, run, three_calls};
use super::task_harness::{INSTANT, TaskHarness};

/// A coder that is wrong until a person answers.
fn wrong_then_right() -> Value {
    let say = |times: u32| json!({ "answer": [{ "text": "Done." }], "times": times });
    let write = |text: &str| json!({ "answer": [{ "write_file": { "path": "notes.txt", "content": text } }] });
    json!([write("wrong\n"), say(4), write("changed\n"), say(1)])
}

#[test]
fn blocked_run_goes_on_with_the_same_model() {
    let (harness, planner) = (harness(), Server::with_turns(planning()));
    let coder = Server::with_turns(wrong_then_right());
    let args = [
        "--apply",
        "--max-steps",
        "9",
        "--coder-model",
        "small",
        "Write",
    ];
    let blocked = run(&harness, &planner.url(), &coder.url(), &args);
    assert_eq!(blocked.code, 3, "{}{}", blocked.stdout, blocked.stderr);
    let task = &harness.json(&["task", "list", "--json"])[0];
    let wanted = json!({
        "endpoint": coder.url(), "model": "small", "max_steps": 9, "request_timeout_secs": 3
    });
    assert_eq!(task["agent_settings"], wanted);

    assert_eq!(harness.run(&["answer", "1", "Write changed"]).code, 0);
    // Without any variable that names the server.
    let resumed = harness.run(&["worker", "--once"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
    planner.finish();
    coder.finish();
}

/// Removes the test command from the configuration.
fn without_tests(harness: &TaskHarness) {
    let file = harness.path("named.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let (config, _) = config.split_once("[tests]").unwrap();
    std::fs::write(&file, config).unwrap();
}

#[test]
fn run_checks_the_repository_before_it_pays_a_planner() {
    let unused = || Server::with_turns(json!([{ "answer": [{ "text": "unused" }] }]));
    let refused = |harness: &TaskHarness, expected: &str| {
        let (planner, coder) = (unused(), unused());
        let run = run(harness, &planner.url(), &coder.url(), &["--apply", "Write"]);
        assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(expected), "{}", run.stderr);
        assert_eq!((planner.request_count(), coder.request_count()), (0, 0));
    };
    let empty = harness();
    std::fs::remove_dir_all(empty.project().join(".git")).unwrap();
    empty.git(&["init", "-q", "-b", "main"]);
    refused(&empty, "has no commits");

    let untested = harness();
    without_tests(&untested);
    refused(&untested, "no test command is known for this project");

    // The coder is asked for before the planner too.
    let harness = harness();
    let planner = unused();
    let run = run(
        &harness,
        &planner.url(),
        "http://127.0.0.1:9",
        &["--apply", "Write"],
    );
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert_eq!(planner.request_count(), 0);

    without_tests(&harness);
    let (planner, coder) = (
        Server::with_turns(planning()),
        Server::with_turns(three_calls()),
    );
    harness.file("greet.sh", "echo edited\n");
    let args = ["--apply", "--no-tests", "Write the notes"];
    let run = super::run::run(&harness, &planner.url(), &coder.url(), &args);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stderr.contains("1 file has uncommitted edits"),
        "{}",
        run.stderr
    );
    assert_eq!(harness.read("notes.txt"), "changed\n");
}

#[test]
fn run_as_json_is_one_object() {
    let (harness, planner) = (harness(), Server::with_turns(planning()));
    let coder = Server::with_turns(three_calls());
    let args = ["--apply", "--json", "Write the notes"];
    let run = run(&harness, &planner.url(), &coder.url(), &args);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["plan"]["plan"], json!(["Write notes.txt"]));
    assert_eq!(
        report["result"],
        json!({
            "status": "completed", "files_modified": ["notes.txt"],
            "output": "The notes are written.", "error": null
        })
    );
    assert_eq!(report["merge"]["status"], "merged");
    assert_eq!(report["task"], harness.json(&["task", "list", "--json"])[0]);
}

/// A test that never passes.
const RED: &str = "echo '0 passed, 1 failed'; false";

#[test]
fn worker_counts_tasks_and_prints_their_results() {
    let script = r#"{"turns": [{"or_more": true, "fault": {"status": {"code": 500, "message": "broken"}}}]}"#;
    let harness = TaskHarness::new("true", script);
    harness.json(&["task", "add", "Do it", "--attempts", "2", "--json"]);
    let run = harness.run(&["worker", "--once", "--json"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&report["failed"], &report["attempts"]),
        (&json!(1), &json!(2))
    );
    let result = &report["tasks"][0]["result"];
    assert_eq!(
        (&report["tasks"][0]["task_id"], &result["status"]),
        (&json!(1), &json!("failed"))
    );
    assert!(result["error"].is_string(), "{result}");
}

#[test]
fn cancellation_does_not_wait_for_a_heartbeat() {
    let script = r#"{"turns": [{"or_more": true, "fault": "hang"}]}"#;
    let harness = TaskHarness::new("true", script);
    // The next heartbeat is minutes away.
    harness.lease(3600);
    harness.json(&["task", "add", "Do it", "--json"]);
    let mut worker = harness.worker_with(&["--once"]);
    let is = |status: &str| harness.json(&["task", "list", "--json"])[0]["status"] == status;
    while !is("in_progress") {
        let ended = worker.try_wait().unwrap();
        assert!(
            ended.is_none(),
            "{}",
            harness.run(&["task", "show", "1"]).stdout
        );
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    harness.json(&["task", "cancel", "1", "--json"]);
    worker.wait().unwrap();
    assert!(is("cancelled"));
    let traces = harness.json(&["trace", "--json"]);
    assert_eq!(traces[0]["outcome"], "cancelled", "{traces}");
    let listed = harness.run(&["trace"]);
    assert!(listed.stdout.contains("cancelled"), "{}", listed.stdout);
}

#[test]
fn traces_have_pages() {
    let harness = TaskHarness::new("true", INSTANT);
    for title in ["one", "two", "three"] {
        harness.json(&["task", "add", title, "--json"]);
    }
    assert_eq!(harness.run(&["worker", "--once", "-c", "1"]).code, 0);
    let ids = |args: &[&str]| -> Vec<String> {
        let listed = harness.json(&[&["trace", "--json"], args].concat());
        let all = listed.as_array().unwrap().iter();
        all.map(|trace| trace["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = ids(&[]);
    assert_eq!(all.len(), 3);
    assert_eq!(ids(&["--limit", "2"]), all[..2]);
    assert_eq!(ids(&["--limit", "2", "--page", "2"]), all[2..]);
    assert_eq!(ids(&["--task", "2"]), ["task-2-attempt-1"]);
    let first = harness.run(&["trace", "--limit", "2"]).stdout;
    assert!(first.contains("windlass trace --page 2"), "{first}");
    let last = harness
        .run(&["trace", "--limit", "2", "--page", "2"])
        .stdout;
    assert!(!last.contains("--page"), "{last}");
}

#[test]
fn tables_fit_sixty_columns() {
    let harness = TaskHarness::new("true", INSTANT);
    let title = "Greet the world in the language of the person who has not given any name";
    harness.json(&["task", "add", title, "--json"]);
    harness.json(&[
        "task", "add", "Then", "--after", "1", "--agent", "player", "--json",
    ]);
    for args in [&["task", "list"][..], &["agents"], &["config"]] {
        let run = Run::of(harness.command().env("COLUMNS", "60").args(args));
        assert_eq!(run.code, 0, "{}", run.stderr);
        for line in run.stdout.lines() {
            assert!(line.chars().count() <= 60, "{args:?}: {line:?}");
        }
    }
    let wide = harness.run(&["task", "list"]).stdout;
    let lines: Vec<&str> = wide.lines().collect();
    assert!(lines[1].ends_with(title), "{wide}");
    let columns: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(
        (columns[0], columns[2], columns[4], columns[5]),
        ("2", "player", "1", "Then")
    );
}

#[test]
fn small_mistakes_get_one_sentence() {
    let harness = TaskHarness::new("true", INSTANT);
    let error = |args: &[&str]| {
        let run = harness.run(args);
        assert_eq!(run.code, 2, "{args:?}: {run:?}");
        run.error().to_owned()
    };
    assert_eq!(
        error(&["task", "add", " "]),
        "the title is empty: pass a title, or - to read it from stdin"
    );
    let unknown = error(&["task", "add", "Do it", "--agent", "plaier"]);
    assert!(unknown.contains("(did you mean `player`?)"), "{unknown}");
    assert_eq!(
        error(&["task", "add", "Do it", "--issue", "7"]),
        "there is no issue 7"
    );
    let listed = harness.run(&["task", "list", "--status", "in_progress"]);
    assert_eq!(listed.stdout, "no tasks are in_progress\n");

    harness.git(&["clone", "-q", "--bare", ".", "../bare"]);
    let run = Run::of(
        harness
            .command()
            .current_dir(harness.path("bare"))
            .args(["task", "list"]),
    );
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.error().contains("is a bare repository"), "{run:?}");
}

#[test]
fn values_of_the_configuration_are_json() {
    let harness = TaskHarness::new("true", INSTANT);
    let entries = harness.json(&["config", "--json"]);
    let value = |key: &str| {
        let entries = entries.as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["key"] == key);
        entry.map(|entry| entry["value"].clone())
    };
    assert_eq!(value("worker.lease_secs"), Some(json!(60)));
    assert_eq!(value("default_agent"), Some(json!("player")));
    assert_eq!(value("tests.command"), Some(json!(["sh", "-c", "true"])));
}

#[test]
fn missing_agent_has_code_4() {
    let harness = TaskHarness::new(RED, INSTANT);
    let run = Run::of(
        harness
            .command()
            .env("PATH", "/usr/bin:/bin")
            .args(["demo", "--agent", "codex"]),
    );
    assert_eq!(run.code, 4, "{run:?}");
    assert!(
        run.stderr.contains("npm install -g @openai/codex"),
        "{run:?}"
    );
}

#[test]
fn agents_are_served_outside_a_repository() {
    let harness = TaskHarness::new("true", INSTANT);
    // Any other directory, including the temporary one, may be inside a repository.
    let mut child = harness
        .child(&["serve", "--listen", "127.0.0.1:0"])
        .current_dir("/")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let mut notices = BufReader::new(child.stderr.take().unwrap());
    let mut notice = String::new();
    notices.read_line(&mut notice).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        line.starts_with("ready at http://127.0.0.1:"),
        "{line} {notice}"
    );
    assert!(notice.contains("not inside a git repository"), "{notice}");
}

/// An agent that prints its version and is never used.
const CODEX: &str = "#!/bin/sh\necho 'codex-cli 0.166.0'\n";

#[test]
fn first_installed_agent_is_used_and_named() {
    let harness = TaskHarness::new("true", INSTANT);
    let config = std::fs::read_to_string(harness.path("named.toml")).unwrap();
    let config = config.replace("default_agent = \"player\"\n", "");
    std::fs::write(harness.path("named.toml"), config).unwrap();
    let bin = harness.path("bin");
    std::fs::create_dir(&bin).unwrap();
    let codex = bin.join("codex");
    std::fs::write(&codex, CODEX).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&codex, mode).unwrap();
    let home = harness.home().join(".codex");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("auth.json"), r#"{"OPENAI_API_KEY": "k"}"#).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let run = Run::of(harness.command().env("PATH", &path).args(["run", "Write"]));
    assert!(run.stderr.contains("using codex"), "{}", run.stderr);
    assert!(
        run.stderr.contains("planner codex, coder codex"),
        "{}",
        run.stderr
    );
}
