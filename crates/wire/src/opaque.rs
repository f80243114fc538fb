//! Fields and values that stay as they were received.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Dialect;

/// Fields without a common equivalent, stored as received so that they can be sent again.
pub type Extra = Map<String, Value>;

/// A value that only its own API understands. It is sent to that API and dropped for every other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// The API that understands it.
    pub dialect: Dialect,
    /// The JSON value as received.
    pub value: Value,
}
