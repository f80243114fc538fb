//! The life of a session.

use windlass_core::{AgentEvent, Error, SessionId, SessionOptions};

use super::super::case::{Case, CaseStop, CheckResult, ensure};
use super::super::turn_log::describe_event;
use super::super::{Action, CaseRunner};
use super::{say_action, turn, turn_in};

const GROUP: &str = "session";

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case {
            group: GROUP,
            name: "new",
            scenes: vec![turn("Say hello.", say_action("Hello."))],
            check: |trial| Box::pin(new(trial)),
        },
        Case {
            group: GROUP,
            name: "several",
            scenes: vec![
                turn_in(0, "Say one.", say_action("One.")),
                turn_in(1, "Say two.", say_action("Two.")),
            ],
            check: |trial| Box::pin(several(trial)),
        },
        Case {
            group: GROUP,
            name: "remembers",
            scenes: vec![
                turn("The word is amber.", say_action("Understood.")),
                turn("What did I say first?", Action::RecallFirstPrompt),
            ],
            check: |trial| Box::pin(remembers(trial)),
        },
        Case {
            group: GROUP,
            name: "resumed",
            scenes: vec![
                turn_in(0, "The word is amber.", say_action("Understood.")),
                turn_in(1, "The word is basalt.", say_action("Understood.")),
                turn_in(0, "What did I say first?", Action::RecallFirstPrompt),
            ],
            check: |trial| Box::pin(resumed(trial)),
        },
        Case {
            group: GROUP,
            name: "unknown, resumed",
            scenes: vec![],
            check: |trial| Box::pin(unknown_resumed(trial)),
        },
        Case {
            group: GROUP,
            name: "unknown, prompted",
            scenes: vec![],
            check: |trial| Box::pin(unknown_prompted(trial)),
        },
    ]
}

async fn new(trial: &CaseRunner) -> CheckResult {
    let session = trial.new_session().await?;
    trial.run_turn_expecting_answer(&session, 0).await.map(drop)
}

async fn several(trial: &CaseRunner) -> CheckResult {
    let one = trial.new_session().await?;
    let two = trial.new_session().await?;
    ensure(one != two, || format!("two sessions have one id, {one}"))?;
    trial.run_turn_expecting_answer(&one, 0).await?;
    trial.run_turn_expecting_answer(&two, 1).await.map(drop)
}

async fn remembers(trial: &CaseRunner) -> CheckResult {
    let session = trial.new_session().await?;
    trial.run_turn_expecting_answer(&session, 0).await?;
    trial.run_turn_expecting_answer(&session, 1).await.map(drop)
}

async fn resumed(trial: &CaseRunner) -> CheckResult {
    let one = trial.new_session().await?;
    trial.run_turn_expecting_answer(&one, 0).await?;
    let two = trial.new_session().await?;
    trial.run_turn_expecting_answer(&two, 1).await?;
    let loaded = trial
        .agent()
        .load_session(&one, SessionOptions::default())
        .await;
    trial
        .expect_capability(|can| can.load_session, "take up a session", loaded)?
        .map_err(|error| CaseStop::Failed(format!("the session was not taken up: {error}")))?;
    trial.run_turn_expecting_answer(&one, 2).await.map(drop)
}

/// An id that no backend gave out.
fn unknown_session() -> SessionId {
    "00000000-0000-4000-8000-000000000000".into()
}

async fn unknown_resumed(trial: &CaseRunner) -> CheckResult {
    let loaded = trial
        .agent()
        .load_session(&unknown_session(), SessionOptions::default())
        .await;
    match trial.expect_capability(|can| can.load_session, "take up a session", loaded)? {
        Err(Error::SessionNotFound { .. }) => Ok(()),
        Err(other) => Err(CaseStop::Failed(format!(
            "an unknown session gives the wrong error: {other}"
        ))),
        Ok(()) => Err(CaseStop::Failed(
            "a session that never was is taken up".to_owned(),
        )),
    }
}

async fn unknown_prompted(trial: &CaseRunner) -> CheckResult {
    let turn = trial.ask(&unknown_session(), "Hello?".into()).await?;
    let told = trial.collect(turn).await;
    let last = told.events().last();
    ensure(
        matches!(last, Some(AgentEvent::SessionInvalid { .. })),
        || {
            format!(
                "a turn in an unknown session ended with {}",
                describe_event(last)
            )
        },
    )
}
