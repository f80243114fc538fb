//! Cancellation in every phase of a turn.

use windlass_core::AgentEvent;

use super::super::case::Case;
use super::super::check::{CaseStop, CheckResult, ensure};
use super::super::{Action, CaseRunner, ScriptedTurn};
use super::{say_action, turn};

const GROUP: &str = "cancel";

pub(super) fn cases() -> Vec<Case> {
    let hangs = || turn("Wait.", Action::Hang);
    let text_then_hang = || turn("Begin.", Action::SayThenHang("I begin.".to_owned()));
    let next = || turn("Go on.", say_action("I go on."));
    let case = |name, turns: Vec<ScriptedTurn>, check| Case {
        group: GROUP,
        name,
        turns,
        check,
    };
    vec![
        case("before the first event", vec![hangs()], |runner| {
            Box::pin(immediately(runner, 1))
        }),
        case("in the text", vec![text_then_hang()], |runner| {
            Box::pin(in_the_text(runner))
        }),
        case(
            "in a tool",
            vec![turn("Use a tool.", Action::HangInTool)],
            |runner| Box::pin(in_a_tool(runner)),
        ),
        case("twice", vec![hangs()], |runner| {
            Box::pin(immediately(runner, 2))
        }),
        case(
            "after the end",
            vec![turn("Say hello.", say_action("Hello.")), next()],
            |runner| Box::pin(after_the_end(runner)),
        ),
        case(
            "and then a new turn",
            vec![text_then_hang(), next()],
            |runner| Box::pin(then_a_new_turn(runner)),
        ),
    ]
}

async fn immediately(runner: &CaseRunner, times: usize) -> CheckResult {
    let session = runner.new_session().await?;
    let turn = runner.start(&session, 0).await?;
    runner.pause().await;
    let log = runner.cancel(&session, turn, times).await?;
    log.check_grammar()
}

async fn in_the_text(runner: &CaseRunner) -> CheckResult {
    runner.require_capability(|can| can.streaming, "stream its answer")?;
    let session = runner.new_session().await?;
    let mut turn = runner.start(&session, 0).await?;
    runner.read_until(&mut turn, "text", is_text).await?;
    runner.cancel(&session, turn, 1).await.map(drop)
}

async fn in_a_tool(runner: &CaseRunner) -> CheckResult {
    runner.require_capability(|can| can.tools, "report tools")?;
    let session = runner.new_session().await?;
    let mut turn = runner.start(&session, 0).await?;
    let is_start = |event: &AgentEvent| matches!(event, AgentEvent::ToolStart { .. });
    runner.read_until(&mut turn, "a tool", is_start).await?;
    let log = runner.cancel(&session, turn, 1).await?;
    let succeeded = log
        .events()
        .any(|e| matches!(e, AgentEvent::ToolEnd { success: true, .. }));
    ensure(!succeeded, || {
        "an interrupted tool call is reported as success".to_owned()
    })
}

async fn after_the_end(runner: &CaseRunner) -> CheckResult {
    let session = runner.new_session().await?;
    runner.run_turn_expecting_answer(&session, 0).await?;
    let cancelled = runner.agent().cancel(&session).await;
    cancelled
        .map_err(|error| CaseStop::Failed(format!("cancelling without a turn failed: {error}")))?;
    runner
        .run_turn_expecting_answer(&session, 1)
        .await
        .map(drop)
}

async fn then_a_new_turn(runner: &CaseRunner) -> CheckResult {
    let session = runner.new_session().await?;
    let turn = runner.start(&session, 0).await?;
    runner.pause().await;
    runner.cancel(&session, turn, 1).await?;
    runner
        .run_turn_expecting_answer(&session, 1)
        .await
        .map(drop)
}

fn is_text(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Text(_))
}
