//! The contract of `windlass run`: the exact planner request, settings, step limits and permissions.

use std::io::{BufRead, BufReader, Read, Write};

use serde_json::{Value, json};
use windlass::settings;
use windlass_core::Plan;

use super::cli_harness::Run;
use super::run::{Server, harness, plan, planning, run, three_calls};
use super::task_harness::TaskHarness;

/// Starts a planner server that accepts one request and answers exactly as the contract specifies.
fn literal_planner() -> (String, std::thread::JoinHandle<(String, Value)>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let mut reader = BufReader::new(listener.accept().unwrap().0);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            reader.read_line(&mut head).unwrap();
        }
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        let body_text = json!({ "message": { "content": plan().to_string() } }).to_string();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body_text}",
            body_text.len()
        );
        reader.get_mut().write_all(answer.as_bytes()).unwrap();
        (head, serde_json::from_slice(&body).unwrap())
    });
    (url, serving)
}

#[track_caller]
fn check_planner_request(model: &str, (head, body): (String, Value)) {
    assert!(head.starts_with("POST /api/chat HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("authorization: Bearer canary-of-the-planner\r\n"),
        "{head}"
    );
    assert!(
        head.contains("content-type: application/json\r\n"),
        "{head}"
    );
    let expected = json!({
        "model": model,
        "messages": [
            { "role": "system", "content": Plan::instructions() },
            { "role": "user", "content": "Write the notes" },
        ],
        "stream": false,
    });
    assert_eq!(body, expected);
}

#[test]
fn planner_request_and_response_follow_contract() {
    let (url, serving) = literal_planner();
    let shown = run(&harness(), &url, "http://127.0.0.1:9", &["Write the notes"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(
        shown.stdout.contains("1. Write notes.txt"),
        "{}",
        shown.stdout
    );
    check_planner_request("gpt-oss:20b", serving.join().unwrap());
}

#[test]
fn explicit_settings_are_used() {
    let (url, serving) = literal_planner();
    let coder = Server::with_turns(json!([{ "answer": [{ "text": "Nothing to do." }] }]));
    let mut settings_arg = settings::load_settings().unwrap();
    settings_arg.turbo_host = url;
    settings_arg.planner_model = "mine".to_owned();
    settings_arg.api_key = Some("canary-of-the-planner".into());
    settings_arg.local_host = coder.url();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let planned = runtime.block_on(settings::get_plan(
        "Write the notes",
        Some(settings_arg.clone()),
    ));
    assert_eq!(planned.unwrap().plan, ["Write notes.txt"]);
    check_planner_request("mine", serving.join().unwrap());
    let done = runtime.block_on(settings::execute("Do it.", Some(settings_arg)));
    let done = done.unwrap();
    assert_eq!((done.steps, done.last.as_str()), (1, "Nothing to do."));
    coder.finish();
}

/// Runs with one named model as planner and coder.
fn run_with_one(harness: &TaskHarness, server: &Server, settings: &str, args: &[&str]) -> Run {
    run_with("one", harness, server, settings, args)
}

/// Like [`run_with_one`], with another planner.
fn run_with(
    planner: &str,
    harness: &TaskHarness,
    server: &Server,
    settings: &str,
    args: &[&str],
) -> Run {
    let config = std::fs::read_to_string(harness.path("named.toml")).unwrap();
    let agent = format!(
        "[agents.one]\nbackend = \"ollama\"\nendpoint = \"{}\"\n{settings}\n",
        server.url()
    );
    std::fs::write(harness.path("named.toml"), config + &agent).unwrap();
    let mut command = harness.command();
    command.args(["run", "--planner", planner, "--coder", "one"]);
    Run::of(command.args(args))
}

/// Whatever the agent is allowed to do, alone or in a composite, nothing is written without `--apply`.
#[test]
fn planner_changes_no_files() {
    let early = json!([
        { "answer": [{ "write_file": { "path": "notes.txt", "content": "early\n" } }] },
        { "answer": [{ "shell": { "command": "echo early > notes.txt" } }] },
    ]);
    let allowed = "permissions = \"allow\"\nschema_mode = \"prompt\"\n\
                   [run]\nplanner_tools = true\n\
                   [composites.alone]\nkind = \"single\"\nnodes = [\"one\"]";
    for planner in ["one", "composite/profile/alone"] {
        let mut turns = early.clone();
        let planning = planning().as_array().unwrap().clone();
        turns.as_array_mut().unwrap().extend(planning);
        let (harness, server) = (harness(), Server::with_turns(turns));
        let args = ["Write the notes"];
        let shown = run_with(planner, &harness, &server, allowed, &args);
        assert_eq!(shown.code, 0, "{planner}: {}", shown.stderr);
        assert!(!harness.project().join("notes.txt").exists(), "{planner}");
        server.finish();
    }
}

#[test]
fn steps_of_named_coder_are_counted_and_limited() {
    let mut turns = planning();
    let steps = three_calls().as_array().unwrap().clone();
    turns.as_array_mut().unwrap().extend(steps);
    let (one, server) = (harness(), Server::with_turns(turns.clone()));
    let done = run_with_one(
        &one,
        &server,
        "max_steps = 9",
        &["--apply", "Write the notes"],
    );
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(done.stderr.contains("at most 9 steps"), "{}", done.stderr);
    for line in [
        "step 2 → fs_write notes.txt",
        "step 3 → shell_run cat notes.txt",
        "✓ fs_write, ",
    ] {
        assert!(done.stderr.contains(line), "{line}: {}", done.stderr);
    }
    assert!(
        done.stdout.contains("completed after 4 steps: notes.txt"),
        "{}",
        done.stdout
    );
    server.finish();
}

/// Returns a plan, these steps of the coder, and its answer in the last step, which Ollama gives as JSON.
fn with_last_step(steps: Value) -> Value {
    let mut turns = planning();
    let all = turns.as_array_mut().unwrap();
    all.extend(steps.as_array().unwrap().clone());
    let answer = json!({ "action": { "tool": "done", "answer": "That is all I could do." } });
    all.push(
        json!({ "when": { "contains": "This is the last step" }, "answer": [{ "json": answer }] }),
    );
    turns
}

#[test]
fn p29_change_is_tested_after_the_last_step() {
    let steps =
        json!([{ "answer": [{ "write_file": { "path": "notes.txt", "content": "changed\n" } }] }]);
    let (one, server) = (harness(), Server::with_turns(with_last_step(steps)));
    let args = ["--apply", "--max-steps", "2", "Write the notes"];
    let done = run_with_one(&one, &server, "max_steps = 9", &args);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("at most 2 steps"), "{}", done.stderr);
    let expected = "completed after 2 steps: notes.txt";
    assert!(done.stdout.contains(expected), "{}", done.stdout);
    assert_eq!(one.read("notes.txt"), "changed\n");
    server.finish();
}

/// Without a terminal, the output names the command that answers the permission request.
#[test]
fn permission_request_names_command_that_answers_it() {
    let mut turns = planning();
    turns.as_array_mut().unwrap().push(
        json!({ "answer": [{ "write_file": { "path": "notes.txt", "content": "changed\n" } }], "or_more": true }),
    );
    let (harness, server) = (harness(), Server::with_turns(turns));
    let asking = "permissions = \"ask\"\ntimeout_secs = 2";
    let done = run_with_one(&harness, &server, asking, &["--apply", "Write the notes"]);
    assert_ne!(done.code, 0, "{}", done.stdout);
    assert!(
        done.stderr.contains("needs input: run windlass approvals"),
        "{}",
        done.stderr
    );
    assert!(!harness.project().join("notes.txt").exists());
}
