//! The description of an MCP server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::NetworkSetting;

/// An MCP server: a program that communicates over stdin and stdout.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct McpServer {
    /// The name of the server for the agent.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Its environment variables, in addition to the allow-list.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Hosts that it may reach in addition to those of addresses in `env`, or `open` or `none`. A server that an agent
    /// starts itself runs in the agent's sandbox and reaches the agent's hosts instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkSetting>,
}
