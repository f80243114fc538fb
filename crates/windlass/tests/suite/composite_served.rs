//! Composites and aliases as models of a real `windlass serve`.

use serde_json::{Value, json};

use super::real_composite::{busy, json_of, model, run, shown, world};
use super::run::Server;
use super::serve_world::Serving;
use super::task_world::TaskWorld;

/// What a model answered.
struct Answer {
    status: u16,
    head: String,
    body: Value,
}

fn serve(world: &TaskWorld) -> Serving {
    Serving::start(world, &["--no-worker"])
}

/// Asks this model, by OpenAI's API.
fn chat(server: &Serving, model: &str) -> Answer {
    let messages = json!([{ "role": "user", "content": "Hello?" }]);
    let body = json!({ "model": model, "messages": messages });
    let (head, body) = server.whole("POST", "/v1/chat/completions", Some(&body));
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
    fn says(&self, expected: &str) {
        let text = &self.body["choices"][0]["message"]["content"];
        assert_eq!(
            (self.status, text),
            (200, &json!(expected)),
            "{}",
            self.body
        );
    }

    /// The steps of the trace that it names.
    #[track_caller]
    fn trace(&self, world: &TaskWorld) -> Value {
        let id = self.header("x-windlass-trace").unwrap();
        json_of(run(world, &["trace", id, "--json"]))
    }
}

fn says(text: &str) -> Server {
    Server::saying(json!([{ "or_more": true, "answer": [{ "text": text }] }]))
}

#[test]
fn p11_a_fallback_is_a_model_that_knows_who_rests() {
    let (first, second) = (busy(), says("Here I am."));
    let world = world(
        &(model("first", "openai", "/v1", &first)
            + &model("second", "anthropic", "", &second)
            + "[agents.echo]\nbackend = \"mock\"\n"
            + "[composites.both]\nkind = \"fallback\"\nnodes = [\"first\", \"second\"]\n"
            + "[composites.mixed]\nkind = \"fallback\"\nnodes = [\"first\", \"echo\"]\n"
            + "[model_list.\"gpt-4o\"]\nagent = \"composite/profile/both\"\n"),
    );
    let server = serve(&world);
    let name = "composite/profile/both";
    for (place, expected) in [
        ["node first RateLimited", "node second ok"],
        ["skipped first RateLimited", "node second ok"],
        ["skipped first RateLimited", "node second ok"],
    ]
    .into_iter()
    .enumerate()
    {
        let answer = chat(&server, if place == 2 { "gpt-4o" } else { name });
        answer.says("Here I am.");
        assert_eq!(answer.header("x-windlass-agent"), Some(name));
        let trace = answer.trace(&world);
        assert_eq!(shown(&trace["children"]), expected, "{trace}");
        assert!(trace["usage"]["output_tokens"].is_number(), "{trace}");
    }
    // One that has a node which only takes text is told the conversation as text.
    let answer = chat(&server, "composite/profile/mixed");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let trace = answer.trace(&world);
    let turn = &trace["children"][0];
    assert_eq!(
        shown(&turn["children"]),
        ["node first RateLimited", "node echo ok"],
        "{trace}"
    );
    second.end();
}

#[test]
fn whoever_rests_says_how_long_and_whoever_is_not_there_who_is() {
    let first = Server::saying(
        json!([{ "or_more": true, "fault": { "status": { "code": 429, "retry_after_secs": 30 } } }]),
    );
    let world = world(
        &(model("first", "openai", "/v1", &first)
            + "[agents.echo]\nbackend = \"mock\"\n"
            + "[composites.alone]\nkind = \"fallback\"\nnodes = [\"first\"]\n"
            + "[model_list.local]\nagent = \"echo\"\n"),
    );
    let server = serve(&world);
    for _ in 0..2 {
        let refused = chat(&server, "composite/profile/alone");
        assert_eq!(refused.status, 429, "{}", refused.body);
        let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((25..=30).contains(&wait), "{wait}");
    }
    let unknown = chat(&server, "composite/profile/alon");
    assert_eq!(unknown.status, 404);
    let said = unknown.body["error"]["message"].as_str().unwrap();
    assert!(said.contains("composite/profile/alone"), "{said}");
    let (_, listed) = server.ask("GET", "/v1/models", None);
    let ids: Vec<&str> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|card| card["id"].as_str())
        .collect();
    for name in ["first", "echo", "local", "composite/profile/alone"] {
        assert!(ids.contains(&name), "{ids:?}");
    }
    assert!(!ids.contains(&"gemini"), "nobody configured it: {ids:?}");
    assert_eq!(chat(&server, "local").status, 200);
}
