//! Models behind HTTP are counted and limited like programs, and a task beyond its budget keeps its work.

use serde_json::{Value, json};

use super::real_composite::{harness, json_of, model, run};
use super::run::Server;

/// Each call reserves one dollar, and its answer of ten tokens costs one cent.
const PRICES: &str = "[prices.m]\ninput = 0\noutput = 1000\nmax_output = 1000\n";

fn usage(harness: &super::task_harness::TaskHarness) -> Value {
    json_of(run(harness, &["usage", "--by", "agent", "--json"]))
}

#[test]
fn calls_of_a_model_are_counted_and_limited() {
    let server = Server::with_turns(json!([{ "or_more": true, "answer": [{ "text": "Yes." }] }]));
    let agents = model("first", "openai", "/v1", &server)
        + &model("direct", "anthropic", "", &server)
        + "bridge = \"off\"\n"
        + PRICES
        + "[spending]\nday_usd = 1.005\n";
    let harness = harness(&agents);
    assert_eq!(run(&harness, &["ask", "-a", "first", "Ready?"]).code, 0);
    let rows = usage(&harness);
    assert_eq!(rows[0]["key"], "first", "{rows}");
    assert_eq!(rows[0]["calls"], 1, "{rows}");
    assert_eq!(rows[0]["input_tokens"], 100, "{rows}");
    assert_eq!(rows[0]["output_tokens"], 10, "{rows}");
    assert_eq!(rows[0]["cost_usd"], 0.01, "{rows}");

    let refused = run(&harness, &["ask", "-a", "first", "Again?"]);
    assert_eq!(refused.code, 1, "{}{}", refused.stdout, refused.stderr);
    let text = "windlass budget exceeded: the spending limit of the day is $1.0050";
    assert!(refused.stderr.contains(text), "{}", refused.stderr);
    assert_eq!(server.request_count(), 1, "a call was sent");
    assert_eq!(run(&harness, &["ask", "-a", "direct", "Ready?"]).code, 0);
    assert_eq!(usage(&harness), rows);
}

#[test]
fn task_beyond_its_budget_ends_with_its_work_kept() {
    let server = Server::with_turns(json!([
        { "answer": [{ "write_file": { "path": "half.txt", "content": "half\n" } }] },
        { "or_more": true, "answer": [{ "text": "Done." }] },
    ]));
    let agents =
        model("first", "openai", "/v1", &server) + PRICES + "[spending]\ntask_usd = 1.005\n";
    let harness = harness(&agents);
    let added = run(&harness, &["task", "add", "--agent", "first", "Write it"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    let worker = run(&harness, &["worker", "--once"]);
    assert_eq!(worker.code, 1, "{}{}", worker.stdout, worker.stderr);
    let shown = json_of(run(&harness, &["task", "show", "1", "--json"]));
    assert_eq!(shown["task"]["status"], "failed", "{shown}");
    assert_eq!(
        shown["task"]["attempt"], 1,
        "a second attempt would not help"
    );
    let trace = json_of(run(&harness, &["trace", "task-1-attempt-1", "--json"]));
    assert_eq!(trace["error"]["code"], "BudgetExceeded", "{trace}");
    let kept = run(&harness, &["task", "diff", "1"]);
    assert!(
        kept.stdout.contains("half.txt"),
        "{}{}",
        kept.stdout,
        kept.stderr
    );
    assert_eq!(server.request_count(), 1);
}
