//! The cases, by topic.

mod cancel;
mod events;
mod prompts;
mod schema;
mod session;
mod time;

use super::case::Case;
use super::{Action, ScriptedTurn};

/// Returns every case, in the order of the report.
pub(super) fn all() -> Vec<Case> {
    let groups = [
        session::cases(),
        events::cases(),
        cancel::cases(),
        time::cases(),
        schema::cases(),
        prompts::cases(),
    ];
    groups.into_iter().flatten().collect()
}

/// Creates a turn in the first session.
fn turn(prompt: &str, act: Action) -> ScriptedTurn {
    turn_in(0, prompt, act)
}

fn turn_in(session: usize, prompt: &str, act: Action) -> ScriptedTurn {
    ScriptedTurn {
        session,
        prompt: prompt.to_owned(),
        act,
    }
}

fn say_action(text: &str) -> Action {
    Action::Say(text.to_owned())
}
