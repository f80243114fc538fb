//! Diagnostics of a finished turn from its process or its provider.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::AgentEvent;

/// How a turn ended, in addition to its terminal event.
///
/// After a success it is in the metadata of the result; otherwise it is in a separate event before the
/// terminal event. A trace therefore has the same data for a CLI agent, an ACP agent and an HTTP model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnDiagnostics {
    /// The exit code, if a process ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The tail of the process's stderr, if it is not empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// The HTTP status, if the provider returned an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the provider asked to wait before a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// The kind of the event, and the key in a result's metadata.
const KIND: &str = "diagnostics";
/// The name that earlier versions wrote instead of [`KIND`]. It is still read.
const OLD_KIND: &str = "aftermath";

impl TurnDiagnostics {
    /// Reads the diagnostics from a separate event or from the metadata of a result.
    pub fn from_event(event: &AgentEvent) -> Option<Self> {
        let value = match event {
            AgentEvent::Custom { kind, payload } if kind == KIND || kind == OLD_KIND => payload,
            AgentEvent::Result { metadata, .. } => {
                metadata.get(KIND).or_else(|| metadata.get(OLD_KIND))?
            }
            _ => return None,
        };
        Self::deserialize(value).ok()
    }

    /// Returns how long the provider asked to wait before a retry.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after_ms.map(Duration::from_millis)
    }

    /// Sets how long the provider asked to wait before a retry.
    #[must_use]
    pub fn with_retry_after(mut self, after: Option<Duration>) -> Self {
        self.retry_after_ms = after.map(super::millis);
        self
    }

    /// Returns the events that end a turn: an optional event with the diagnostics, and the terminal event.
    ///
    /// Diagnostics of a result are added to its metadata. Empty diagnostics are omitted.
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
    fn diagnostics_are_read_back_from_every_terminal_event() {
        let diagnostics = TurnDiagnostics {
            exit_code: Some(3),
            ..TurnDiagnostics::default()
        };
        let (before, end) = diagnostics.clone().attach_to(AgentEvent::result("done"));
        assert_eq!(
            (before, TurnDiagnostics::from_event(&end)),
            (None, Some(diagnostics.clone()))
        );
        let failed = AgentEvent::from(Error::agent(ErrorCode::BackendError, "no"));
        let (before, end) = diagnostics.clone().attach_to(failed.clone());
        assert_eq!(end, failed);
        assert_eq!(
            before.as_ref().and_then(TurnDiagnostics::from_event),
            Some(diagnostics)
        );
        let (before, end) = TurnDiagnostics::default().attach_to(AgentEvent::result("done"));
        assert_eq!((before, end), (None, AgentEvent::result("done")));
    }

    #[test]
    fn diagnostics_under_the_old_name_are_still_read() {
        let diagnostics = TurnDiagnostics {
            exit_code: Some(3),
            ..TurnDiagnostics::default()
        };
        let result = AgentEvent::Result {
            text: "done".to_owned(),
            usage: None,
            metadata: json!({ "aftermath": { "exit_code": 3 } }),
        };
        let event = AgentEvent::custom("aftermath", json!({ "exit_code": 3 }));
        for event in [result, event] {
            assert_eq!(
                TurnDiagnostics::from_event(&event),
                Some(diagnostics.clone())
            );
        }
    }
}
