//! `windlass run` held to its contract: the planner's request to the letter, settings, steps, and who may do what.

use std::io::{BufRead, BufReader, Read, Write};

use serde_json::{Value, json};
use windlass::settings;
use windlass_core::Plan;

use super::cli_world::Run;
use super::run::{Server, plan, planning, run, three_calls, world};
use super::task_world::TaskWorld;

/// The planner's server to the letter: one request, and the answer as the contract writes it.
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
        let said = json!({ "message": { "content": plan().to_string() } }).to_string();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{said}",
            said.len()
        );
        reader.get_mut().write_all(answer.as_bytes()).unwrap();
        (head, serde_json::from_slice(&body).unwrap())
    });
    (url, serving)
}

#[track_caller]
fn asked_to_the_letter(model: &str, (head, body): (String, Value)) {
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
fn the_planner_is_asked_as_the_contract_says_and_understood() {
    let (url, serving) = literal_planner();
    let shown = run(&world(), &url, "http://127.0.0.1:9", &["Write the notes"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(
        shown.stdout.contains("1. Write notes.txt"),
        "{}",
        shown.stdout
    );
    asked_to_the_letter("gpt-oss:20b", serving.join().unwrap());
}

#[test]
fn settings_that_are_given_are_the_ones_that_count() {
    let (url, serving) = literal_planner();
    let coder = Server::saying(json!([{ "answer": [{ "text": "Nothing to do." }] }]));
    let mut given = settings::load_settings().unwrap();
    given.turbo_host = url;
    given.planner_model = "mine".to_owned();
    given.api_key = Some("canary-of-the-planner".into());
    given.local_host = coder.url();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let planned = runtime.block_on(settings::get_plan("Write the notes", Some(given.clone())));
    assert_eq!(planned.unwrap().plan, ["Write notes.txt"]);
    asked_to_the_letter("mine", serving.join().unwrap());
    let done = runtime.block_on(settings::execute("Do it.", Some(given)));
    let done = done.unwrap();
    assert_eq!((done.steps, done.last.as_str()), (1, "Nothing to do."));
    coder.end();
}

/// One model, named, that plans and carries out.
fn on_one(world: &TaskWorld, server: &Server, settings: &str, args: &[&str]) -> Run {
    on("one", world, server, settings, args)
}

/// The same, with another name for who plans.
fn on(planner: &str, world: &TaskWorld, server: &Server, settings: &str, args: &[&str]) -> Run {
    let config = std::fs::read_to_string(world.path("named.toml")).unwrap();
    let agent = format!(
        "[agents.one]\nbackend = \"ollama\"\nendpoint = \"{}\"\n{settings}\n",
        server.url()
    );
    std::fs::write(world.path("named.toml"), config + &agent).unwrap();
    let mut command = world.command();
    command.args(["run", "--planner", planner, "--coder", "one"]);
    Run::of(command.args(args))
}

/// Whatever is allowed to the agent, by itself or within a composite: before `--apply` nothing is written.
#[test]
fn a_planner_changes_nothing() {
    let early = json!([
        { "answer": [{ "write_file": { "path": "notes.txt", "content": "early\n" } }] },
        { "answer": [{ "shell": { "command": "echo early > notes.txt" } }] },
    ]);
    let allowed = "permissions = \"allow\"\nschema_mode = \"prompt\"\n\
                   [composites.alone]\nkind = \"single\"\nnodes = [\"one\"]";
    for planner in ["one", "composite/profile/alone"] {
        let mut turns = early.clone();
        let planning = planning().as_array().unwrap().clone();
        turns.as_array_mut().unwrap().extend(planning);
        let (world, server) = (world(), Server::saying(turns));
        let args = ["Write the notes"];
        let shown = on(planner, &world, &server, allowed, &args);
        assert_eq!(shown.code, 0, "{planner}: {}", shown.stderr);
        assert!(!world.project().join("notes.txt").exists(), "{planner}");
        server.end();
    }
}

#[test]
fn the_steps_of_a_named_coder_are_counted_and_limited() {
    let mut turns = planning();
    let steps = three_calls().as_array().unwrap().clone();
    turns.as_array_mut().unwrap().extend(steps);
    let (one, server) = (world(), Server::saying(turns.clone()));
    let done = on_one(
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
    server.end();

    let (one, server) = (world(), Server::saying(turns));
    let args = ["--apply", "--max-steps", "1", "Write the notes"];
    let done = on_one(&one, &server, "max_steps = 9", &args);
    assert_eq!(done.code, 1, "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("at most 1 step"), "{}", done.stderr);
    assert!(
        done.stdout.contains("not finished after 1 steps"),
        "{}",
        done.stdout
    );
    assert!(!one.project().join("notes.txt").exists());
}

/// Nobody is at a terminal: whoever reads the lines learns what is waited for, and where.
#[test]
fn a_question_says_where_it_is_answered() {
    let mut turns = planning();
    turns.as_array_mut().unwrap().push(
        json!({ "answer": [{ "write_file": { "path": "notes.txt", "content": "changed\n" } }], "or_more": true }),
    );
    let (world, server) = (world(), Server::saying(turns));
    let asking = "permissions = \"ask\"\ntimeout_secs = 2";
    let done = on_one(&world, &server, asking, &["--apply", "Write the notes"]);
    assert_ne!(done.code, 0, "{}", done.stdout);
    assert!(
        done.stderr.contains("waits for you: windlass approvals"),
        "{}",
        done.stderr
    );
    assert!(!world.project().join("notes.txt").exists());
}
