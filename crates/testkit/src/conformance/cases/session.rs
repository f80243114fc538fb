//! The lifecycle of a session.

use windlass_core::{AgentEvent, Error, SessionId, SessionOptions};

use super::super::case::Case;
use super::super::check::{CaseStop, CheckResult, ensure};
use super::super::turn_log::describe_event;
use super::super::{Action, CaseRunner};
use super::{say_action, turn, turn_in};

const GROUP: &str = "session";

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case {
            group: GROUP,
            name: "new",
            turns: vec![turn("Say hello.", say_action("Hello."))],
            check: |runner| Box::pin(new(runner)),
        },
        Case {
            group: GROUP,
            name: "several",
            turns: vec![
                turn_in(0, "Say one.", say_action("One.")),
                turn_in(1, "Say two.", say_action("Two.")),
            ],
            check: |runner| Box::pin(several(runner)),
        },
        Case {
            group: GROUP,
            name: "remembers",
            turns: vec![
                turn("The word is amber.", say_action("Understood.")),
                turn("What did I say first?", Action::RecallFirstPrompt),
            ],
            check: |runner| Box::pin(remembers(runner)),
        },
        Case {
            group: GROUP,
            name: "resumed",
            turns: vec![
                turn_in(0, "The word is amber.", say_action("Understood.")),
                turn_in(1, "The word is basalt.", say_action("Understood.")),
                turn_in(0, "What did I say first?", Action::RecallFirstPrompt),
            ],
            check: |runner| Box::pin(resumed(runner)),
        },
        Case {
            group: GROUP,
            name: "unknown, resumed",
            turns: vec![],
            check: |runner| Box::pin(unknown_resumed(runner)),
        },
        Case {
            group: GROUP,
            name: "unknown, prompted",
            turns: vec![],
            check: |runner| Box::pin(unknown_prompted(runner)),
        },
    ]
}

async fn new(runner: &CaseRunner) -> CheckResult {
    let session = runner.new_session().await?;
    runner
        .run_turn_expecting_answer(&session, 0)
        .await
        .map(drop)
}

async fn several(runner: &CaseRunner) -> CheckResult {
    let one = runner.new_session().await?;
    let two = runner.new_session().await?;
    ensure(one != two, || {
        format!("two sessions have the same id {one}")
    })?;
    runner.run_turn_expecting_answer(&one, 0).await?;
    runner.run_turn_expecting_answer(&two, 1).await.map(drop)
}

async fn remembers(runner: &CaseRunner) -> CheckResult {
    let session = runner.new_session().await?;
    runner.run_turn_expecting_answer(&session, 0).await?;
    runner
        .run_turn_expecting_answer(&session, 1)
        .await
        .map(drop)
}

async fn resumed(runner: &CaseRunner) -> CheckResult {
    let one = runner.new_session().await?;
    runner.run_turn_expecting_answer(&one, 0).await?;
    let two = runner.new_session().await?;
    runner.run_turn_expecting_answer(&two, 1).await?;
    let loaded = runner
        .agent()
        .load_session(&one, SessionOptions::default())
        .await;
    runner
        .expect_capability(|can| can.load_session, "resume a session", loaded)?
        .map_err(|error| CaseStop::Failed(format!("the session was not resumed: {error}")))?;
    runner.run_turn_expecting_answer(&one, 2).await.map(drop)
}

/// Returns an id that no backend has assigned.
fn unknown_session() -> SessionId {
    "00000000-0000-4000-8000-000000000000".into()
}

async fn unknown_resumed(runner: &CaseRunner) -> CheckResult {
    let loaded = runner
        .agent()
        .load_session(&unknown_session(), SessionOptions::default())
        .await;
    match runner.expect_capability(|can| can.load_session, "resume a session", loaded)? {
        Err(Error::SessionNotFound { .. }) => Ok(()),
        Err(other) => Err(CaseStop::Failed(format!(
            "an unknown session causes the wrong error: {other}"
        ))),
        Ok(()) => Err(CaseStop::Failed(
            "an unknown session was resumed".to_owned(),
        )),
    }
}

async fn unknown_prompted(runner: &CaseRunner) -> CheckResult {
    let turn = runner.ask(&unknown_session(), "Hello?".into()).await?;
    let log = runner.collect(turn).await;
    let last = log.events().last();
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
