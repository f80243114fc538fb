//! Turns that take too long, turns that nobody reads, processes that stay.

use std::time::Duration;

use windlass_core::{Error, ErrorCode};

use super::super::case::{Case, CaseStop, CheckResult};
use super::super::runner::CANCEL_LIMIT;
use super::super::{Action, CaseRunner};
use super::{say_action, turn};

const DEADLINE: Duration = Duration::from_secs(2);

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case {
            group: "time",
            name: "deadline",
            scenes: vec![turn("Wait.", Action::Hang)],
            check: |trial| Box::pin(deadline(trial)),
        },
        Case {
            group: "time",
            name: "reader gone",
            scenes: vec![
                turn("Wait.", Action::Hang),
                turn("Say hello.", say_action("Hello.")),
            ],
            check: |trial| Box::pin(reader_gone(trial)),
        },
        Case {
            group: "processes",
            name: "none left",
            scenes: vec![
                turn("Say hello.", say_action("Hello.")),
                turn("Use a tool.", Action::HangInTool),
            ],
            check: |trial| Box::pin(broken_off(trial)),
        },
    ]
}

async fn deadline(trial: &CaseRunner) -> CheckResult {
    let session = trial.new_session().await?;
    let since = trial.now();
    let turn = trial
        .ask(&session, trial.prompt(0).with_timeout(DEADLINE))
        .await?;
    let told = trial.collect(turn).await;
    trial.expect_duration(
        since,
        DEADLINE + CANCEL_LIMIT,
        "the turn that ran out of time",
    )?;
    told.expect_error(ErrorCode::Timeout)
}

/// A reader that leaves stops the turn: the session is free for another one soon.
async fn reader_gone(trial: &CaseRunner) -> CheckResult {
    let session = trial.new_session().await?;
    let turn = trial.start(&session, 0).await?;
    trial.pause().await;
    drop(turn);
    let since = trial.now();
    loop {
        match trial.agent().prompt(&session, trial.prompt(1)).await {
            Ok(turn) => return trial.collect(turn).await.expect_answer("Hello."),
            Err(Error::SessionBusy { .. }) => trial.pause().await,
            Err(error) => return Err(CaseStop::Failed(format!("no turn began: {error}"))),
        }
        trial.expect_duration(since, CANCEL_LIMIT, "the turn that nobody read")?;
    }
}

/// One turn to its end, one broken off by the end of the agent itself. The suite then looks for processes.
async fn broken_off(trial: &CaseRunner) -> CheckResult {
    let session = trial.new_session().await?;
    trial.run_turn_expecting_answer(&session, 0).await?;
    let turn = trial.start(&session, 1).await?;
    trial.pause().await;
    drop(turn);
    Ok(())
}
