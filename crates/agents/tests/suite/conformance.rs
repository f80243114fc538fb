//! The conformance suite, on a fake agent that speaks ACP.

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use windlass_core::{AgentHandle, Result};
use windlass_testkit::conformance::{
    Action, BackendUnderTest, CaseScript, Report, ScriptedTurn, Verdict, exercise,
};

use super::acp;
use super::harness::Harness;

/// The fake ACP agent, which plays each case.
#[derive(Default)]
struct Peer {
    harnesses: Mutex<Vec<Harness>>,
}

impl BackendUnderTest for Peer {
    fn agent<'a>(&'a self, case: &'a CaseScript) -> BoxFuture<'a, Result<AgentHandle>> {
        Box::pin(async move {
            let harness = Harness::new();
            let turns: Vec<Value> = case
                .turns
                .iter()
                .map(|turn| peer_turn(case, turn))
                .collect();
            let file = harness.state().join("turns.json");
            std::fs::write(&file, json!(turns).to_string()).unwrap();
            let context = harness.context(&[acp::bin_dir()]).await;
            let command = json!({ "command": ["acp-peer", "play", file], "readable": [file], "writable": ["~/.peer"], "permissions": "allow" });
            let handle = windlass_agents::acp::factory(None, context)(&command);
            self.harnesses.lock().push(harness);
            handle
        })
    }

    fn live_processes(&self) -> Vec<String> {
        let harnesses = self.harnesses.lock();
        let pids = harnesses.iter().flat_map(Harness::processes);
        pids.map(|pid| format!("process {pid}")).collect()
    }
}

/// Returns a turn of the case in the format of the fake agent.
fn peer_turn(case: &CaseScript, turn: &ScriptedTurn) -> Value {
    let act = match &turn.act {
        Action::UseTool { succeeds: true, .. } => "tool-succeeds",
        Action::UseTool { .. } => "tool-fails",
        Action::HangInTool => "tool-hangs",
        Action::Hang => "hang",
        Action::SayThenHang(_) => "say-and-hang",
        _ => "say",
    };
    let say = match &turn.act {
        Action::SayThenHang(text) => text.clone(),
        _ => case.answer(turn).unwrap_or_default(),
    };
    json!({ "prompt": turn.prompt, "act": act, "say": say })
}

/// Returns the case as a script.
///
/// A prompt that was cancelled before the model received it is sent again with the next one, so the last turn is
/// matched first. The answer after a tool call has no condition, so it is matched after all others.
pub(crate) fn script(case: &CaseScript) -> Value {
    let all: Vec<Value> = case
        .turns
        .iter()
        .rev()
        .flat_map(|turn| turns(case, turn))
        .collect();
    let (conditional, unconditional): (Vec<Value>, Vec<Value>) =
        all.into_iter().partition(|turn| turn.get("when").is_some());
    // Cases without a turn need a valid script too.
    let never = json!({ "when": { "contains": "never asked" }, "answer": [{ "text": "Who?" }] });
    let turns: Vec<Value> = conditional
        .into_iter()
        .chain([never])
        .chain(unconditional)
        .collect();
    json!({ "turns": turns })
}

/// Returns a turn of the case as turns of a script.
fn turns(case: &CaseScript, turn: &ScriptedTurn) -> Vec<Value> {
    let text = |text: &str| json!({ "text": text });
    let shell = |command: &str| json!({ "shell": { "command": command } });
    let when = json!({ "contains": turn.prompt });
    let say = |answer: &str| {
        // An answer that must match a schema is sent through the tool that the agent offers for it.
        let part = match serde_json::from_str::<Value>(answer) {
            Ok(value @ Value::Object(_)) => json!({ "json": value }),
            _ => text(answer),
        };
        json!({ "when": when, "answer": [part] })
    };
    match &turn.act {
        Action::Say(answer) => vec![say(answer)],
        Action::EchoPrompt | Action::RecallFirstPrompt => {
            vec![say(&case.answer(turn).unwrap_or_default())]
        }
        Action::UseTool { succeeds, say } => {
            let command = if *succeeds { "true" } else { "exit 3" };
            vec![
                json!({ "when": when, "answer": [shell(command)] }),
                json!({ "answer": [text(say)] }),
            ]
        }
        Action::Hang => vec![json!({ "when": when, "fault": "hang" })],
        Action::SayThenHang(partial) => {
            vec![json!({ "when": when, "answer": [text(partial)], "fault": "hang_mid_stream" })]
        }
        Action::HangInTool => vec![json!({ "when": when, "answer": [shell("tail -f notes.txt")] })],
        other => panic!("unknown action {other:?}"),
    }
}

/// Asserts that exactly these cases failed.
pub(crate) fn assert_failures(report: Report, known: &[&str]) {
    let rows = report.rows().iter();
    let failed = rows.filter(|row| matches!(row.verdict, Verdict::Failed(_)));
    let failed: Vec<String> = failed
        .map(|row| format!("{}: {}", row.group, row.name))
        .collect();
    assert_eq!(failed, known, "{report}");
}

#[tokio::test]
async fn acp_peer_passes() {
    assert_failures(exercise(&Peer::default()).await, &[]);
}
