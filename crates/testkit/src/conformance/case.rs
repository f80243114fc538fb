//! A case: what is staged, and what is looked at.

use futures::future::BoxFuture;

use super::{Scene, Stage, Trial, Verdict};

/// One thing that a backend must do right.
pub(super) struct Case {
    pub(super) group: &'static str,
    pub(super) name: &'static str,
    pub(super) scenes: Vec<Scene>,
    pub(super) check: for<'a> fn(&'a Trial) -> BoxFuture<'a, Checked>,
}

impl Case {
    pub(super) fn stage(&self) -> Stage {
        Stage {
            case: format!("{}: {}", self.group, self.name),
            scenes: self.scenes.clone(),
        }
    }
}

/// Why a case stops before its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// The backend cannot do it and says so.
    Refused(String),
    /// The backend does it wrong.
    Failed(String),
}

/// What comes of looking at something.
pub(super) type Checked<T = ()> = Result<T, Stop>;

impl From<Stop> for Verdict {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Refused(why) => Self::Refused(why),
            Stop::Failed(how) => Self::Failed(how),
        }
    }
}

/// Fails with the sentence unless the condition holds.
pub(super) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(Stop::Failed(otherwise()))
    }
}
