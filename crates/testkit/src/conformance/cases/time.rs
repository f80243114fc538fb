//! Turns that take too long, turns without a reader, and processes that stay.

use std::time::Duration;

use windlass_core::{Error, ErrorCode};

use super::super::case::Case;
use super::super::check::{CaseStop, CheckResult};
use super::super::runner::CANCEL_LIMIT;
use super::super::{Action, CaseRunner};
use super::{say_action, turn};

const DEADLINE: Duration = Duration::from_secs(2);

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case {
            group: "time",
            name: "deadline",
            turns: vec![turn("Wait.", Action::Hang)],
            check: |runner| Box::pin(deadline(runner)),
        },
        Case {
            group: "time",
            name: "reader gone",
            turns: vec![
                turn("Say good morning.", say_action("Good morning.")),
                turn("Wait.", Action::Hang),
                turn("Say hello.", say_action("Hello.")),
            ],
            check: |runner| Box::pin(reader_gone(runner)),
        },
        Case {
            group: "processes",
            name: "none left",
            turns: vec![
                turn("Say hello.", say_action("Hello.")),
                turn("Use a tool.", Action::HangInTool),
            ],
            check: |runner| Box::pin(interrupted(runner)),
        },
    ]
}

async fn deadline(runner: &CaseRunner) -> CheckResult {
    let session = runner.new_session().await?;
    let since = runner.now();
    let turn = runner
        .ask(&session, runner.prompt(0).with_timeout(DEADLINE))
        .await?;
    let log = runner.collect(turn).await;
    runner.expect_duration(since, DEADLINE + CANCEL_LIMIT, "the timed-out turn")?;
    log.expect_error(ErrorCode::Timeout)
}

/// Dropping the reader stops the turn: the session is soon free for another one. It has a complete turn, because an agent
/// that is stopped in its first turn may not have stored the session yet.
async fn reader_gone(runner: &CaseRunner) -> CheckResult {
    let session = runner.new_session().await?;
    runner.run_turn_expecting_answer(&session, 0).await?;
    let turn = runner.start(&session, 1).await?;
    runner.pause().await;
    drop(turn);
    let since = runner.now();
    loop {
        match runner.agent().prompt(&session, runner.prompt(2)).await {
            Ok(turn) => return runner.collect(turn).await.expect_answer("Hello."),
            Err(Error::SessionBusy { .. }) => runner.pause().await,
            Err(error) => return Err(CaseStop::Failed(format!("no turn was started: {error}"))),
        }
        runner.expect_duration(since, CANCEL_LIMIT, "the turn without a reader")?;
    }
}

/// Runs one turn to its end, and interrupts one by dropping the agent. The suite then checks for
/// processes.
async fn interrupted(runner: &CaseRunner) -> CheckResult {
    let session = runner.new_session().await?;
    runner.run_turn_expecting_answer(&session, 0).await?;
    let turn = runner.start(&session, 1).await?;
    runner.pause().await;
    drop(turn);
    Ok(())
}
