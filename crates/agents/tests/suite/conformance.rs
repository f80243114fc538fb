//! The suite that every backend must pass, on a peer that speaks ACP.

use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use windlass_core::{AgentHandle, Result};
use windlass_testkit::conformance::{
    Action, BackendUnderTest, CaseScript, Report, ScriptedTurn, Verdict, exercise,
};

use super::acp;
use super::world::World;

/// The peer that speaks ACP, acting out each case.
#[derive(Default)]
struct Peer {
    worlds: Mutex<Vec<World>>,
}

impl BackendUnderTest for Peer {
    fn agent<'a>(&'a self, stage: &'a CaseScript) -> BoxFuture<'a, Result<AgentHandle>> {
        Box::pin(async move {
            let world = World::new();
            let scenes: Vec<Value> = stage
                .scenes
                .iter()
                .map(|scene| acted(stage, scene))
                .collect();
            let file = world.state().join("scenes.json");
            std::fs::write(&file, json!(scenes).to_string()).unwrap();
            let context = world.context(&[acp::folder()]).await;
            let command = json!({ "command": ["acp-peer", "play", file], "readable": [file], "permissions": "allow" });
            let handle = windlass_agents::acp::factory(None, context)(&command);
            self.worlds
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(world);
            handle
        })
    }

    fn live_processes(&self) -> Vec<String> {
        let worlds = self.worlds.lock().unwrap_or_else(PoisonError::into_inner);
        let pids = worlds.iter().flat_map(World::processes);
        pids.map(|pid| format!("process {pid}")).collect()
    }
}

/// A scene as the peer reads it.
fn acted(stage: &CaseScript, scene: &ScriptedTurn) -> Value {
    let act = match &scene.act {
        Action::UseTool { succeeds: true, .. } => "tool-succeeds",
        Action::UseTool { .. } => "tool-fails",
        Action::HangInTool => "tool-hangs",
        Action::Hang => "hang",
        Action::SayThenHang(_) => "say-and-hang",
        _ => "say",
    };
    let say = match &scene.act {
        Action::SayThenHang(words) => words.clone(),
        _ => stage.answer(scene).unwrap_or_default(),
    };
    json!({ "prompt": scene.prompt, "act": act, "say": say })
}

/// The case as a script.
///
/// A prompt that was cancelled before the model heard of it comes again with the next one: the last scene is looked
/// for first. What comes after a tool is told by nothing, and so is looked for when all else is over.
pub(crate) fn script(stage: &CaseScript) -> Value {
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
fn turns(stage: &CaseScript, scene: &ScriptedTurn) -> Vec<Value> {
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
        Action::Say(words) => vec![say(words)],
        Action::EchoPrompt | Action::RecallFirstPrompt => {
            vec![say(&stage.answer(scene).unwrap_or_default())]
        }
        Action::UseTool { succeeds, say } => {
            let command = if *succeeds { "true" } else { "exit 3" };
            vec![
                json!({ "when": when, "answer": [shell(command)] }),
                json!({ "answer": [text(say)] }),
            ]
        }
        Action::Hang => vec![json!({ "when": when, "fault": "hang" })],
        Action::SayThenHang(words) => {
            vec![json!({ "when": when, "answer": [text(words)], "fault": "hang_mid_stream" })]
        }
        Action::HangInTool => vec![json!({ "when": when, "answer": [shell("tail -f notes.txt")] })],
        other => panic!("{other:?} is new"),
    }
}

/// Checks that these cases, and no others, failed.
pub(crate) fn judge(report: Report, known: &[&str]) {
    let rows = report.rows().iter();
    let failed = rows.filter(|row| matches!(row.verdict, Verdict::Failed(_)));
    let failed: Vec<String> = failed
        .map(|row| format!("{}: {}", row.group, row.name))
        .collect();
    assert_eq!(failed, known, "{report}");
}

#[tokio::test]
async fn a_peer_that_speaks_acp_passes() {
    judge(exercise(&Peer::default()).await, &[]);
}
