//! Why a turn ended, and the terminal event for it.

use std::time::Duration;

use crate::{AgentEvent, BackendEvent, Error, ErrorCode};

/// Why a turn ended.
pub(super) enum TurnEnd {
    /// The backend sent a terminal event.
    Terminal(Box<BackendEvent>),
    /// The stream ended without a terminal event.
    MissingTerminal,
    /// The backend returned an error or panicked.
    Failed(Error),
    /// The caller cancelled the turn.
    Cancelled,
    /// A time limit was exceeded: what was waited for, and the limit.
    TimedOut(&'static str, Duration),
    /// The events exceeded the size limit.
    OutputLimit,
    /// The receiver was dropped.
    ReceiverDropped,
}

impl TurnEnd {
    /// Returns the terminal event for this end.
    pub(super) fn into_terminal(self, backend: &str) -> BackendEvent {
        let error = match self {
            Self::Terminal(event) => return *event,
            Self::Failed(error) => error,
            Self::Cancelled | Self::ReceiverDropped => Error::Cancelled,
            Self::TimedOut(what, after) => Error::Timeout {
                what: what.to_owned(),
                after,
            },
            Self::MissingTerminal => Error::agent(
                ErrorCode::BackendError,
                format!("{backend} ended the turn without a terminal event"),
            ),
            Self::OutputLimit => Error::agent(
                ErrorCode::OutputLimit,
                format!("{backend} exceeded the output limit of a turn"),
            ),
        };
        AgentEvent::from(error).into()
    }
}
