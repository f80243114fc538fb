//! The real Codex and the real Claude Code do one task side by side, on scripted models.

use serde_json::{Value, json};

use super::real_composite::{harness, json_of, run};
use super::run::Server;

/// Turns that write a file and end, however often they are asked.
fn writes(content: &str) -> Value {
    json!([
        {
            "when": { "turn": 1 },
            "or_more": true,
            "answer": [{ "write_file": { "path": "done.txt", "content": content } }],
        },
        { "or_more": true, "answer": [{ "text": "Done." }] },
    ])
}

pub(crate) fn agent(name: &str, model: &str, server: &Server) -> String {
    format!(
        "[agents.{name}]\nbackend = \"{name}\"\n{model}endpoint = \"{}\"\n\
         api_key_env = \"ANY_KEY\"\npermissions = \"allow\"\n",
        server.url()
    )
}

fn right_one_wins(right: &str, wrong: &str) {
    let good = Server::with_turns(writes("done\n"));
    let bad = Server::with_turns(writes("not yet\n"));
    let of = |name: &str| if name == right { &good } else { &bad };
    let harness = harness(
        &(agent("codex", "model = \"gpt-5.5\"\n", of("codex"))
            + &agent("claude", "", of("claude"))),
    );
    harness.lease(60);
    let add = [
        "task",
        "add",
        "Write done.txt",
        "--agents",
        "codex,claude",
        "--best-of",
        "2",
        "--attempts",
        "1",
        "--json",
    ];
    json_of(run(&harness, &add));
    let worker = run(&harness, &["worker", "--once"]);
    let shown = json_of(run(&harness, &["task", "show", "1", "--json"]));
    assert_eq!(
        shown["task"]["status"], "completed",
        "{shown:#}\n{}{}",
        worker.stdout, worker.stderr
    );
    assert_eq!(shown["task"]["agent"], right);
    for candidate in shown["candidates"].as_array().unwrap() {
        let is_right = candidate["agent"] == right;
        assert_eq!(candidate["chosen"], is_right, "{candidate}");
        assert_eq!(candidate["proved"], is_right, "{candidate}");
        assert!(candidate["agent"] == right || candidate["agent"] == wrong);
    }
    let text = run(&harness, &["task", "show", "1"]).stdout;
    assert!(text.contains("codex") && text.contains("claude"), "{text}");
}

#[test]
#[ignore = "full: starts the real Codex and the real Claude Code"]
fn claude_wins_over_codex_if_it_is_right() {
    right_one_wins("claude", "codex");
}

#[test]
#[ignore = "full: starts the real Codex and the real Claude Code"]
fn codex_wins_over_claude_if_it_is_right() {
    right_one_wins("codex", "claude");
}
