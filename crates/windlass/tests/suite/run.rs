//! `windlass run`: planned by any model and executed by any other, in every dialect and tool mode.

use std::net::SocketAddr;

use serde_json::{Value, json};
use windlass_scripted::{RunningModel, Script, ScriptedModel, ServedExchange};

use super::cli_harness::Run;
use super::task_harness::TaskHarness;

const TEST_COMMAND: &str = "grep -q '^changed$' notes.txt && echo '1 passed, 0 failed'";

/// A scripted model on loopback.
pub(crate) struct Server {
    model: RunningModel,
    runtime: tokio::runtime::Runtime,
}

impl Server {
    pub(crate) fn with_turns(turns: Value) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let script = Script::parse(&json!({ "turns": turns }).to_string(), "a test").unwrap();
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let model = runtime
            .block_on(ScriptedModel::start(script, loopback))
            .unwrap();
        Self { model, runtime }
    }

    pub(crate) fn url(&self) -> String {
        self.model.url()
    }

    /// Returns the requests that the model has received.
    pub(crate) fn requests(&self) -> Vec<ServedExchange> {
        self.model.requests()
    }

    /// Returns how many requests the model has received.
    pub(crate) fn request_count(&self) -> usize {
        self.model.requests().len()
    }

    /// Stops the server and checks that every request was expected and every turn used.
    #[track_caller]
    pub(crate) fn finish(self) {
        let report = self.runtime.block_on(self.model.stop());
        assert!(report.is_clean(), "{report}");
    }
}

pub(crate) fn plan() -> Value {
    json!({ "plan": ["Write notes.txt"], "coder_prompt": "Write changed into notes.txt.", "tests": ["notes.txt says changed"] })
}

pub(crate) fn planning() -> Value {
    json!([{ "answer": [{ "json": plan() }] }])
}

pub(crate) fn three_calls() -> Value {
    json!([
        { "answer": [{ "read_file": { "path": "greet.sh" } }] },
        { "answer": [{ "write_file": { "path": "notes.txt", "content": "changed\n" } }] },
        { "answer": [{ "shell": { "command": "cat notes.txt" } }] },
        { "answer": [{ "text": "The notes are written." }] },
    ])
}

pub(crate) fn harness() -> TaskHarness {
    TaskHarness::new(TEST_COMMAND, r#"{"turns": []}"#)
}

/// Runs the program with these two servers.
pub(crate) fn run(harness: &TaskHarness, planner: &str, coder: &str, args: &[&str]) -> Run {
    Run::of(command_with(harness, planner, coder).args(args))
}

/// Returns the command without a default agent, with these two servers.
fn command_with(harness: &TaskHarness, planner: &str, coder: &str) -> assert_cmd::Command {
    let config = std::fs::read_to_string(harness.path("named.toml")).unwrap();
    let config = config.replace("default_agent = \"player\"\n", "");
    std::fs::write(harness.path("named.toml"), config).unwrap();
    let mut command = harness.command();
    command
        .env("TURBO_HOST", planner)
        .env("OLLAMA_LOCAL", coder)
        .env("OLLAMA_API_KEY", "canary-of-the-planner")
        .env("REQUEST_TIMEOUT_S", "3")
        .arg("run");
    command
}

#[test]
fn dry_run_shows_plan_and_writes_nothing() {
    for args in [&["Write the notes"][..], &["--apply", "Write the notes"]] {
        let (harness, planner) = (harness(), Server::with_turns(planning()));
        let shown = Run::of(
            command_with(&harness, &planner.url(), "http://127.0.0.1:9")
                .env("DRY_RUN", "1")
                .args(args),
        );
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        assert!(
            shown.stdout.contains("1. Write notes.txt"),
            "{}",
            shown.stdout
        );
        assert!(
            shown.stdout.contains("- notes.txt says changed"),
            "{}",
            shown.stdout
        );
        assert!(
            shown.stderr.contains("nothing was changed"),
            "{}",
            shown.stderr
        );
        assert!(!harness.project().join("notes.txt").exists());
        planner.finish();
    }
}

#[test]
fn planner_and_coder_on_two_servers_complete_task() {
    let harness = harness();
    let (planner, coder) = (
        Server::with_turns(planning()),
        Server::with_turns(three_calls()),
    );
    let done = run(
        &harness,
        &planner.url(),
        &coder.url(),
        &["--apply", "Write the notes"],
    );
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    assert_eq!(harness.read("notes.txt"), "changed\n");
    assert!(
        done.stdout.contains("The notes are written."),
        "{}",
        done.stdout
    );
    assert!(done.stdout.contains("notes.txt | 1 +"), "{}", done.stdout);
    assert!(
        done.stdout.contains("to undo it: git reset --keep"),
        "{}",
        done.stdout
    );
    for tool in ["fs_read", "fs_write notes.txt", "shell_run"] {
        assert!(done.stderr.contains(tool), "{tool}: {}", done.stderr);
    }
    assert!(!format!("{done:?}").contains("canary"), "{done:?}");
    planner.finish();
    coder.finish();
    let undo = done
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("to undo it: git "));
    harness.git(&undo.unwrap().split(' ').collect::<Vec<_>>());
    assert!(!harness.project().join("notes.txt").exists());
}

/// Runs the same task over every API, and with models that have no native tool calls.
#[test]
fn every_dialect_and_tool_mode_completes_task() {
    let fence = |tool: &str, arguments: Value| json!({ "answer": [{ "text": format!("```json\n{}\n```", json!({ "tool": tool, "arguments": arguments })) }] });
    let action = |tool: &str, arguments: Value| json!({ "answer": [{ "json": { "action": { "tool": tool, "arguments": arguments } } }] });
    let notes = json!({ "path": "notes.txt", "content": "changed\n" });
    let text = json!([fence("fs_list", json!({ "path": "." })), fence("fs_write", notes.clone()), { "answer": [{ "text": "The notes are written." }] }]);
    let schema = json!([action("fs_list", json!({ "path": "." })), action("fs_write", notes), { "answer": [{ "json": { "action": { "tool": "done", "answer": "The notes are written." } } }] }]);
    let cases = [
        ("backend = \"ollama\"", "", three_calls()),
        ("backend = \"openai\"", "/v1", three_calls()),
        (
            "backend = \"openai\"\napi_spec = \"responses\"",
            "/v1",
            three_calls(),
        ),
        ("backend = \"anthropic\"", "", three_calls()),
        ("backend = \"ollama\"\ntool_mode = \"text\"", "", text),
        ("backend = \"ollama\"\ntool_mode = \"schema\"", "", schema),
    ];
    for (settings, base, coding) in cases {
        let harness = harness();
        let mut turns = planning();
        turns
            .as_array_mut()
            .unwrap()
            .extend(coding.as_array().unwrap().clone());
        let server = Server::with_turns(turns);
        let config = std::fs::read_to_string(harness.path("named.toml")).unwrap();
        let agent = format!(
            "[agents.one]\n{settings}\nmodel = \"m\"\nendpoint = \"{}{base}\"\napi_key_env = \"ANY_KEY\"\n",
            server.url()
        );
        std::fs::write(harness.path("named.toml"), config + &agent).unwrap();
        let mut command = harness.command();
        command.env("ANY_KEY", "canary-of-both").args([
            "run",
            "--apply",
            "--planner",
            "one",
            "--coder",
            "one",
            "Write the notes",
        ]);
        let done = Run::of(&mut command);
        assert_eq!(done.code, 0, "{settings}: {}{}", done.stdout, done.stderr);
        assert_eq!(harness.read("notes.txt"), "changed\n", "{settings}");
        assert!(
            !format!("{done:?}").contains("canary"),
            "{settings}: {done:?}"
        );
        server.finish();
    }
}

#[test]
fn plan_is_extracted_from_planner_output() {
    let plan = plan().to_string();
    let good = [
        format!("```json\n{plan}\n```"),
        format!("Here is my plan:\n\n{plan}\n\nGood luck!"),
        plan.replace("[\"Write notes.txt\"]", "\"1. Write notes.txt\""),
    ];
    for answer in good {
        let (harness, planner) = (
            harness(),
            Server::with_turns(json!([{ "answer": [{ "text": answer }] }])),
        );
        let shown = run(
            &harness,
            &planner.url(),
            "http://127.0.0.1:9",
            &["Write the notes"],
        );
        assert_eq!(shown.code, 0, "{answer}: {}", shown.stderr);
        assert!(
            shown.stdout.contains("1. Write notes.txt"),
            "{answer}: {}",
            shown.stdout
        );
    }
    let two = format!("{plan}\n\nor rather\n\n{}", plan.replace("Write", "Read"));
    for answer in [
        two.as_str(),
        " ",
        "<!doctype html><title>502 Bad Gateway</title>",
    ] {
        let turns = json!([{ "answer": [{ "text": answer }], "or_more": true }]);
        let (harness, planner) = (harness(), Server::with_turns(turns));
        let shown = run(
            &harness,
            &planner.url(),
            "http://127.0.0.1:9",
            &["Write the notes"],
        );
        assert_eq!(shown.code, 1, "{answer}: {}", shown.stdout);
        assert!(
            shown.stderr.contains("not a valid plan") || shown.stderr.contains("answer"),
            "{answer}: {}",
            shown.stderr
        );
    }
}

#[test]
fn planner_failure_is_distinguished_from_invalid_plan() {
    let cases = [
        (json!({ "status": { "code": 401 } }), 4, "check the key"),
        (json!({ "status": { "code": 429 } }), 1, "too many requests"),
        (json!("hang"), 124, "3 s"),
    ];
    for (fault, code, expected) in cases {
        let turns = json!([{ "fault": fault, "or_more": true }]);
        let (harness, planner) = (harness(), Server::with_turns(turns));
        let shown = run(
            &harness,
            &planner.url(),
            "http://127.0.0.1:9",
            &["Write the notes"],
        );
        assert_eq!(shown.code, code, "{fault}: {}", shown.stderr);
        assert!(shown.stderr.contains(expected), "{fault}: {}", shown.stderr);
        assert!(
            !shown.stderr.contains("canary"),
            "{fault}: {}",
            shown.stderr
        );
    }
}

#[test]
fn missing_key_is_an_error_only_if_needed() {
    let harness = harness();
    let config = std::fs::read_to_string(harness.path("named.toml")).unwrap();
    let config = config.replace("default_agent = \"player\"\n", "");
    std::fs::write(harness.path("named.toml"), config).unwrap();
    let refused = harness.run(&["run", "Write the notes"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.error().starts_with("OLLAMA_API_KEY is not set"),
        "{}",
        refused.stderr
    );
    // An empty key does not count, and neither does a host name that only starts with `localhost`.
    for (key, host) in [
        ("", "https://ollama.com"),
        ("", "http://localhost.evil.example"),
    ] {
        let mut command = harness.command();
        command.env("OLLAMA_API_KEY", key).env("TURBO_HOST", host);
        let refused = Run::of(command.args(["run", "Write the notes"]));
        assert_eq!(refused.code, 2, "{host}: {}", refused.stderr);
    }
    let run = harness.run(&[
        "run",
        "--planner",
        "player",
        "--coder",
        "player",
        "Write the notes",
    ]);
    assert!(!run.stderr.contains("OLLAMA_API_KEY"), "{}", run.stderr);
}
