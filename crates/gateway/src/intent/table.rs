//! The agents' tools as data: what they are called and how they name what they take.
//!
//! A new agent is a new name here. An agent whose tools are in no list is met by the shape of its schemas.

use crate::script::{Intent, IntentKind};

/// What the tools for one intent look like.
#[derive(Debug)]
pub(super) struct IntentTools {
    /// The intent.
    pub(super) kind: IntentKind,
    /// What the agents call the tool, the most telling name first.
    pub(super) names: &'static [&'static str],
    /// What the name of an unknown tool for this must contain; empty where the shape alone is enough.
    pub(super) hints: &'static [&'static str],
}

/// One thing that a tool takes, under the names that agents have for it.
pub(super) type ParamNames = &'static [&'static str];

/// A line for the shell.
const COMMAND: ParamNames = &["command", "cmd", "script"];
/// A file.
pub(super) const PATH: ParamNames = &[
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "target_file",
    "filename",
    "file",
];
/// All of a file.
const CONTENT: ParamNames = &["content", "contents", "file_text", "text", "data"];
/// The text to replace.
const OLD: ParamNames = &["old_string", "oldString", "old_str", "old_text", "old"];
/// What comes in its place.
const NEW: ParamNames = &["new_string", "newString", "new_str", "new_text", "new"];

/// An MCP server.
const SERVER: ParamNames = &["server", "serverName", "server_name"];
/// A resource of it.
const URI: ParamNames = &["uri"];

/// The tools that every coding agent has in some form.
pub(super) const ROWS: [IntentTools; 6] = [
    IntentTools {
        kind: IntentKind::Shell,
        names: &[
            "exec_command",      // Codex
            "Bash",              // Claude Code
            "run_shell_command", // Gemini, Qwen
            "bash",              // opencode, Copilot
            "shell_run",         // Windlass
            "shell_command",     // Codex, some models
            "shell",             // Codex, before 0.50; takes a list of words
            "container.exec",    // Codex, by its model's first name for it
            "execute_command",   // Cline
            "run_terminal_cmd",  // Cursor
            "run_command",
        ],
        hints: &["shell", "bash", "exec", "command", "terminal"],
    },
    IntentTools {
        kind: IntentKind::WriteFile,
        names: &[
            "Write",         // Claude Code
            "write_file",    // Gemini, Qwen
            "write",         // opencode
            "create",        // Copilot, for files that are not there yet
            "fs_write",      // Windlass
            "write_to_file", // Cline
            "create_file",
        ],
        hints: &[],
    },
    IntentTools {
        kind: IntentKind::EditFile,
        names: &[
            "Edit",            // Claude Code
            "replace",         // Gemini
            "edit",            // opencode, Qwen, Copilot
            "fs_edit",         // Windlass
            "replace_in_file", // Cline
            "edit_file",
            "str_replace",
        ],
        hints: &[],
    },
    IntentTools {
        kind: IntentKind::ReadFile,
        names: &[
            "Read",      // Claude Code
            "read_file", // Gemini, Qwen
            "read",      // opencode
            "view",      // Copilot
            "fs_read",   // Windlass
            "view_file",
        ],
        hints: &["read"],
    },
    IntentTools {
        kind: IntentKind::McpResources,
        names: &[
            "ListMcpResourcesTool", // Claude Code
            "list_mcp_resources",   // Codex
        ],
        hints: &["list_mcp_resources"],
    },
    IntentTools {
        kind: IntentKind::McpResource,
        names: &[
            "ReadMcpResourceTool", // Claude Code
            "read_mcp_resource",   // Codex
        ],
        hints: &["read_mcp_resource"],
    },
];

/// The tools through which an agent gives a structured answer.
pub(super) const STRUCTURED: [&str; 3] = [
    "StructuredOutput",  // Claude Code
    "structured_output", // Qwen
    "respond_in_schema", // Qwen, asking for itself
];

/// Tools that write only into a folder that is already there, so that a new folder is the shell's work.
pub(super) const NEEDS_FOLDER: [&str; 1] = ["create"]; // Copilot

/// Codex's tool for patches.
pub(super) const PATCH: &str = "apply_patch";

/// The row of an intent; MCP and raw calls have none, since they bring their own names.
pub(super) fn row(kind: IntentKind) -> Option<&'static IntentTools> {
    ROWS.iter().find(|row| row.kind == kind)
}

/// What an intent gives a tool, slot by slot.
pub(super) fn slots(intent: &Intent) -> Vec<(ParamNames, &str)> {
    match intent {
        Intent::Shell { command } => vec![(COMMAND, command)],
        Intent::WriteFile { path, content } => vec![(PATH, path), (CONTENT, content)],
        Intent::EditFile { path, old, new } => vec![(PATH, path), (OLD, old), (NEW, new)],
        Intent::ReadFile { path } => vec![(PATH, path)],
        Intent::McpResources { server } => vec![(SERVER, server)],
        Intent::McpResource { server, uri } => vec![(SERVER, server), (URI, uri)],
        Intent::Mcp { .. } | Intent::Raw { .. } => Vec::new(),
    }
}

impl IntentKind {
    /// Whether a tool of this name is for this, as far as names tell.
    ///
    /// Codex's `apply_patch` both writes and edits.
    pub fn has_tool(self, name: &str) -> bool {
        let patches = matches!(self, Self::WriteFile | Self::EditFile);
        row(self).is_some_and(|row| row.names.contains(&name)) || (patches && name == PATCH)
    }
}
