//! The setting `network` of an agent or an MCP server.

use serde::{Deserialize, Serialize};

/// Which hosts a process may reach, as the user writes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NetworkSetting {
    /// Every host, or none.
    Mode(NetworkMode),
    /// Hosts in addition to those that the process always reaches, as `host:port`.
    Hosts(Vec<String>),
}

/// A network setting that is not a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// Every host.
    Open,
    /// No host.
    None,
}
