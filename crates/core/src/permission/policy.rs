//! The answer to permission requests that no rule matches.

use serde::{Deserialize, Serialize};

/// How permission requests are answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PermissionPolicy {
    /// Allow everything inside the sandbox.
    Allow,
    /// Deny everything that needs permission.
    #[default]
    Deny,
    /// Ask a person.
    Ask,
}
