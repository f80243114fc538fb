//! Agents made of others, on real programs and models that say what a script says.

use std::path::Path;

use serde_json::{Value, json};

use super::cli_world::Run;
use super::real_scenarios::{programs, programs_of};
use super::run::Server;
use super::task_world::{INSTANT, TaskWorld};

const TESTED: &str = "grep -q '^done$' done.txt && echo '1 passed, 0 failed'";

/// A project whose agents are these, all with a key.
pub(crate) fn world(agents: &str) -> TaskWorld {
    let world = TaskWorld::new(TESTED, r#"{"turns": []}"#);
    let file = world.path("named.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{config}{agents}")).unwrap();
    world
}

/// What the program says, with the real agents on its path.
pub(crate) fn run(world: &TaskWorld, args: &[&str]) -> Run {
    let peer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/tests/peer");
    let peer = peer.canonicalize().unwrap();
    let own = std::env::var("PATH").unwrap();
    let path = format!("{}:{}:{own}", programs().display(), peer.display());
    let mut command = world.command();
    Run::of(
        command
            .env("PATH", path)
            .env("ANY_KEY", "canary-of-all")
            .args(args),
    )
}

#[track_caller]
pub(crate) fn json_of(run: Run) -> Value {
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

/// A model behind HTTP, which is asked once and not again.
pub(crate) fn model(name: &str, backend: &str, base: &str, server: &Server) -> String {
    format!(
        "[agents.{name}]\nbackend = \"{backend}\"\nmodel = \"m\"\nendpoint = \"{}{base}\"\n\
         max_retries = 0\npermissions = \"allow\"\n",
        server.url()
    )
}

/// The real Codex on this model, patient with nothing.
fn codex(server: &Server) -> String {
    let retries = ["request", "stream"]
        .map(|what| format!("\"-c\", \"model_providers.windlass.{what}_max_retries=0\""));
    format!(
        "[agents.codex]\nbackend = \"codex\"\ntransport = \"exec\"\nmodel = \"gpt-5.5\"\nendpoint = \"{}\"\n\
         api_key_env = \"ANY_KEY\"\npermissions = \"allow\"\nextra_args = [{}]\n",
        server.url(),
        retries.join(", ")
    )
}

pub(crate) fn busy() -> Server {
    Server::saying(json!([{ "or_more": true, "fault": { "status": { "code": 429 } } }]))
}

/// The steps of these: name, agent and how each ended.
pub(crate) fn shown(steps: &Value) -> Vec<String> {
    let steps = steps.as_array().into_iter().flatten();
    steps
        .map(|step| {
            let end = step["error"]["code"].as_str().unwrap_or("ok");
            let words = [&step["name"], &step["agent"]].map(|word| word.as_str().unwrap_or("-"));
            format!("{} {end}", words.join(" "))
        })
        .collect()
}

/// The steps that the events of a turn tell of.
fn told(run: &Run) -> Vec<Value> {
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
fn p11_the_next_stands_in_for_one_that_is_busy_and_rests() {
    let first = busy();
    let second = Server::saying(serde_json::from_str::<Value>(INSTANT).unwrap()["turns"].clone());
    let agents = model("first", "openai", "/v1", &first)
        + &model("second", "anthropic", "", &second)
        + "[composites.both]\nkind = \"fallback\"\nnodes = [\"first\", \"second\"]\n";
    let world = world(&agents);
    for title in ["One", "Two", "Three"] {
        let added = ["task", "add", "--agent", "composite/profile/both", title];
        assert_eq!(run(&world, &added).code, 0);
    }
    let worked = run(&world, &["worker", "--once", "-c", "1"]);
    assert_eq!(worked.code, 0, "{}{}", worked.stdout, worked.stderr);
    for (task, expected) in [
        (1, ["node first RateLimited", "node second ok"]),
        (2, ["skipped first RateLimited", "node second ok"]),
        (3, ["skipped first RateLimited", "node second ok"]),
    ] {
        let id = format!("task-{task}-attempt-1");
        let trace = json_of(run(&world, &["trace", &id, "--json"]));
        let steps = trace["children"].as_array().unwrap();
        let prompt = steps.iter().find(|step| step["name"] == "prompt").unwrap();
        assert_eq!(shown(&prompt["children"]), expected, "{id}");
        if task == 1 {
            assert_eq!(prompt["children"][0]["status"], 429);
        }
        assert!(prompt["usage"]["output_tokens"].as_u64().unwrap() > 0);
    }
    let picture = run(&world, &["trace", "task-1-attempt-1"]).stdout;
    assert!(picture.contains("node first"), "{picture}");
    assert!(picture.contains("status 429"), "{picture}");
    second.end();
}

#[test]
fn a_program_an_acp_agent_and_a_model_are_nodes_alike() {
    let (codex_model, free) = (
        busy(),
        Server::saying(json!([{ "answer": [{ "text": "At last." }] }])),
    );
    let agents = codex(&codex_model)
        + "[agents.peer]\nbackend = \"acp\"\ncommand = [\"acp-peer\", \"dies-in-a-frame\"]\n"
        + &model("free", "ollama", "", &free)
        + "[composites.three]\nkind = \"fallback\"\nnodes = [\"codex\", \"peer\", \"free\"]\n";
    let world = world(&agents);
    let asked = [
        "ask",
        "-a",
        "composite/profile/three",
        "-o",
        "events",
        "Hello?",
    ];
    let steps = told(&run(&world, &asked));
    assert_eq!(
        shown(&json!(steps)),
        [
            "node codex RateLimited",
            "node peer SessionOrphaned",
            "node free ok"
        ]
    );
    // What ran says how it ended, whatever it is.
    assert_eq!(steps[0]["exit_code"], 1, "{}", steps[0]);
    assert!(steps[1]["exit_code"].is_number(), "{}", steps[1]);
    assert!(
        steps[2]["usage"]["output_tokens"].is_number(),
        "{}",
        steps[2]
    );
    free.end();
}

#[test]
fn each_of_them_can_be_the_one_who_answers() {
    let says = || Server::saying(json!([{ "or_more": true, "answer": [{ "text": "It is me." }] }]));
    let (dead, codex_model, free) = (busy(), says(), says());
    let agents = codex(&codex_model)
        + "[agents.peer]\nbackend = \"acp\"\ncommand = [\"acp-peer\", \"echo\"]\n"
        + &model("free", "openai", "/v1", &free)
        + &model("busy", "openai", "/v1", &dead)
        + "[composites.codex]\nkind = \"fallback\"\nnodes = [\"busy\", \"codex\"]\n"
        + "[composites.peer]\nkind = \"fallback\"\nnodes = [\"busy\", \"peer\"]\n"
        + "[composites.free]\nkind = \"fallback\"\nnodes = [\"busy\", \"free\"]\n";
    let world = world(&agents);
    for node in ["codex", "peer", "free"] {
        let name = format!("composite/profile/{node}");
        let report = json_of(run(
            &world,
            &["ask", "-a", &name, "-o", "json", "Who is it?"],
        ));
        assert_eq!(report["status"], "result", "{report}");
        let session = report["session"].as_str().unwrap();
        assert!(session.starts_with(&format!("{node}:")), "{session}");
    }
}

/// The gate has a peer that speaks ACP; a real agent that does is for the full tier.
#[test]
#[ignore = "full: starts a real agent that speaks ACP"]
fn a_real_acp_agent_stands_in_for_codex() {
    let path = programs_of("agents-acp").join("codex-acp");
    let says = Server::saying(json!([{ "or_more": true, "answer": [{ "text": "It is me." }] }]));
    let refuses = busy();
    let agents = codex(&refuses)
        + &format!(
            "[agents.codex-acp]\nbin = {path:?}\nmodel = \"gpt-5.5\"\nendpoint = \"{}\"\napi_key_env = \"ANY_KEY\"\n",
            says.url()
        )
        + "[composites.pair]\nkind = \"fallback\"\nnodes = [\"codex\", \"codex-acp\"]\n";
    let world = world(&agents);
    let asked = [
        "ask",
        "-a",
        "composite/profile/pair",
        "-o",
        "events",
        "Who?",
    ];
    let steps = told(&run(&world, &asked));
    let expected = ["node codex RateLimited", "node codex-acp ok"];
    assert_eq!(shown(&json!(steps)), expected);
}

#[test]
fn one_plans_and_the_real_codex_does_it() {
    let plan = json!({ "plan": ["Write done.txt"], "coder_prompt": "Write done into done.txt.", "tests": [] });
    let planner = Server::saying(json!([{ "answer": [{ "json": plan }] }]));
    let coder = Server::saying(json!([
        { "when": { "contains": "Write done into done.txt." }, "answer": [{ "write_file": { "path": "done.txt", "content": "done\n" } }] },
        { "or_more": true, "answer": [{ "text": "It is written." }] },
    ]));
    let agents = model("thinker", "ollama", "", &planner)
        + &codex(&coder)
        + "[composites.pair]\nkind = \"plan_execute\"\nnodes = [\"thinker\", \"codex\"]\n";
    let world = world(&agents);
    let asked = [
        "ask",
        "-a",
        "composite/profile/pair",
        "-o",
        "events",
        "Finish it",
    ];
    let ran = run(&world, &asked);
    assert_eq!(
        shown(&json!(told(&ran))),
        ["plan thinker ok", "node codex ok"]
    );
    assert_eq!(world.read("done.txt"), "done\n");
    assert!(ran.stdout.contains("\"type\":\"Plan\""), "{}", ran.stdout);
    planner.end();
}

#[test]
fn what_cannot_be_made_is_said_with_its_key() {
    let world = world(
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
    for (name, said) in [
        (
            "a",
            "composites.b.nodes: it is made of itself: composite/profile/a → composite/profile/b → composite/profile/a",
        ),
        (
            "typo",
            "composites.typo.nodes: no agent is called `ecko`: there are echo",
        ),
        ("kindless", "composites.kindless.kind: is not set"),
        ("nodeless", "composites.nodeless.nodes: is not set"),
        (
            "alone",
            "composites.alone.nodes: 1 are named, expected two agents",
        ),
        (
            "god",
            "no agent is called `composite/profile/god`: there are composite/profile/good",
        ),
    ] {
        let name = format!("composite/profile/{name}");
        let refused = run(&world, &["ask", "-a", &name, "Hello"]);
        assert_ne!(refused.code, 0);
        assert!(refused.stderr.contains(said), "{name}: {}", refused.stderr);
    }
    let answered = run(&world, &["ask", "-a", "my/model", "Hello"]);
    assert_eq!(
        (answered.code, answered.stdout.trim()),
        (0, "Hello"),
        "{}",
        answered.stderr
    );
    let listed = json_of(run(&world, &["agents", "--json"]));
    let row = listed.as_array().unwrap().iter();
    let mut row = row.filter(|row| row["name"] == "composite/profile/good");
    let row = row.next().unwrap();
    assert_eq!(
        (&row["transport"], &row["health"]),
        (&json!("single"), &json!("ok"))
    );
}
