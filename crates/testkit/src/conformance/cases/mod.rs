//! The cases, by what they are about.

mod cancel;
mod events;
mod prompts;
mod schema;
mod session;
mod time;

use super::case::Case;
use super::{Act, Scene};

/// Every case, in the order of the report.
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

/// A scene in the first session.
fn scene(prompt: &str, act: Act) -> Scene {
    scene_in(0, prompt, act)
}

fn scene_in(session: usize, prompt: &str, act: Act) -> Scene {
    Scene {
        session,
        prompt: prompt.to_owned(),
        act,
    }
}

fn say(text: &str) -> Act {
    Act::Say(text.to_owned())
}
