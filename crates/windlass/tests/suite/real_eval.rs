//! The real Codex and the real Claude Code are compared, on scripted models. One of them is worse on purpose.

use serde_json::{Value, json};

use super::eval::{suite, totals};
use super::real_best_of::agent;
use super::real_composite::{harness, json_of, path_with_agents, run};
use super::run::Server;

/// Turns that write the wanted file, but for the tasks with these numbers.
fn turns(failing: &[u32]) -> Value {
    let wrong = failing.iter().map(|number| {
        json!({
            "when": { "turn": 1, "contains": format!("number {number}") },
            "or_more": true,
            "answer": [{ "write_file": { "path": "other.txt", "content": "done\n" } }],
        })
    });
    let right = json!({
        "when": { "turn": 1 },
        "or_more": true,
        "answer": [{ "write_file": { "path": "done.txt", "content": "done\n" } }],
    });
    let last = json!({ "or_more": true, "answer": [{ "text": "Done." }] });
    wrong.chain([right, last]).collect()
}

#[test]
#[ignore = "full: starts the real Codex and the real Claude Code many times"]
fn better_agent_has_the_better_rate_after_a_kill() {
    let (good, bad) = (
        Server::with_turns(turns(&[])),
        Server::with_turns(turns(&[4, 5])),
    );
    let codex = agent("codex", "model = \"gpt-5.5\"\n", &good);
    let harness = harness(&(codex + &agent("claude", "", &bad)));
    harness.lease(20);
    harness.file("eval.toml", &suite("\"codex\", \"claude\"", 5, 3));
    let args = ["eval", "eval.toml", "--concurrency", "2"];
    let mut child = harness
        .child(&args)
        .env("PATH", path_with_agents())
        .env("ANY_KEY", "canary-of-all")
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(25));
    child.kill().unwrap();
    child.wait().unwrap();
    let before = json_of(run(&harness, &["eval", "eval.toml", "--report", "--json"]));
    let done: u64 = totals(&before).values().map(|totals| totals[1]).sum();
    assert!(done < 30, "it was killed too late");

    let report = json_of(run(
        &harness,
        &["eval", "eval.toml", "--concurrency", "2", "--json"],
    ));
    assert_eq!(totals(&report)["codex"], [15, 15, 15], "{report:#}");
    assert_eq!(totals(&report)["claude"], [9, 15, 15], "{report:#}");
    println!(
        "{done} of 30 before the kill\n{}",
        run(&harness, &["eval", "eval.toml", "--report"]).stdout
    );
}
