//! The input of one run of an agent.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_core::{DirAccess, McpServer, PermissionPolicy, PermissionRule};
use windlass_sandbox::Mechanism;

use super::tokens::RunningTotal;
use crate::ProgramSettings;
use crate::program::Version;

/// Everything that one run depends on, as a profile sees it.
#[derive(Debug, Clone, Copy)]
pub struct RunContext<'a> {
    /// The user's settings.
    pub settings: &'a ProgramSettings,
    /// The installed version.
    pub version: Version,
    /// The sandbox mechanism: an agent's own sandbox may fail to start inside it.
    pub mechanism: Mechanism,
    /// The working directory.
    pub cwd: &'a Path,
    /// What the agent may change in the working directory.
    pub access: DirAccess,
    /// Paths outside the working directory that the agent must be able to read.
    pub readable: &'a [PathBuf],
    /// The model to use.
    pub model: Option<&'a str>,
    /// The permission policy.
    pub permissions: PermissionPolicy,
    /// The project's instructions, for an agent that does not read them on its own.
    pub instructions: Option<&'a str>,
    /// Exceptions to the permission policy.
    pub rules: &'a [PermissionRule],
    /// MCP servers to connect to.
    pub mcp_servers: &'a [McpServer],
    /// A file with the MCP servers, if the transport needs one.
    pub servers_file: Option<&'a Path>,
    /// The JSON Schema that answers must match.
    pub schema: Option<&'a Value>,
    /// A file with the schema, if the transport needs one.
    pub schema_file: Option<&'a Path>,
    /// The session to create or resume.
    pub start: SessionStart<'a>,
    /// The number of the turn in the session, starting at one.
    pub turn: u64,
    /// The session's usage before this run, if known.
    pub before: Option<RunningTotal>,
}

impl RunContext<'_> {
    /// Returns the MCP servers as an object by name, the form that most agents accept.
    pub fn mcp_servers_json(&self) -> Value {
        let entry = |server: &McpServer| {
            let table =
                json!({ "command": server.command, "args": server.args, "env": server.env });
            (server.name.clone(), table)
        };
        Value::Object(self.mcp_servers.iter().map(entry).collect())
    }
}

/// The session that a run creates or resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStart<'a> {
    /// A new session; the agent chooses its ID.
    Fresh,
    /// A new session with this ID.
    Named(&'a str),
    /// An existing session.
    Resume(&'a str),
}
