//! The agents' tools as data: their names and the names of their parameters.
//!
//! A new agent is a new name here. The tools of an agent that is not listed are matched by the shape
//! of their schemas.

use crate::script::{Intent, IntentKind};

/// The tools for one intent.
#[derive(Debug)]
pub(super) struct IntentTools {
    /// The intent.
    pub(super) kind: IntentKind,
    /// The agents' names for the tool, the most specific one first.
    pub(super) names: &'static [&'static str],
    /// Texts of which the name of an unknown tool must contain one; empty if the schema alone is sufficient.
    pub(super) hints: &'static [&'static str],
}

/// The names that agents use for one parameter.
pub(super) type ParamNames = &'static [&'static str];

/// A shell command.
const COMMAND: ParamNames = &["command", "cmd", "script"];
/// A path.
pub(super) const PATH: ParamNames = &[
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "target_file",
    "filename",
    "file",
];
/// The whole content of a file.
const CONTENT: ParamNames = &["content", "contents", "file_text", "text", "data"];
/// The text to replace.
const OLD: ParamNames = &["old_string", "oldString", "old_str", "old_text", "old"];
/// The replacement.
const NEW: ParamNames = &["new_string", "newString", "new_str", "new_text", "new"];

/// The action of a tool that has several, if it is one of a list.
pub(super) const ACTION: ParamNames = &["command", "action"];

/// An MCP server.
const SERVER: ParamNames = &["server", "serverName", "server_name"];
/// The URI of a resource.
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
            "shell",             // Codex, before 0.50; takes a list of arguments
            "container.exec",    // Codex, its model's first name for the tool
            "execute_command",   // Cline
            "run_terminal_cmd",  // Cursor
            "run_command",
        ],
        hints: &["shell", "bash", "exec", "command", "terminal"],
    },
    IntentTools {
        kind: IntentKind::WriteFile,
        names: &[
            "Write",           // Claude Code
            "write_file",      // Gemini, Qwen
            "write",           // opencode
            "create",          // Copilot, only for new files
            "fs_write",        // Windlass
            "write_to_file",   // Cline
            "write_text_file", // fast-agent
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
            "read_text_file", // fast-agent
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

/// The tools by which an agent returns a structured answer.
pub(super) const STRUCTURED: [&str; 3] = [
    "StructuredOutput",  // Claude Code
    "structured_output", // Qwen
    "respond_in_schema", // Qwen, for its own requests
];

/// Tools that write only into an existing directory, so that a new directory is created with the shell.
pub(super) const NEEDS_EXISTING_DIR: [&str; 1] = ["create"]; // Copilot

/// Codex's patch tool.
pub(super) const PATCH: &str = "apply_patch";

/// Returns the row of an intent. MCP and raw calls have none, because they contain the tool's name.
pub(super) fn row(kind: IntentKind) -> Option<&'static IntentTools> {
    ROWS.iter().find(|row| row.kind == kind)
}

/// Returns the values of an intent, each with its parameter names.
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

/// Returns the name of an intent in a tool that has several actions.
pub(super) fn action(intent: &Intent) -> Option<&'static str> {
    match intent {
        Intent::WriteFile { .. } => Some("create"),
        Intent::EditFile { .. } => Some("str_replace"),
        Intent::ReadFile { .. } => Some("view"),
        _ => None,
    }
}

impl IntentKind {
    /// Returns `true` if a tool with this name executes this intent. Only the name is checked.
    ///
    /// Codex's `apply_patch` both writes and edits.
    pub fn has_tool(self, name: &str) -> bool {
        let patches = matches!(self, Self::WriteFile | Self::EditFile);
        row(self).is_some_and(|row| row.names.contains(&name)) || (patches && name == PATCH)
    }
}
