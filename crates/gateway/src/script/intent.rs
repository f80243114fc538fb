//! What a model wants done, without the name of any agent's tool.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A wish that each agent has its own tool for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Intent {
    /// Run a command in the workspace.
    Shell {
        /// A line for the shell.
        command: String,
    },
    /// Make a file, or replace it.
    WriteFile {
        /// Where, from the workspace.
        path: String,
        /// All of it.
        content: String,
    },
    /// Change one place of a file.
    EditFile {
        /// Where, from the workspace.
        path: String,
        /// The text to replace, in whole lines: Codex's patches know nothing smaller.
        old: String,
        /// What comes in its place.
        new: String,
    },
    /// Look at a file.
    ReadFile {
        /// Where, from the workspace.
        path: String,
    },
    /// Call a tool of an MCP server.
    Mcp {
        /// The server, as the agent was told its name.
        server: String,
        /// The tool, as the server names it.
        tool: String,
        /// What it takes.
        arguments: Map<String, Value>,
    },
    /// List what an MCP server has to read.
    McpResources {
        /// The server, as the agent was told its name.
        server: String,
    },
    /// Read what an MCP server has to read.
    McpResource {
        /// The server, as the agent was told its name.
        server: String,
        /// The resource.
        uri: String,
    },
    /// Call a tool by the name that one agent has for it.
    Raw {
        /// The name.
        name: String,
        /// What it takes; a tool for plain text gets a string.
        arguments: Value,
    },
}

impl Intent {
    /// The word for it.
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

/// The word for an intent, as scripts and scenarios write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum IntentKind {
    /// Run a command.
    Shell,
    /// Make or replace a file.
    WriteFile,
    /// Change a file.
    EditFile,
    /// Look at a file.
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
    /// The word.
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

    /// The intents that agents have tools of their own for.
    pub const NATIVE: [Self; 6] = [
        Self::Shell,
        Self::WriteFile,
        Self::EditFile,
        Self::ReadFile,
        Self::McpResources,
        Self::McpResource,
    ];

    /// The intent with this word, among those that agents have tools of their own for.
    pub fn from_name(word: &str) -> Option<Self> {
        Self::NATIVE.into_iter().find(|kind| kind.as_str() == word)
    }
}

impl std::fmt::Display for IntentKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
