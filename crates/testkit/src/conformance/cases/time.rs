//! Turns that take too long, turns that nobody reads, processes that stay.

use std::time::Duration;

use windlass_core::{Error, ErrorCode};

use super::super::case::{Case, Checked, Stop};
use super::super::trial::SOON;
use super::super::{Act, Trial};
use super::{say, scene};

const DEADLINE: Duration = Duration::from_secs(2);

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case {
            group: "time",
            name: "deadline",
            scenes: vec![scene("Wait.", Act::Hang)],
            check: |trial| Box::pin(deadline(trial)),
        },
        Case {
            group: "time",
            name: "reader gone",
            scenes: vec![
                scene("Wait.", Act::Hang),
                scene("Say hello.", say("Hello.")),
            ],
            check: |trial| Box::pin(reader_gone(trial)),
        },
        Case {
            group: "processes",
            name: "none left",
            scenes: vec![
                scene("Say hello.", say("Hello.")),
                scene("Use a tool.", Act::HangInTool),
            ],
            check: |trial| Box::pin(broken_off(trial)),
        },
    ]
}

async fn deadline(trial: &Trial) -> Checked {
    let session = trial.begin().await?;
    let since = trial.now();
    let turn = trial
        .ask(&session, trial.prompt(0).within(DEADLINE))
        .await?;
    let told = trial.rest(turn).await;
    trial.took_at_most(since, DEADLINE + SOON, "the turn that ran out of time")?;
    told.fails_with(ErrorCode::Timeout)
}

/// A reader that leaves stops the turn: the session is free for another one soon.
async fn reader_gone(trial: &Trial) -> Checked {
    let session = trial.begin().await?;
    let turn = trial.start(&session, 0).await?;
    trial.pause().await;
    drop(turn);
    let since = trial.now();
    loop {
        match trial.agent().prompt(&session, trial.prompt(1)).await {
            Ok(turn) => return trial.rest(turn).await.answers("Hello."),
            Err(Error::SessionBusy { .. }) => trial.pause().await,
            Err(error) => return Err(Stop::Failed(format!("no turn began: {error}"))),
        }
        trial.took_at_most(since, SOON, "the turn that nobody read")?;
    }
}

/// One turn to its end, one broken off by the end of the agent itself. The suite then looks for processes.
async fn broken_off(trial: &Trial) -> Checked {
    let session = trial.begin().await?;
    trial.passes(&session, 0).await?;
    let turn = trial.start(&session, 1).await?;
    trial.pause().await;
    drop(turn);
    Ok(())
}
