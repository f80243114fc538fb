//! Runs one hot path a number of times: `counts CASE TIMES`. `scripts/bench counts` counts its instructions.
//!
//! Everything runs on one thread but for SQLite's own, so that two runs do the same.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking"
)]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use windlass_agents::cli::Parser;
use windlass_agents::cli::claude::StreamJson;
use windlass_agents::cli::codex::ExecParser;
use windlass_core::{AgentEvent, AgentHandle, SessionOptions, Usage};
use windlass_tasks::{Claim, NewProject, NewTask, Outcome, ProjectId, TaskStore};
use windlass_testkit::MockAgent;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [case, times] = args.as_slice() else {
        // `cargo bench` runs all benchmarks.
        println!("counts: run scripts/bench counts");
        return;
    };
    let times: usize = times.parse().unwrap();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    match case.as_str() {
        "event" => runtime.block_on(events(times)),
        "codex" => parse("codex", || Box::new(ExecParser::new(1, None)), times),
        "claude" => parse("claude", || Box::new(StreamJson::claude(None)), times),
        "add" => runtime.block_on(add(times)),
        "claim" => runtime.block_on(claim(times)),
        other => panic!("no case {other}"),
    }
}

/// Sends events through a handle, in one turn.
async fn events(times: usize) {
    let mut events = vec![AgentEvent::Text("a word or two of text".to_owned()); times];
    events.push(AgentEvent::result("done"));
    let agent = AgentHandle::wrap(MockAgent::new().on_prompt("").respond_with(events));
    let session = agent.new_session(SessionOptions::default()).await.unwrap();
    let mut turn = agent.prompt(&session, "go").await.unwrap();
    while let Some(event) = turn.recv().await {
        black_box(event);
    }
}

/// Parses all recorded lines of an agent.
fn parse(agent: &str, parser: fn() -> Box<dyn Parser>, times: usize) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/fixtures");
    let files = std::fs::read_dir(dir.join(agent)).unwrap().flatten();
    let mut paths: Vec<_> = files.map(|file| file.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    paths.sort();
    let texts: Vec<String> = paths
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    for _ in 0..times {
        let mut parser = parser();
        for line in texts.iter().flat_map(|text| text.lines()) {
            black_box(parser.parse_line(line));
        }
    }
}

/// Adds tasks sequentially.
async fn add(times: usize) {
    let dir = tempfile::tempdir().unwrap();
    let (store, project) = store(dir.path()).await;
    for _ in 0..times {
        let new = NewTask::new(project, "sell tea");
        store.enqueue(vec![new]).await.unwrap();
    }
}

/// Claims and completes tasks sequentially. They are added together.
async fn claim(times: usize) {
    let dir = tempfile::tempdir().unwrap();
    let (store, project) = store(dir.path()).await;
    let new = vec![NewTask::new(project, "sell tea"); 500];
    store.enqueue(new).await.unwrap();
    for _ in 0..times {
        let claim = Claim {
            worker: "w".to_owned(),
            lease: std::time::Duration::from_secs(300),
            ..Claim::default()
        };
        let claimed = store.claim(claim).await.unwrap().unwrap();
        let outcome = Outcome::Completed {
            proof: None,
            branch: None,
            output: "done".to_owned(),
        };
        let usage = Usage::default();
        store.finish(claimed.attempt, outcome, usage).await.unwrap();
    }
}

async fn store(dir: &Path) -> (Arc<dyn TaskStore>, ProjectId) {
    let url = format!("sqlite:{}/windlass.db", dir.display());
    let store = windlass_store::open(&url).await.unwrap();
    let project = NewProject {
        name: "shop".to_owned(),
        root: "/home/me/shop".into(),
    };
    let project = store.add_project(project).await.unwrap().id;
    (store, project)
}
