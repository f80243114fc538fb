//! The real Codex and the real Claude Code continue the session of a change that a person reviewed.

use serde_json::{Value, json};

use super::real_best_of::agent;
use super::real_composite::{harness, json_of, run};
use super::run::Server;

/// Only a conversation that continues has a third answer, and only a prompt with the comment gets it.
fn turns() -> Value {
    json!([
        { "when": { "turn": 1 }, "answer": [{ "write_file": { "path": "done.txt", "content": "done\n" } }] },
        { "when": { "turn": 2 }, "answer": [{ "text": "Done." }] },
        {
            "when": { "turn": 3, "contains": "done.txt, line 1: `done`\n\n> Say second, too." },
            "answer": [{ "shell": { "command": "echo second >> done.txt" } }],
        },
        { "when": { "turn": 4 }, "answer": [{ "text": "Done again." }] },
    ])
}

fn reviewed_change_is_continued_in_its_session(name: &str, model: &str) {
    let server = Server::with_turns(turns());
    let harness = harness(&agent(name, model, &server));
    harness.lease(60);
    let add = [
        "task",
        "add",
        "Write done.txt",
        "--agent",
        name,
        "--attempts",
        "1",
        "--json",
    ];
    json_of(run(&harness, &add));
    let first = run(&harness, &["worker", "--once"]);
    assert_eq!(first.code, 0, "{}{}", first.stdout, first.stderr);
    let comment = "done.txt:1=Say second, too.";
    let review = run(
        &harness,
        &["review", "1", "--request-changes", "--comment", comment],
    );
    assert_eq!(review.code, 0, "{}{}", review.stdout, review.stderr);
    let second = run(&harness, &["worker", "--once"]);
    let log = run(&harness, &["task", "log", "1"]).stdout;
    assert_eq!(second.code, 0, "{}{}{log}", second.stdout, second.stderr);
    assert!(
        log.contains(&format!("{name} continues its session")),
        "{log}"
    );
    let shown = json_of(run(&harness, &["task", "show", "1", "--json"]));
    assert_eq!(shown["task"]["status"], "completed", "{shown:#}");
    let sessions: Vec<&Value> = [0, 1]
        .map(|at| &shown["attempts"][at]["session"]["id"])
        .into();
    assert!(sessions[0].is_string(), "{shown:#}");
    assert_eq!(sessions[0], sessions[1], "{shown:#}");
    let between = run(&harness, &["task", "diff", "1", "--between", "1..2"]).stdout;
    assert!(between.contains("+second"), "{between}");
    server.finish();
}

#[test]
fn codex_continues_its_session() {
    reviewed_change_is_continued_in_its_session("codex", "model = \"gpt-5.5\"\n");
}

#[test]
fn claude_continues_its_session() {
    reviewed_change_is_continued_in_its_session("claude", "");
}
