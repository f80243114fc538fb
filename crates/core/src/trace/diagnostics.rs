//! What else is known of how a turn ended: what the process or the provider left behind.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::AgentEvent;

/// How a turn ended, beside its terminal event.
///
/// It stands in the metadata of a result, and in an event of its own before any other end, so that a trace has the
/// same for a program, an ACP agent and a model behind HTTP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnDiagnostics {
    /// The exit code, where a process came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The end of what the process said on stderr, where it said anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// The HTTP status, where a provider refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the provider asked us to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// The kind of the event, and the key in a result's metadata.
const KIND: &str = "aftermath";

impl TurnDiagnostics {
    /// What an event says about it: the event of its own, or a result with metadata.
    pub fn from_event(event: &AgentEvent) -> Option<Self> {
        let found = match event {
            AgentEvent::Custom { kind, payload } if kind == KIND => payload,
            AgentEvent::Result { metadata, .. } => metadata.get(KIND)?,
            _ => return None,
        };
        Self::deserialize(found).ok()
    }

    /// How long the provider asked us to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after_ms.map(Duration::from_millis)
    }

    /// The same, with this time to wait.
    #[must_use]
    pub fn with_retry_after(mut self, after: Option<Duration>) -> Self {
        self.retry_after_ms = after.map(super::millis);
        self
    }

    /// The event to send before the end of a turn, and the end itself; nothing more where nothing is known.
    pub fn attach_to(self, end: AgentEvent) -> (Option<AgentEvent>, AgentEvent) {
        if self == Self::default() {
            return (None, end);
        }
        match end {
            AgentEvent::Result {
                text,
                usage,
                mut metadata,
            } => {
                if metadata.is_null() {
                    metadata = Value::Object(serde_json::Map::new());
                }
                if let Some(table) = metadata.as_object_mut() {
                    table.insert(KIND.to_owned(), json!(self));
                }
                let end = AgentEvent::Result {
                    text,
                    usage,
                    metadata,
                };
                (None, end)
            }
            end => (Some(AgentEvent::custom(KIND, json!(self))), end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, ErrorCode};

    #[test]
    fn every_end_can_carry_it() {
        let aftermath = TurnDiagnostics {
            exit_code: Some(3),
            ..TurnDiagnostics::default()
        };
        let (before, end) = aftermath.clone().attach_to(AgentEvent::result("done"));
        assert_eq!(
            (before, TurnDiagnostics::from_event(&end)),
            (None, Some(aftermath.clone()))
        );
        let failed = AgentEvent::from(Error::agent(ErrorCode::BackendError, "no"));
        let (before, end) = aftermath.clone().attach_to(failed.clone());
        assert_eq!(end, failed);
        assert_eq!(
            before.as_ref().and_then(TurnDiagnostics::from_event),
            Some(aftermath)
        );
        let (before, end) = TurnDiagnostics::default().attach_to(AgentEvent::result("done"));
        assert_eq!((before, end), (None, AgentEvent::result("done")));
    }
}
