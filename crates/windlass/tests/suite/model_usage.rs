//! Models behind HTTP are counted and limited like programs, and a task beyond its budget keeps its work.

use serde_json::{Value, json};

use super::real_composite::{harness, json_of, model, run};
use super::run::Server;
use super::serve_harness::ServeProcess;

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

/// Sends a request to `windlass serve`, and returns its status and response.
fn request(server: &ServeProcess, path: &str, body: &Value) -> (u16, String) {
    let (head, body) = server.raw_request("POST", path, Some(body));
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body)
}

#[test]
fn p26_requests_that_serve_passes_on_are_counted_and_limited() {
    let server = Server::with_turns(json!([{ "or_more": true, "answer": [{ "text": "Yes." }] }]));
    let agents = model("first", "openai", "/v1", &server)
        + "[composites.both]\nkind = \"fallback\"\nnodes = [\"first\"]\n"
        + PRICES
        + "[spending]\nday_usd = 1.035\n";
    let harness = harness(&agents);
    let serving = ServeProcess::start(&harness, &["--no-worker"]);
    let messages = json!([{ "role": "user", "content": "Ready?" }]);
    let chat = json!({ "model": "first", "messages": messages });
    let stream = json!({ "model": "first", "stream": true, "messages": messages });
    let other = json!({ "model": "first", "max_tokens": 9, "messages": messages });
    let both = json!({ "model": "composite/profile/both", "messages": messages });
    // Relayed as a document and as a stream, translated, and by a composite.
    let mut rows = Value::Null;
    for (number, path, body) in [
        (1, "/v1/chat/completions", &chat),
        (2, "/v1/chat/completions", &stream),
        (3, "/v1/messages", &other),
        (4, "/v1/chat/completions", &both),
    ] {
        let (status, text) = request(&serving, path, body);
        assert_eq!(status, 200, "{text}");
        // The end of a call is stored after its response.
        rows = serving.wait_until("/usage/calls?by=agent", |rows| {
            rows[0]["calls"] == number && rows[0]["calls_not_done"] == 0
        });
    }
    assert_eq!(rows[0]["output_tokens"], 40, "{rows}");
    assert_eq!(rows[0]["cost_usd"], 0.04, "{rows}");
    assert_eq!(usage(&harness), rows);

    for body in [&chat, &stream] {
        let (status, text) = request(&serving, "/v1/chat/completions", body);
        let expected = "windlass budget exceeded: the spending limit of the day is $1.0350";
        assert!(text.contains(expected), "{status} {text}");
        assert_ne!(status, 200, "{text}");
    }
    assert_eq!(server.request_count(), 4, "a call was sent");
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
