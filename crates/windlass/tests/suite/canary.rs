//! Canary secrets that an agent, a tool, a test and a provider reveal: no output, file or response contains them.

use serde_json::{Value, json};
use windlass_core::mask::secret_encodings;

use super::cli_harness::Run;
use super::real_composite::{self, model};
use super::run::Server;
use super::serve_harness::ServeProcess;
use super::task_harness::TaskHarness;

/// The places that hold a secret: a variable of the environment, the project's `.env` and the configuration.
const ENVIRONMENT: &str = "canary-environment-9d1c";
const DOT_ENV: &str = "canary/dot\"env+4be7=";
const CONFIG: &str = "canary-config-52fa";
const SECRETS: [&str; 3] = [ENVIRONMENT, DOT_ENV, CONFIG];

/// Fails if the text contains a secret in any encoding.
#[track_caller]
fn assert_clean(place: &str, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    for secret in SECRETS {
        for form in secret_encodings(secret) {
            let at = text.find(&form);
            let near = at.map(|at| {
                let start = text.floor_char_boundary(at.saturating_sub(200));
                let end = text.ceil_char_boundary((at + 200).min(text.len()));
                &text[start..end]
            });
            assert_eq!(near, None, "{place} contains {form}");
        }
    }
}

/// Returns a project whose agent reads a file with all secrets, repeats them in every form, and writes them into its
/// final answer, and whose tests print them.
fn harness() -> TaskHarness {
    let forms: Vec<String> = SECRETS
        .iter()
        .flat_map(|secret| secret_encodings(secret))
        .collect();
    let all = SECRETS.join("\n");
    let script = json!({ "turns": [
        { "when": { "turn": 1 }, "or_more": true, "answer": [
            { "reasoning": format!("The key is {ENVIRONMENT}.") },
            { "text": format!("I found {all}\nhttps://host/?token={DOT_ENV}\nAuthorization: Bearer {CONFIG}\n") },
            { "text": forms.join("\n") },
            { "read_file": { "path": "secrets.txt" } },
            { "shell": { "command": format!("cat secrets.txt; echo '{ENVIRONMENT}'") } },
            { "write_file": { "path": "done.txt", "content": "done\n" } },
        ] },
        { "or_more": true, "answer": [{ "text": format!("Done. I used {all}.") }] },
    ] });
    let harness = TaskHarness::new("cat secrets.txt; test -f done.txt", &script.to_string());
    let broken = json!({ "turns": [
        { "or_more": true, "fault": { "status": { "code": 401, "message": format!("bad key {all}") } } },
    ] });
    std::fs::write(harness.path("broken.json"), broken.to_string()).unwrap();
    let named = harness.path("named.toml");
    let config = std::fs::read_to_string(&named).unwrap();
    let config = format!(
        "{config}[agents.broken]\nbackend = \"mock\"\nscript = {:?}\n\
         [agents.other]\nbackend = \"codex\"\nextra_env = {{ MORE = {CONFIG:?} }}\n",
        harness.path("broken.json")
    );
    std::fs::write(named, config).unwrap();
    harness.file("secrets.txt", &format!("{all}\n"));
    harness.git(&["add", "-A"]);
    harness.git(&["commit", "-q", "-m", "Add a file"]);
    harness.file(".env", &format!("SHOP_TOKEN='{DOT_ENV}'\n"));
    harness
}

fn run(harness: &TaskHarness, args: &[&str]) -> Run {
    let mut command = harness.command();
    Run::of(command.env("SHOP_API_KEY", ENVIRONMENT).args(args))
}

#[track_caller]
fn assert_run_clean(harness: &TaskHarness, args: &[&str]) -> Run {
    let ran = run(harness, args);
    assert_clean(&format!("stdout of {args:?}"), ran.stdout.as_bytes());
    assert_clean(&format!("stderr of {args:?}"), ran.stderr.as_bytes());
    ran
}

#[test]
fn p19_secrets_of_an_attempt_are_masked_everywhere() {
    let harness = harness();
    harness.json(&["task", "add", "Do it", "--json"]);
    harness.json(&["task", "add", "Fail", "--agent", "broken", "--json"]);
    assert_run_clean(&harness, &["worker", "--once", "-vvv"]);
    let shown = assert_run_clean(&harness, &["task", "show", "1", "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["task"]["status"], "completed", "{shown}");
    for args in [
        &["task", "show", "1"][..],
        &["task", "show", "2", "--json"],
        &["task", "log", "1", "--json"],
        &["task", "log", "2"],
        &["trace", "--json"],
        &["approvals", "--all", "--json"],
        &["config", "--json"],
    ] {
        assert_run_clean(&harness, args);
    }
    let log = run(&harness, &["task", "log", "1"]).stdout;
    assert!(log.contains("[masked:SHOP_API_KEY]"), "{log}");

    let message = harness.git(&["log", "--all", "--format=%B"]);
    assert!(message.contains("[masked:MORE]"), "{message}");
    assert_clean("the commit message", message.as_bytes());
    for name in ["tasks.db", "tasks.db-wal"] {
        let bytes = std::fs::read(harness.path(name)).unwrap_or_default();
        assert_clean(name, &bytes);
    }
}

#[test]
fn p19_secrets_of_an_attempt_are_masked_by_the_server() {
    let harness = harness();
    harness.json(&["task", "add", "Do it", "--json"]);
    assert_run_clean(&harness, &["worker", "--once"]);
    let serving = ServeProcess::start(&harness, &["--no-worker"]);
    let traces = serving.get("/tasks/1/traces");
    assert_clean("traces", traces.to_string().as_bytes());
    for path in [
        "/tasks",
        "/tasks/1",
        "/tasks/1/attempts",
        "/tasks/1/tests",
        "/tasks/1/corrections",
        "/tasks/1/proof",
        "/tasks/1/events",
        "/events",
        "/traces",
        "/agents",
    ] {
        assert_clean(path, serving.get(path).to_string().as_bytes());
    }
    let mut socket = serving.connect_ws("?after=0");
    let last = socket.next().unwrap()["last"].as_u64().unwrap();
    let mut seen = 0;
    while seen < last {
        let message = socket.next().unwrap();
        assert_clean("the WebSocket", message.to_string().as_bytes());
        seen = message["seq"].as_u64().unwrap_or(seen);
    }
    assert!(last > 3, "{last}");
}

#[test]
fn p19_secrets_of_a_turn_are_masked_in_output_and_cassette() {
    let harness = harness();
    for output in ["text", "json", "events"] {
        let asked = assert_run_clean(&harness, &["ask", "-vvv", "-o", output, "Do it"]);
        assert!(asked.stdout.contains("[masked:"), "{asked:?}");
    }
    let failed = assert_run_clean(&harness, &["ask", "-a", "broken", "Do it"]);
    assert!(failed.stderr.contains("[masked:"), "{failed:?}");
    let file = harness.path("turn.jsonl");
    let to = file.to_str().unwrap();
    assert_run_clean(&harness, &["record", "--to", to, "Do it"]);
    assert_clean("the cassette", &std::fs::read(&file).unwrap());
}

/// The agent API passes the messages of a model on without a turn.
#[test]
fn p19_secrets_in_native_answers_are_masked_by_the_server() {
    let text = format!("The key is {CONFIG}.");
    let message = format!("bad key {CONFIG}");
    let answering = Server::with_turns(json!([{ "or_more": true, "answer": [{ "text": text }] }]));
    let failing = Server::with_turns(json!([
        { "or_more": true, "fault": { "status": { "code": 401, "message": message } } },
    ]));
    let harness = real_composite::harness(
        &(model("answering", "openai", "/v1", &answering)
            + &model("failing", "openai", "/v1", &failing)
            + &format!(
                "[agents.other]\nbackend = \"codex\"\nextra_env = {{ MORE = {CONFIG:?} }}\n"
            )),
    );
    let serving = ServeProcess::start(&harness, &["--no-worker"]);
    for (name, stream) in [
        ("answering", false),
        ("answering", true),
        ("failing", false),
    ] {
        let messages = json!([{ "role": "user", "content": "Which key?" }]);
        let body = json!({ "model": name, "messages": messages, "stream": stream });
        let (_, answer) = serving.raw_request("POST", "/v1/chat/completions", Some(&body));
        assert_clean(name, answer.as_bytes());
        assert!(answer.contains("[masked:MORE]"), "{name}: {answer}");
    }
    assert_clean("traces", serving.get("/traces").to_string().as_bytes());
}
