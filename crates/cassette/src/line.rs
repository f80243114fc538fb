//! One line of a cassette as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::{AgentEvent, SessionId};

use crate::RecordedOptions;

/// The first line.
#[derive(Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) cassette: u64,
}

/// Every other line. `cut` ends a turn or a response that was interrupted.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum CassetteLine {
    Turn {
        session: SessionId,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        resumed: bool,
        #[serde(default)]
        options: RecordedOptions,
        prompt: String,
    },
    Event {
        #[serde(with = "millis")]
        at: Duration,
        event: AgentEvent,
    },
    Request {
        dialect: String,
        method: String,
        path: String,
        body: Value,
    },
    Response {
        status: u16,
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    Chunk {
        #[serde(with = "millis")]
        at: Duration,
        text: String,
    },
    Cut {
        #[serde(with = "millis")]
        at: Duration,
    },
}

/// Serializes offsets as whole milliseconds.
mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        at: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(at.as_millis()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(source: D) -> Result<Duration, D::Error> {
        u64::deserialize(source).map(Duration::from_millis)
    }
}
