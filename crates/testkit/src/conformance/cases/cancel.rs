//! A cancel in every phase of a turn.

use windlass_core::AgentEvent;

use super::super::case::{Case, CaseStop, CheckResult, ensure};
use super::super::{Action, CaseRunner, ScriptedTurn};
use super::{say_action, turn};

const GROUP: &str = "cancel";

pub(super) fn cases() -> Vec<Case> {
    let hangs = || turn("Wait.", Action::Hang);
    let speaks = || turn("Begin.", Action::SayThenHang("I begin.".to_owned()));
    let goes_on = || turn("Go on.", say_action("I go on."));
    let case = |name, scenes: Vec<ScriptedTurn>, check| Case {
        group: GROUP,
        name,
        scenes,
        check,
    };
    vec![
        case("before the first event", vec![hangs()], |trial| {
            Box::pin(at_once(trial, 1))
        }),
        case("in the text", vec![speaks()], |trial| {
            Box::pin(in_the_text(trial))
        }),
        case(
            "in a tool",
            vec![turn("Use a tool.", Action::HangInTool)],
            |trial| Box::pin(in_a_tool(trial)),
        ),
        case("twice", vec![hangs()], |trial| Box::pin(at_once(trial, 2))),
        case(
            "after the end",
            vec![turn("Say hello.", say_action("Hello.")), goes_on()],
            |trial| Box::pin(after_the_end(trial)),
        ),
        case("and then a new turn", vec![speaks(), goes_on()], |trial| {
            Box::pin(then_a_new_turn(trial))
        }),
    ]
}

async fn at_once(trial: &CaseRunner, times: usize) -> CheckResult {
    let session = trial.new_session().await?;
    let turn = trial.start(&session, 0).await?;
    trial.pause().await;
    let told = trial.cancel(&session, turn, times).await?;
    told.check_grammar()
}

async fn in_the_text(trial: &CaseRunner) -> CheckResult {
    trial.require_capability(|can| can.streaming, "write its answer in pieces")?;
    let session = trial.new_session().await?;
    let mut turn = trial.start(&session, 0).await?;
    trial.read_until(&mut turn, "text", is_text).await?;
    trial.cancel(&session, turn, 1).await.map(drop)
}

async fn in_a_tool(trial: &CaseRunner) -> CheckResult {
    trial.require_capability(|can| can.tools, "report tools")?;
    let session = trial.new_session().await?;
    let mut turn = trial.start(&session, 0).await?;
    let is_start = |event: &AgentEvent| matches!(event, AgentEvent::ToolStart { .. });
    trial.read_until(&mut turn, "a tool", is_start).await?;
    let told = trial.cancel(&session, turn, 1).await?;
    let succeeded = told
        .events()
        .any(|e| matches!(e, AgentEvent::ToolEnd { success: true, .. }));
    ensure(!succeeded, || {
        "a tool that was broken off is said to have succeeded".to_owned()
    })
}

async fn after_the_end(trial: &CaseRunner) -> CheckResult {
    let session = trial.new_session().await?;
    trial.run_turn_expecting_answer(&session, 0).await?;
    let asked = trial.agent().cancel(&session).await;
    asked.map_err(|error| {
        CaseStop::Failed(format!("a cancel without a turn is refused: {error}"))
    })?;
    trial.run_turn_expecting_answer(&session, 1).await.map(drop)
}

async fn then_a_new_turn(trial: &CaseRunner) -> CheckResult {
    let session = trial.new_session().await?;
    let turn = trial.start(&session, 0).await?;
    trial.pause().await;
    trial.cancel(&session, turn, 1).await?;
    trial.run_turn_expecting_answer(&session, 1).await.map(drop)
}

fn is_text(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Text(_))
}
