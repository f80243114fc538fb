//! Composites and aliases served as models by a real `windlass serve`.

use std::time::Duration;

use serde_json::{Value, json};

use super::real_composite::{harness, json_of, model, rate_limited, run, step_lines};
use super::run::Server;
use super::serve_harness::ServeProcess;
use super::task_harness::TaskHarness;

/// The response of a model.
struct Answer {
    status: u16,
    head: String,
    body: Value,
}

fn serve(harness: &TaskHarness) -> ServeProcess {
    ServeProcess::start(harness, &["--no-worker"])
}

/// Sends a request to this model over OpenAI's API.
fn chat(server: &ServeProcess, model: &str) -> Answer {
    let messages = json!([{ "role": "user", "content": "Hello?" }]);
    let body = json!({ "model": model, "messages": messages });
    let (head, body) = server.raw_request("POST", "/v1/chat/completions", Some(&body));
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_lowercase(),
        body: serde_json::from_str(&body).unwrap_or(Value::Null),
    }
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = lines.filter(|(key, _)| *key == name);
        found.next().map(|(_, value)| value)
    }

    #[track_caller]
    fn check_text(&self, expected: &str) {
        let text = &self.body["choices"][0]["message"]["content"];
        assert_eq!(
            (self.status, text),
            (200, &json!(expected)),
            "{}",
            self.body
        );
    }

    /// Returns the trace named in the response's header. The server stores it after the response is sent.
    #[track_caller]
    fn trace(&self, harness: &TaskHarness) -> Value {
        let id = self.header("x-windlass-trace").unwrap();
        let look_up = || run(harness, &["trace", id, "--json"]);
        let mut found = look_up();
        for _ in 0..50 {
            if found.code == 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
            found = look_up();
        }
        json_of(found)
    }
}

fn answering(text: &str) -> Server {
    Server::with_turns(json!([{ "or_more": true, "answer": [{ "text": text }] }]))
}

#[test]
fn p11_served_fallback_skips_nodes_in_cool_down() {
    let (first, second) = (rate_limited(), answering("Here I am."));
    let harness = harness(
        &(model("first", "openai", "/v1", &first)
            + &model("second", "anthropic", "", &second)
            + "[agents.echo]\nbackend = \"mock\"\n"
            + "[composites.both]\nkind = \"fallback\"\nnodes = [\"first\", \"second\"]\n"
            + "[composites.mixed]\nkind = \"fallback\"\nnodes = [\"first\", \"echo\"]\n"
            + "[model_list.\"gpt-4o\"]\nagent = \"composite/profile/both\"\n"),
    );
    let server = serve(&harness);
    let name = "composite/profile/both";
    for (index, expected) in [
        ["node first RateLimited", "node second ok"],
        ["skipped first RateLimited", "node second ok"],
        ["skipped first RateLimited", "node second ok"],
    ]
    .into_iter()
    .enumerate()
    {
        let answer = chat(&server, if index == 2 { "gpt-4o" } else { name });
        answer.check_text("Here I am.");
        assert_eq!(answer.header("x-windlass-agent"), Some(name));
        let trace = answer.trace(&harness);
        assert_eq!(step_lines(&trace["children"]), expected, "{trace}");
        assert!(trace["usage"]["output_tokens"].is_number(), "{trace}");
    }
    // A composite with a node that accepts only text receives the conversation as text.
    let answer = chat(&server, "composite/profile/mixed");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let trace = answer.trace(&harness);
    let turn = &trace["children"][0];
    assert_eq!(
        step_lines(&turn["children"]),
        ["node first RateLimited", "node echo ok"],
        "{trace}"
    );
    second.finish();
}

#[test]
fn cool_down_sets_retry_after_and_unknown_model_lists_closest_names() {
    let first = Server::with_turns(
        json!([{ "or_more": true, "fault": { "status": { "code": 429, "retry_after_secs": 30 } } }]),
    );
    let harness = harness(
        &(model("first", "openai", "/v1", &first)
            + "[agents.echo]\nbackend = \"mock\"\n"
            + "[composites.alone]\nkind = \"fallback\"\nnodes = [\"first\"]\n"
            + "[model_list.local]\nagent = \"echo\"\n"),
    );
    let server = serve(&harness);
    for _ in 0..2 {
        let limited = chat(&server, "composite/profile/alone");
        assert_eq!(limited.status, 429, "{}", limited.body);
        let wait: u64 = limited.header("retry-after").unwrap().parse().unwrap();
        assert!((25..=30).contains(&wait), "{wait}");
    }
    let unknown = chat(&server, "composite/profile/alon");
    assert_eq!(unknown.status, 404);
    let message = unknown.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("composite/profile/alone"), "{message}");
    let (_, listed) = server.request("GET", "/v1/models", None);
    let ids: Vec<&str> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|card| card["id"].as_str())
        .collect();
    for name in ["first", "echo", "local", "composite/profile/alone"] {
        assert!(ids.contains(&name), "{ids:?}");
    }
    assert!(!ids.contains(&"gemini"), "it is not configured: {ids:?}");
    assert_eq!(chat(&server, "local").status, 200);
}
