//! Composites of real programs and of scripted models.

use std::path::Path;

use serde_json::{Value, json};

use super::cli_harness::Run;
use super::real_scenarios::{programs, programs_of};
use super::run::Server;
use super::task_harness::{INSTANT, TaskHarness};

const TEST_COMMAND: &str = "grep -q '^done$' done.txt && echo '1 passed, 0 failed'";

/// Creates a project with these agents.
pub(crate) fn harness(agents: &str) -> TaskHarness {
    let harness = TaskHarness::new(TEST_COMMAND, r#"{"turns": []}"#);
    let file = harness.path("named.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{config}{agents}")).unwrap();
    harness
}

/// Returns the PATH with the real agents.
pub(crate) fn path_with_agents() -> String {
    let peer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/tests/peer");
    let peer = peer.canonicalize().unwrap();
    let own = std::env::var("PATH").unwrap();
    format!("{}:{}:{own}", programs().display(), peer.display())
}

/// Runs the program with the real agents in its PATH.
pub(crate) fn run(harness: &TaskHarness, args: &[&str]) -> Run {
    let mut command = harness.command();
    Run::of(
        command
            .env("PATH", path_with_agents())
            .env("ANY_KEY", "canary-of-all")
            .args(args),
    )
}

#[track_caller]
pub(crate) fn json_of(run: Run) -> Value {
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

/// Returns the configuration of an HTTP model without retries.
pub(crate) fn model(name: &str, backend: &str, base: &str, server: &Server) -> String {
    format!(
        "[agents.{name}]\nbackend = \"{backend}\"\nmodel = \"m\"\nendpoint = \"{}{base}\"\n\
         max_retries = 0\npermissions = \"allow\"\n",
        server.url()
    )
}

/// Returns the configuration of the real Codex on this model, without retries.
fn codex(server: &Server) -> String {
    let retries = ["request", "stream"]
        .map(|kind| format!("\"-c\", \"model_providers.windlass.{kind}_max_retries=0\""));
    format!(
        "[agents.codex]\nbackend = \"codex\"\ntransport = \"exec\"\nmodel = \"gpt-5.5\"\nendpoint = \"{}\"\n\
         api_key_env = \"ANY_KEY\"\npermissions = \"allow\"\nextra_args = [{}]\n",
        server.url(),
        retries.join(", ")
    )
}

/// Returns a server that answers every request with 429.
pub(crate) fn rate_limited() -> Server {
    Server::with_turns(json!([{ "or_more": true, "fault": { "status": { "code": 429 } } }]))
}

/// Formats steps as name, agent and outcome.
pub(crate) fn step_lines(steps: &Value) -> Vec<String> {
    let steps = steps.as_array().into_iter().flatten();
    steps
        .map(|step| {
            let end = step["error"]["code"].as_str().unwrap_or("ok");
            let parts = [&step["name"], &step["agent"]].map(|part| part.as_str().unwrap_or("-"));
            format!("{} {end}", parts.join(" "))
        })
        .collect()
}

/// Returns the trace steps in the events of a turn.
fn trace_steps(run: &Run) -> Vec<Value> {
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let events = run.stdout.lines().map(|line| {
        let envelope: Value = serde_json::from_str(line).unwrap();
        envelope["event"].clone()
    });
    events
        .filter(|event| event["type"] == "Custom" && event["kind"] == "trace")
        .map(|event| event["payload"].clone())
        .collect()
}

#[test]
fn p11_fallback_uses_next_node_and_skips_node_in_cool_down() {
    let first = rate_limited();
    let second =
        Server::with_turns(serde_json::from_str::<Value>(INSTANT).unwrap()["turns"].clone());
    let agents = model("first", "openai", "/v1", &first)
        + &model("second", "anthropic", "", &second)
        + "[composites.both]\nkind = \"fallback\"\nnodes = [\"first\", \"second\"]\n";
    let harness = harness(&agents);
    for title in ["One", "Two", "Three"] {
        let added = ["task", "add", "--agent", "composite/profile/both", title];
        assert_eq!(run(&harness, &added).code, 0);
    }
    let worker = run(&harness, &["worker", "--once", "-c", "1"]);
    assert_eq!(worker.code, 0, "{}{}", worker.stdout, worker.stderr);
    for (task, expected) in [
        (1, ["node first RateLimited", "node second ok"]),
        (2, ["skipped first RateLimited", "node second ok"]),
        (3, ["skipped first RateLimited", "node second ok"]),
    ] {
        let id = format!("task-{task}-attempt-1");
        let trace = json_of(run(&harness, &["trace", &id, "--json"]));
        let steps = trace["children"].as_array().unwrap();
        let prompt = steps.iter().find(|step| step["name"] == "prompt").unwrap();
        assert_eq!(step_lines(&prompt["children"]), expected, "{id}");
        if task == 1 {
            assert_eq!(prompt["children"][0]["status"], 429);
        }
        assert!(prompt["usage"]["output_tokens"].as_u64().unwrap() > 0);
    }
    let picture = run(&harness, &["trace", "task-1-attempt-1"]).stdout;
    assert!(picture.contains("node first"), "{picture}");
    assert!(picture.contains("status 429"), "{picture}");
    second.finish();
}

#[test]
fn program_acp_agent_and_model_can_all_be_nodes() {
    let (codex_model, free) = (
        rate_limited(),
        Server::with_turns(json!([{ "answer": [{ "text": "At last." }] }])),
    );
    let agents = codex(&codex_model)
        + "[agents.peer]\nbackend = \"acp\"\ncommand = [\"acp-peer\", \"crashes-mid-message\"]\n"
        + &model("free", "ollama", "", &free)
        + "[composites.three]\nkind = \"fallback\"\nnodes = [\"codex\", \"peer\", \"free\"]\n";
    let harness = harness(&agents);
    let args = [
        "ask",
        "-a",
        "composite/profile/three",
        "-o",
        "events",
        "Hello?",
    ];
    let steps = trace_steps(&run(&harness, &args));
    assert_eq!(
        step_lines(&json!(steps)),
        [
            "node codex RateLimited",
            "node peer SessionOrphaned",
            "node free ok"
        ]
    );
    // Each kind of node reports its exit code or usage.
    assert_eq!(steps[0]["exit_code"], 1, "{}", steps[0]);
    assert!(steps[1]["exit_code"].is_number(), "{}", steps[1]);
    assert!(
        steps[2]["usage"]["output_tokens"].is_number(),
        "{}",
        steps[2]
    );
    free.finish();
}

#[test]
fn every_kind_of_node_can_be_the_fallback() {
    let says =
        || Server::with_turns(json!([{ "or_more": true, "answer": [{ "text": "It is me." }] }]));
    let (dead, codex_model, free) = (rate_limited(), says(), says());
    let agents = codex(&codex_model)
        + "[agents.peer]\nbackend = \"acp\"\ncommand = [\"acp-peer\", \"echo\"]\n"
        + &model("free", "openai", "/v1", &free)
        + &model("busy", "openai", "/v1", &dead)
        + "[composites.codex]\nkind = \"fallback\"\nnodes = [\"busy\", \"codex\"]\n"
        + "[composites.peer]\nkind = \"fallback\"\nnodes = [\"busy\", \"peer\"]\n"
        + "[composites.free]\nkind = \"fallback\"\nnodes = [\"busy\", \"free\"]\n";
    let harness = harness(&agents);
    for node in ["codex", "peer", "free"] {
        let name = format!("composite/profile/{node}");
        let report = json_of(run(
            &harness,
            &["ask", "-a", &name, "-o", "json", "Who is it?"],
        ));
        assert_eq!(report["status"], "result", "{report}");
        let session = report["session"].as_str().unwrap();
        assert!(session.starts_with(&format!("{node}:")), "{session}");
    }
}

/// The gate uses a test peer for ACP; a real ACP agent runs only in the full tier.
#[test]
#[ignore = "full: starts a real ACP agent"]
fn real_acp_agent_is_fallback_for_codex() {
    let path = programs_of("agents-acp").join("codex-acp");
    let says =
        Server::with_turns(json!([{ "or_more": true, "answer": [{ "text": "It is me." }] }]));
    let refuses = rate_limited();
    let agents = codex(&refuses)
        + &format!(
            "[agents.codex-acp]\nbin = {path:?}\nmodel = \"gpt-5.5\"\nendpoint = \"{}\"\napi_key_env = \"ANY_KEY\"\n",
            says.url()
        )
        + "[composites.pair]\nkind = \"fallback\"\nnodes = [\"codex\", \"codex-acp\"]\n";
    let harness = harness(&agents);
    let args = [
        "ask",
        "-a",
        "composite/profile/pair",
        "-o",
        "events",
        "Who?",
    ];
    let steps = trace_steps(&run(&harness, &args));
    let expected = ["node codex RateLimited", "node codex-acp ok"];
    assert_eq!(step_lines(&json!(steps)), expected);
}

#[test]
fn model_plans_and_real_codex_executes() {
    let plan = json!({ "plan": ["Write done.txt"], "coder_prompt": "Write done into done.txt.", "tests": [] });
    let planner = Server::with_turns(json!([{ "answer": [{ "json": plan }] }]));
    let coder = Server::with_turns(json!([
        { "when": { "contains": "Write done into done.txt." }, "answer": [{ "write_file": { "path": "done.txt", "content": "done\n" } }] },
        { "or_more": true, "answer": [{ "text": "It is written." }] },
    ]));
    let agents = model("thinker", "ollama", "", &planner)
        + &codex(&coder)
        + "[composites.pair]\nkind = \"plan_execute\"\nnodes = [\"thinker\", \"codex\"]\n";
    let harness = harness(&agents);
    let args = [
        "ask",
        "-a",
        "composite/profile/pair",
        "-o",
        "events",
        "Finish it",
    ];
    let ran = run(&harness, &args);
    assert_eq!(
        step_lines(&json!(trace_steps(&ran))),
        ["plan thinker ok", "node codex ok"]
    );
    assert_eq!(harness.read("done.txt"), "done\n");
    assert!(ran.stdout.contains("\"type\":\"Plan\""), "{}", ran.stdout);
    planner.finish();
}

#[test]
fn invalid_composite_error_names_its_key() {
    let harness = harness(
        "[agents.echo]\nbackend = \"mock\"\n\
         [composites.a]\nkind = \"fallback\"\nnodes = [\"echo\", \"composite/profile/b\"]\n\
         [composites.b]\nkind = \"single\"\nnodes = [\"composite/profile/a\"]\n\
         [composites.typo]\nkind = \"single\"\nnodes = [\"ecko\"]\n\
         [composites.kindless]\nnodes = [\"echo\"]\n\
         [composites.nodeless]\nkind = \"single\"\n\
         [composites.alone]\nkind = \"plan_execute\"\nnodes = [\"echo\"]\n\
         [composites.good]\nkind = \"single\"\nnodes = [\"echo\"]\n\
         [model_list.\"my/model\"]\nagent = \"composite/profile/good\"\n",
    );
    for (name, expected) in [
        (
            "a",
            "composites.b.nodes: it contains itself: composite/profile/a → composite/profile/b → composite/profile/a",
        ),
        (
            "typo",
            "composites.typo.nodes: unknown agent `ecko`: known agents: ",
        ),
        ("kindless", "composites.kindless.kind: is not set"),
        ("nodeless", "composites.nodeless.nodes: is not set"),
        (
            "alone",
            "composites.alone.nodes: 1 given, expected two agents",
        ),
        ("god", "(did you mean `composite/profile/good`?)"),
    ] {
        let name = format!("composite/profile/{name}");
        let refused = run(&harness, &["ask", "-a", &name, "Hello"]);
        assert_ne!(refused.code, 0);
        assert!(
            refused.stderr.contains(expected),
            "{name}: {}",
            refused.stderr
        );
    }
    let answered = run(&harness, &["ask", "-a", "my/model", "Hello"]);
    assert_eq!(
        (answered.code, answered.stdout.trim()),
        (0, "Hello"),
        "{}",
        answered.stderr
    );
    let listed = json_of(run(&harness, &["agents", "--json"]));
    let row = listed.as_array().unwrap().iter();
    let mut row = row.filter(|row| row["name"] == "composite/profile/good");
    let row = row.next().unwrap();
    assert_eq!(
        (&row["transport"], &row["health"]),
        (&json!("single"), &json!("ok"))
    );
}
