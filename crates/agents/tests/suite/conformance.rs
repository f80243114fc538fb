//! The suite that every backend must pass, on the real programs.

use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use windlass_core::{AgentHandle, Result};
use windlass_testkit::conformance::{Act, Candidate, Scene, Stage, Verdict, exercise};

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
            let turns = script(stage);
            let subject = Subject::new(self.agent, self.transport, turns).await;
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

/// The case as a script.
///
/// A prompt that was cancelled before the model heard of it comes again with the next one: the last scene is looked
/// for first. What comes after a tool is told by nothing, and so is looked for when all else is over.
pub(crate) fn script(stage: &Stage) -> Value {
    let all: Vec<Value> = stage
        .scenes
        .iter()
        .rev()
        .flat_map(|scene| turns(stage, scene))
        .collect();
    let (told, after): (Vec<Value>, Vec<Value>) =
        all.into_iter().partition(|turn| turn.get("when").is_some());
    // Cases without a turn need a model too.
    let never = json!({ "when": { "contains": "never asked" }, "answer": [{ "text": "Who?" }] });
    let turns: Vec<Value> = told.into_iter().chain([never]).chain(after).collect();
    json!({ "turns": turns })
}

/// A scene as the turns of a script.
fn turns(stage: &Stage, scene: &Scene) -> Vec<Value> {
    let text = |words: &str| json!({ "text": words });
    let shell = |command: &str| json!({ "shell": { "command": command } });
    let when = json!({ "contains": scene.prompt });
    let say = |words: &str| {
        // An answer that must fit a schema is given through the tool that the agent offers for it.
        let part = match serde_json::from_str::<Value>(words) {
            Ok(value @ Value::Object(_)) => json!({ "json": value }),
            _ => text(words),
        };
        json!({ "when": when, "answer": [part] })
    };
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
        Act::Hang => vec![json!({ "when": when, "fault": "hang" })],
        Act::SayAndHang(words) => {
            vec![json!({ "when": when, "answer": [text(words)], "fault": "hang_mid_stream" })]
        }
        Act::HangInTool => vec![json!({ "when": when, "answer": [shell("tail -f notes.txt")] })],
        other => panic!("{other:?} is new"),
    }
}

/// Runs the suite; these cases, and no others, are known to fail because the program itself does otherwise.
async fn passes(agent: &'static str, transport: &'static str, known: &[&str]) {
    let real = Real {
        agent,
        transport,
        subjects: Mutex::default(),
    };
    let report = exercise(&real).await;
    let rows = report.rows().iter();
    let failed = rows.filter(|row| matches!(row.verdict, Verdict::Failed(_)));
    let failed: Vec<String> = failed
        .map(|row| format!("{}: {}", row.group, row.name))
        .collect();
    assert_eq!(failed, known, "{report}");
}

#[tokio::test]
async fn real_codex_app_server_passes() {
    passes("codex", "app-server", &[]).await;
}

/// `codex exec` does not begin without a prompt.
#[tokio::test]
async fn real_codex_exec_passes() {
    let known = ["prompts: empty", "prompts: only white space"];
    passes("codex", "exec", &known).await;
}

/// Claude answers a blank prompt itself.
#[tokio::test]
async fn real_claude_two_way_passes() {
    passes("claude", "stream-json", &["prompts: only white space"]).await;
}
