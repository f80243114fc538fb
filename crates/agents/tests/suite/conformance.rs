//! The suite that every backend must pass, on the real programs.

use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use windlass_core::{AgentHandle, Result};
use windlass_testkit::conformance::{Act, Candidate, Scene, Stage, exercise};

use super::world::Subject;

/// A real agent, and a scripted model for each case.
struct Real {
    agent: &'static str,
    transport: &'static str,
    subjects: Mutex<Vec<Subject>>,
}

impl Candidate for Real {
    fn agent<'a>(&'a self, stage: &'a Stage) -> BoxFuture<'a, Result<AgentHandle>> {
        Box::pin(async move {
            let mut turns: Vec<Value> = stage
                .scenes
                .iter()
                .flat_map(|scene| turns(stage, scene))
                .collect();
            // Cases without a turn need a model too.
            turns.push(
                json!({ "when": { "contains": "never asked" }, "answer": [{ "text": "Who?" }] }),
            );
            let subject = Subject::new(self.agent, self.transport, json!({ "turns": turns })).await;
            let handle = subject.handle("allow");
            self.subjects
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(subject);
            Ok(handle)
        })
    }

    fn processes(&self) -> Vec<String> {
        let subjects = self.subjects.lock().unwrap_or_else(PoisonError::into_inner);
        let pids = subjects
            .iter()
            .flat_map(|subject| subject.world.processes());
        pids.map(|pid| format!("process {pid}")).collect()
    }
}

/// A scene as the turns of a script.
fn turns(stage: &Stage, scene: &Scene) -> Vec<Value> {
    let text = |words: &str| json!({ "text": words });
    let shell = |command: &str| json!({ "shell": { "command": command } });
    let when = json!({ "contains": scene.prompt });
    let say = |words: &str| json!({ "when": when, "answer": [text(words)] });
    match &scene.act {
        Act::Say(words) => vec![say(words)],
        Act::Repeat | Act::Recall => vec![say(&stage.answer(scene).unwrap_or_default())],
        Act::UseTool { succeeds, say } => {
            let command = if *succeeds { "true" } else { "exit 3" };
            vec![
                json!({ "when": when, "answer": [shell(command)] }),
                json!({ "answer": [text(say)] }),
            ]
        }
        Act::Hang => vec![json!({ "when": when, "fault": "hang", "or_more": true })],
        Act::SayAndHang(words) => {
            vec![
                json!({ "when": when, "answer": [text(words)], "fault": "hang_mid_stream", "or_more": true }),
            ]
        }
        Act::HangInTool => vec![json!({ "when": when, "answer": [shell("tail -f notes.txt")] })],
        other => panic!("{other:?} is new"),
    }
}

async fn passes(agent: &'static str, transport: &'static str) {
    let real = Real {
        agent,
        transport,
        subjects: Mutex::default(),
    };
    let report = exercise(&real).await;
    println!("{report}");
    assert!(report.is_passed(), "{report}");
}

#[tokio::test]
async fn real_codex_app_server_passes() {
    passes("codex", "app-server").await;
}

#[tokio::test]
async fn real_codex_exec_passes() {
    passes("codex", "exec").await;
}

#[tokio::test]
async fn real_claude_two_way_passes() {
    passes("claude", "stream-json").await;
}
