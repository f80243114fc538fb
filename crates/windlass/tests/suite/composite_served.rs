//! Composites and aliases as models of a real `windlass serve`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::composite::{busy, json_of, model, run, shown, world};
use super::run::Server;
use super::task_world::TaskWorld;

/// A server process without workers. It is killed when the test ends.
struct Serving {
    child: Child,
    addr: String,
    token: String,
}

/// What it answered.
struct Answer {
    status: u16,
    head: String,
    body: Value,
}

impl Serving {
    fn start(world: &TaskWorld) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "a test that reads from a server needs the child itself"
        )]
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("windlass"))
            .env_clear()
            .env("HOME", world.home())
            .env("ANY_KEY", "canary-of-all")
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir(world.project())
            .arg("--config")
            .arg(world.path("named.toml"))
            .args(["serve", "--listen", "127.0.0.1:0", "--no-worker"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let addr = line.trim().strip_prefix("ready at http://").unwrap();
        let file = world.home().join(".local/state/windlass/server-token");
        Self {
            addr: addr.to_owned(),
            token: std::fs::read_to_string(file).unwrap().trim().to_owned(),
            child,
        }
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let (addr, token) = (&self.addr, &self.token);
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(addr).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_lowercase(),
            body: serde_json::from_str(body).unwrap_or(Value::Null),
        }
    }

    /// Asks this model, by OpenAI's API.
    fn chat(&self, model: &str) -> Answer {
        let messages = json!([{ "role": "user", "content": "Hello?" }]);
        let body = json!({ "model": model, "messages": messages });
        self.ask("POST", "/v1/chat/completions", &body.to_string())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
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
    let server = Serving::start(&world);
    let name = "composite/profile/both";
    for (place, expected) in [
        ["node first RateLimited", "node second ok"],
        ["skipped first RateLimited", "node second ok"],
        ["skipped first RateLimited", "node second ok"],
    ]
    .into_iter()
    .enumerate()
    {
        let answer = server.chat(if place == 2 { "gpt-4o" } else { name });
        answer.says("Here I am.");
        assert_eq!(answer.header("x-windlass-agent"), Some(name));
        let trace = answer.trace(&world);
        assert_eq!(shown(&trace["children"]), expected, "{trace}");
        assert!(trace["usage"]["output_tokens"].is_number(), "{trace}");
    }
    // One that has a node which only takes text is told the conversation as text.
    let answer = server.chat("composite/profile/mixed");
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
    let server = Serving::start(&world);
    for _ in 0..2 {
        let refused = server.chat("composite/profile/alone");
        assert_eq!(refused.status, 429, "{}", refused.body);
        let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((25..=30).contains(&wait), "{wait}");
    }
    let unknown = server.chat("composite/profile/alon");
    assert_eq!(unknown.status, 404);
    let said = unknown.body["error"]["message"].as_str().unwrap();
    assert!(said.contains("composite/profile/alone"), "{said}");
    let listed = server.ask("GET", "/v1/models", "").body;
    let ids: Vec<&str> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|card| card["id"].as_str())
        .collect();
    for name in [
        "first",
        "echo",
        "local",
        "composite/profile/alone",
        "codex",
        "composer-cli",
    ] {
        assert!(ids.contains(&name), "{ids:?}");
    }
    assert_eq!(server.chat("local").status, 200);
}
