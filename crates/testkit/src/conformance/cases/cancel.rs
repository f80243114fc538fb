//! A cancel in every phase of a turn.

use windlass_core::AgentEvent;

use super::super::case::{Case, Checked, Stop, ensure};
use super::super::{Act, Scene, Trial};
use super::{say, scene};

const GROUP: &str = "cancel";

pub(super) fn cases() -> Vec<Case> {
    let hangs = || scene("Wait.", Act::Hang);
    let speaks = || scene("Begin.", Act::SayAndHang("I begin.".to_owned()));
    let goes_on = || scene("Go on.", say("I go on."));
    let case = |name, scenes: Vec<Scene>, check| Case {
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
            vec![scene("Use a tool.", Act::HangInTool)],
            |trial| Box::pin(in_a_tool(trial)),
        ),
        case("twice", vec![hangs()], |trial| Box::pin(at_once(trial, 2))),
        case(
            "after the end",
            vec![scene("Say hello.", say("Hello.")), goes_on()],
            |trial| Box::pin(after_the_end(trial)),
        ),
        case("and then a new turn", vec![speaks(), goes_on()], |trial| {
            Box::pin(then_a_new_turn(trial))
        }),
    ]
}

async fn at_once(trial: &Trial, times: usize) -> Checked {
    let session = trial.begin().await?;
    let turn = trial.start(&session, 0).await?;
    trial.pause().await;
    let told = trial.cancel(&session, turn, times).await?;
    told.is_well_formed()
}

async fn in_the_text(trial: &Trial) -> Checked {
    trial.needs(|can| can.streaming, "write its answer in pieces")?;
    let session = trial.begin().await?;
    let mut turn = trial.start(&session, 0).await?;
    trial.until(&mut turn, "text", is_text).await?;
    trial.cancel(&session, turn, 1).await.map(drop)
}

async fn in_a_tool(trial: &Trial) -> Checked {
    trial.needs(|can| can.tools, "report tools")?;
    let session = trial.begin().await?;
    let mut turn = trial.start(&session, 0).await?;
    let is_start = |event: &AgentEvent| matches!(event, AgentEvent::ToolStart { .. });
    trial.until(&mut turn, "a tool", is_start).await?;
    let told = trial.cancel(&session, turn, 1).await?;
    let succeeded = told
        .events()
        .any(|e| matches!(e, AgentEvent::ToolEnd { success: true, .. }));
    ensure(!succeeded, || {
        "a tool that was broken off is said to have succeeded".to_owned()
    })
}

async fn after_the_end(trial: &Trial) -> Checked {
    let session = trial.begin().await?;
    trial.passes(&session, 0).await?;
    let asked = trial.agent().cancel(&session).await;
    asked.map_err(|error| Stop::Failed(format!("a cancel without a turn is refused: {error}")))?;
    trial.passes(&session, 1).await.map(drop)
}

async fn then_a_new_turn(trial: &Trial) -> Checked {
    let session = trial.begin().await?;
    let turn = trial.start(&session, 0).await?;
    trial.pause().await;
    trial.cancel(&session, turn, 1).await?;
    trial.passes(&session, 1).await.map(drop)
}

fn is_text(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Text(_))
}
