//! Errors of MCP servers.

use std::time::Duration;

use windlass_core::limits::PROTOCOL_LINE_BYTES;
use windlass_core::{ErrorCode, Retry};

/// A [`Result`](std::result::Result) with [`Error`] as the default error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of an MCP server. Every message except a tool's own names the server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name of a server cannot be part of a tool's name.
    #[error("mcp server {name:?}: {problem}")]
    InvalidName {
        /// The given name.
        name: String,
        /// Why it is invalid.
        problem: &'static str,
    },
    /// A host in the server's `network` is not written as one.
    #[error("mcp server {server}: network: {source}")]
    InvalidNetwork {
        /// The server.
        server: String,
        /// The validation error of the host.
        source: windlass_sandbox::InvalidHost,
    },
    /// The program of the server could not be started.
    #[error("mcp server {server}: {source}")]
    Start {
        /// The server.
        server: String,
        /// The error of the sandbox.
        source: windlass_sandbox::Error,
    },
    /// The server no longer runs.
    #[error("mcp server {server} {how}")]
    ServerExited {
        /// The server.
        server: String,
        /// How it ended, with the tail of its stderr.
        how: String,
    },
    /// The server exceeded a time limit.
    #[error("mcp server {server}: {what} took longer than {} s{stderr}", after.as_secs_f64())]
    Timeout {
        /// The server.
        server: String,
        /// The operation that did not finish.
        what: String,
        /// The time limit.
        after: Duration,
        /// The tail of the server's stderr, as the end of the sentence; may be empty.
        stderr: String,
    },
    /// The server sent a line that exceeds the protocol's limit, and was stopped.
    #[error(
        "mcp server {server} sent a line of more than {} MiB and was stopped: request less data per call",
        PROTOCOL_LINE_BYTES >> 20
    )]
    LineTooLong {
        /// The server.
        server: String,
    },
    /// The server lists too many items.
    #[error("mcp server {server} lists more than {limit} of {what}")]
    TooMany {
        /// The server.
        server: String,
        /// The kind of items.
        what: &'static str,
        /// The limit, with its unit.
        limit: String,
    },
    /// No server of the session has this name.
    #[error("no mcp server {server:?}: available: {known}")]
    UnknownServer {
        /// The requested name.
        server: String,
        /// The available names.
        known: String,
    },
    /// The server has no tool of this name.
    #[error("mcp server {server} has no tool {tool:?}: available: {known}")]
    UnknownTool {
        /// The server.
        server: String,
        /// The requested name.
        tool: String,
        /// The available names.
        known: String,
    },
    /// The tool ran and failed. The message is for the caller of the tool.
    #[error("{message}")]
    ToolFailed {
        /// The server.
        server: String,
        /// The tool that failed.
        tool: String,
        /// The message from the tool.
        message: String,
    },
    /// The server returned an error to a request.
    #[error("mcp server {server}: {what}: {message} ({code})")]
    ErrorResponse {
        /// The server.
        server: String,
        /// The request.
        what: String,
        /// The error code of the protocol.
        code: i32,
        /// The message from the server.
        message: String,
    },
    /// The server violated the protocol.
    #[error("mcp server {server}: {what}: {problem}")]
    Protocol {
        /// The server.
        server: String,
        /// The request.
        what: String,
        /// The violation.
        problem: String,
    },
}

impl Error {
    /// Returns the stable code of this error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Start { source, .. } => source.code(),
            Self::Timeout { .. } => ErrorCode::Timeout,
            Self::LineTooLong { .. } | Self::TooMany { .. } => ErrorCode::OutputLimit,
            Self::ToolFailed { .. } | Self::UnknownTool { .. } => ErrorCode::ToolFailed,
            Self::InvalidName { .. }
            | Self::InvalidNetwork { .. }
            | Self::ServerExited { .. }
            | Self::UnknownServer { .. }
            | Self::ErrorResponse { .. }
            | Self::Protocol { .. } => ErrorCode::BackendError,
        }
    }

    /// Returns whether a retry may succeed. A server that exited is not restarted by its
    /// [`McpServers`](crate::McpServers).
    pub fn retry(&self) -> Retry {
        match self {
            Self::Start { source, .. } => source.retry(),
            Self::Timeout { .. } => Retry::Now,
            _ => Retry::Never,
        }
    }
}

/// Joins names for a message; `none` if there are no names.
pub(crate) fn join_names(names: &[&str]) -> String {
    // A server may have a thousand tools. Limit the length of the message.
    const MAX_SHOWN: usize = 40;
    match names.split_at_checked(MAX_SHOWN) {
        _ if names.is_empty() => "none".to_owned(),
        Some((shown, rest @ [_, ..])) => format!("{} and {} more", shown.join(", "), rest.len()),
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::join_names;

    #[test]
    fn long_list_of_names_is_shortened() {
        assert_eq!(join_names(&[]), "none");
        assert_eq!(join_names(&["a", "b"]), "a, b");
        assert!(join_names(&["a"; 40]).ends_with(", a"));
        assert!(join_names(&["a"; 41]).ends_with(", a and 1 more"));
    }
}
