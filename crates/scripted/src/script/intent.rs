//! Tool requests that do not name an agent's tool.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool request that each agent executes with its own tool.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Intent {
    /// Run a command in the workspace.
    Shell {
        /// The shell command.
        command: String,
    },
    /// Create or replace a file.
    WriteFile {
        /// The path, relative to the workspace.
        path: String,
        /// The whole content.
        content: String,
    },
    /// Change one part of a file.
    EditFile {
        /// The path, relative to the workspace.
        path: String,
        /// The text to replace, in whole lines: Codex's patches support nothing smaller.
        old: String,
        /// The replacement.
        new: String,
    },
    /// Read a file.
    ReadFile {
        /// The path, relative to the workspace.
        path: String,
    },
    /// Call a tool of an MCP server.
    Mcp {
        /// The name of the server in the agent's configuration.
        server: String,
        /// The server's name for the tool.
        tool: String,
        /// The arguments.
        arguments: Map<String, Value>,
    },
    /// List the resources of an MCP server.
    McpResources {
        /// The name of the server in the agent's configuration.
        server: String,
    },
    /// Read a resource of an MCP server.
    McpResource {
        /// The name of the server in the agent's configuration.
        server: String,
        /// The URI of the resource.
        uri: String,
    },
    /// Call a tool by an agent's own name for it.
    Raw {
        /// The name.
        name: String,
        /// The arguments; a tool for plain text gets a string.
        arguments: Value,
    },
}

impl Intent {
    /// Returns the kind of the intent.
    pub fn kind(&self) -> IntentKind {
        match self {
            Self::Shell { .. } => IntentKind::Shell,
            Self::WriteFile { .. } => IntentKind::WriteFile,
            Self::EditFile { .. } => IntentKind::EditFile,
            Self::ReadFile { .. } => IntentKind::ReadFile,
            Self::Mcp { .. } => IntentKind::Mcp,
            Self::McpResources { .. } => IntentKind::McpResources,
            Self::McpResource { .. } => IntentKind::McpResource,
            Self::Raw { .. } => IntentKind::Call,
        }
    }
}

/// The kind of an intent, with its name in scripts and scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum IntentKind {
    /// Run a command.
    Shell,
    /// Create or replace a file.
    WriteFile,
    /// Change a file.
    EditFile,
    /// Read a file.
    ReadFile,
    /// Call an MCP server's tool.
    Mcp,
    /// List an MCP server's resources.
    McpResources,
    /// Read an MCP server's resource.
    McpResource,
    /// Call a tool by its own name.
    Call,
}

impl IntentKind {
    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::WriteFile => "write_file",
            Self::EditFile => "edit_file",
            Self::ReadFile => "read_file",
            Self::Mcp => "mcp",
            Self::McpResources => "mcp_resources",
            Self::McpResource => "mcp_resource",
            Self::Call => "call",
        }
    }

    /// The intents for which agents have their own tools.
    pub const NATIVE: [Self; 6] = [
        Self::Shell,
        Self::WriteFile,
        Self::EditFile,
        Self::ReadFile,
        Self::McpResources,
        Self::McpResource,
    ];

    /// Returns the intent with this name, among those for which agents have their own tools.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NATIVE.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl std::fmt::Display for IntentKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
