//! `windlass run`: a plan from any model, the work by any other, in every dialect and with every kind of call.

use std::net::SocketAddr;

use serde_json::{Value, json};
use windlass_gateway::{RunningModel, Script, ScriptedModel};

use super::cli_world::Run;
use super::task_world::TaskWorld;

const TESTED: &str = "grep -q '^changed$' notes.txt && echo '1 passed, 0 failed'";

/// A server on loopback whose model says this.
pub(crate) struct Server {
    model: RunningModel,
    runtime: tokio::runtime::Runtime,
}

impl Server {
    pub(crate) fn saying(turns: Value) -> Self {
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

    #[track_caller]
    pub(crate) fn end(self) {
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

pub(crate) fn world() -> TaskWorld {
    TaskWorld::new(TESTED, r#"{"turns": []}"#)
}

/// What the program says on these two servers.
pub(crate) fn run(world: &TaskWorld, planner: &str, coder: &str, args: &[&str]) -> Run {
    Run::of(on(world, planner, coder).args(args))
}

/// The program without an agent of its own, on these two servers.
fn on(world: &TaskWorld, planner: &str, coder: &str) -> assert_cmd::Command {
    let config = std::fs::read_to_string(world.path("named.toml")).unwrap();
    let config = config.replace("default_agent = \"player\"\n", "");
    std::fs::write(world.path("named.toml"), config).unwrap();
    let mut command = world.command();
    command
        .env("TURBO_HOST", planner)
        .env("OLLAMA_LOCAL", coder)
        .env("OLLAMA_API_KEY", "canary-of-the-planner")
        .env("REQUEST_TIMEOUT_S", "3")
        .arg("run");
    command
}

#[test]
fn a_plan_is_shown_and_nothing_is_written() {
    for dry in [&["Write the notes"][..], &["--apply", "Write the notes"]] {
        let (world, planner) = (world(), Server::saying(planning()));
        let shown = Run::of(
            on(&world, &planner.url(), "http://127.0.0.1:9")
                .env("DRY_RUN", "1")
                .args(dry),
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
        assert!(!world.project().join("notes.txt").exists());
        planner.end();
    }
}

#[test]
fn two_servers_plan_and_carry_out() {
    let world = world();
    let (planner, coder) = (Server::saying(planning()), Server::saying(three_calls()));
    let done = run(
        &world,
        &planner.url(),
        &coder.url(),
        &["--apply", "Write the notes"],
    );
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    assert_eq!(world.read("notes.txt"), "changed\n");
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
    planner.end();
    coder.end();
    let undo = done
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("to undo it: git "));
    world.git(&undo.unwrap().split(' ').collect::<Vec<_>>());
    assert!(!world.project().join("notes.txt").exists());
}

/// The same task over every API, and with models that have no calls of their own.
#[test]
fn every_dialect_and_every_kind_of_call_finishes_the_task() {
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
        let world = world();
        let mut turns = planning();
        turns
            .as_array_mut()
            .unwrap()
            .extend(coding.as_array().unwrap().clone());
        let server = Server::saying(turns);
        let config = std::fs::read_to_string(world.path("named.toml")).unwrap();
        let agent = format!(
            "[agents.one]\n{settings}\nmodel = \"m\"\nendpoint = \"{}{base}\"\napi_key_env = \"ANY_KEY\"\n",
            server.url()
        );
        std::fs::write(world.path("named.toml"), config + &agent).unwrap();
        let mut command = world.command();
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
        assert_eq!(world.read("notes.txt"), "changed\n", "{settings}");
        assert!(
            !format!("{done:?}").contains("canary"),
            "{settings}: {done:?}"
        );
        server.end();
    }
}

#[test]
fn a_plan_is_found_in_what_planners_say() {
    let plan = plan().to_string();
    let good = [
        format!("```json\n{plan}\n```"),
        format!("Here is my plan:\n\n{plan}\n\nGood luck!"),
        plan.replace("[\"Write notes.txt\"]", "\"1. Write notes.txt\""),
    ];
    for answer in good {
        let (world, planner) = (
            world(),
            Server::saying(json!([{ "answer": [{ "text": answer }] }])),
        );
        let shown = run(
            &world,
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
        let (world, planner) = (world(), Server::saying(turns));
        let shown = run(
            &world,
            &planner.url(),
            "http://127.0.0.1:9",
            &["Write the notes"],
        );
        assert_eq!(shown.code, 1, "{answer}: {}", shown.stdout);
        assert!(
            shown.stderr.contains("not a plan") || shown.stderr.contains("answer"),
            "{answer}: {}",
            shown.stderr
        );
    }
}

#[test]
fn a_planner_that_fails_is_told_apart_from_a_bad_plan() {
    let cases = [
        (json!({ "status": { "code": 401 } }), 1, "check the key"),
        (json!({ "status": { "code": 429 } }), 1, "too many requests"),
        (json!("hang"), 124, "3 s"),
    ];
    for (fault, code, words) in cases {
        let turns = json!([{ "fault": fault, "or_more": true }]);
        let (world, planner) = (world(), Server::saying(turns));
        let shown = run(
            &world,
            &planner.url(),
            "http://127.0.0.1:9",
            &["Write the notes"],
        );
        assert_eq!(shown.code, code, "{fault}: {}", shown.stderr);
        assert!(shown.stderr.contains(words), "{fault}: {}", shown.stderr);
        assert!(
            !shown.stderr.contains("canary"),
            "{fault}: {}",
            shown.stderr
        );
    }
}

#[test]
fn a_missing_key_is_an_error_only_where_it_is_needed() {
    let world = world();
    let config = std::fs::read_to_string(world.path("named.toml")).unwrap();
    let config = config.replace("default_agent = \"player\"\n", "");
    std::fs::write(world.path("named.toml"), config).unwrap();
    let refused = world.run(&["run", "Write the notes"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.error().starts_with("OLLAMA_API_KEY is not set"),
        "{}",
        refused.stderr
    );
    // Neither a key without letters nor a host that only begins like this machine makes a difference.
    for (key, host) in [
        ("", "https://ollama.com"),
        ("", "http://localhost.evil.example"),
    ] {
        let mut command = world.command();
        command.env("OLLAMA_API_KEY", key).env("TURBO_HOST", host);
        let refused = Run::of(command.args(["run", "Write the notes"]));
        assert_eq!(refused.code, 2, "{host}: {}", refused.stderr);
    }
    let asked = world.run(&[
        "run",
        "--planner",
        "player",
        "--coder",
        "player",
        "Write the notes",
    ]);
    assert!(!asked.stderr.contains("OLLAMA_API_KEY"), "{}", asked.stderr);
}
