//! The life of a session.

use windlass_core::{AgentEvent, Error, SessionId, SessionOptions};

use super::super::case::{Case, Checked, Stop, ensure};
use super::super::told::shown;
use super::super::{Act, Trial};
use super::{say, scene, scene_in};

const GROUP: &str = "session";

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case {
            group: GROUP,
            name: "new",
            scenes: vec![scene("Say hello.", say("Hello."))],
            check: |trial| Box::pin(new(trial)),
        },
        Case {
            group: GROUP,
            name: "several",
            scenes: vec![
                scene_in(0, "Say one.", say("One.")),
                scene_in(1, "Say two.", say("Two.")),
            ],
            check: |trial| Box::pin(several(trial)),
        },
        Case {
            group: GROUP,
            name: "remembers",
            scenes: vec![
                scene("The word is amber.", say("Understood.")),
                scene("What did I say first?", Act::Recall),
            ],
            check: |trial| Box::pin(remembers(trial)),
        },
        Case {
            group: GROUP,
            name: "resumed",
            scenes: vec![
                scene_in(0, "The word is amber.", say("Understood.")),
                scene_in(1, "The word is basalt.", say("Understood.")),
                scene_in(0, "What did I say first?", Act::Recall),
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

async fn new(trial: &Trial) -> Checked {
    let session = trial.begin().await?;
    trial.passes(&session, 0).await.map(drop)
}

async fn several(trial: &Trial) -> Checked {
    let one = trial.begin().await?;
    let two = trial.begin().await?;
    ensure(one != two, || format!("two sessions have one id, {one}"))?;
    trial.passes(&one, 0).await?;
    trial.passes(&two, 1).await.map(drop)
}

async fn remembers(trial: &Trial) -> Checked {
    let session = trial.begin().await?;
    trial.passes(&session, 0).await?;
    trial.passes(&session, 1).await.map(drop)
}

async fn resumed(trial: &Trial) -> Checked {
    let one = trial.begin().await?;
    trial.passes(&one, 0).await?;
    let two = trial.begin().await?;
    trial.passes(&two, 1).await?;
    let loaded = trial
        .agent()
        .load_session(&one, SessionOptions::default())
        .await;
    trial
        .granted(|can| can.load_session, "take up a session", loaded)?
        .map_err(|error| Stop::Failed(format!("the session was not taken up: {error}")))?;
    trial.passes(&one, 2).await.map(drop)
}

/// An id that no backend gave out.
fn nobody() -> SessionId {
    "00000000-0000-4000-8000-000000000000".into()
}

async fn unknown_resumed(trial: &Trial) -> Checked {
    let loaded = trial
        .agent()
        .load_session(&nobody(), SessionOptions::default())
        .await;
    match trial.granted(|can| can.load_session, "take up a session", loaded)? {
        Err(Error::SessionNotFound { .. }) => Ok(()),
        Err(other) => Err(Stop::Failed(format!(
            "an unknown session gives the wrong error: {other}"
        ))),
        Ok(()) => Err(Stop::Failed(
            "a session that never was is taken up".to_owned(),
        )),
    }
}

async fn unknown_prompted(trial: &Trial) -> Checked {
    let turn = trial.ask(&nobody(), "Hello?".into()).await?;
    let told = trial.rest(turn).await;
    let last = told.events().last();
    ensure(
        matches!(last, Some(AgentEvent::SessionInvalid { .. })),
        || format!("a turn in an unknown session ended with {}", shown(last)),
    )
}
