//! Why a server could not be started, or did not do what was asked of it.

use std::time::Duration;

use windlass_core::limits::PROTOCOL_LINE_BYTES;
use windlass_core::{ErrorCode, Retry};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What talking to MCP servers can fail with. Every message but a tool's own names the server it is about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A server's name that cannot be part of a tool's name.
    #[error("mcp server {name:?}: {problem}")]
    InvalidName {
        /// The name as it was given.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The server's program was not started.
    #[error("mcp server {server}: {source}")]
    Start {
        /// The server.
        server: String,
        /// What the sandbox said.
        source: windlass_sandbox::Error,
    },
    /// The server is no longer there.
    #[error("mcp server {server} {how}")]
    ServerExited {
        /// The server.
        server: String,
        /// How it ended, and what it said last.
        how: String,
    },
    /// The server took too long.
    #[error("mcp server {server}: {what} took longer than {} s{said}", after.as_secs_f64())]
    Timeout {
        /// The server.
        server: String,
        /// What was being waited for.
        what: String,
        /// How long it was given.
        after: Duration,
        /// What the server said meanwhile on standard error, as the end of the sentence; empty if nothing.
        said: String,
    },
    /// The server said more at once than a line of the protocol may hold, and was stopped.
    #[error(
        "mcp server {server} sent a line of more than {} MiB and was stopped: ask it for less at once",
        PROTOCOL_LINE_BYTES >> 20
    )]
    LineTooLong {
        /// The server.
        server: String,
    },
    /// The server lists more than we are ready to remember.
    #[error("mcp server {server} lists more than {limit} of {what}")]
    TooMany {
        /// The server.
        server: String,
        /// What it lists.
        what: &'static str,
        /// How much it may list, with its unit.
        limit: String,
    },
    /// No server of the session has this name.
    #[error("no mcp server {server:?}: there is {known}")]
    UnknownServer {
        /// The name that was asked for.
        server: String,
        /// The names there are.
        known: String,
    },
    /// The server has no tool of this name.
    #[error("mcp server {server} has no tool {tool:?}: there is {known}")]
    UnknownTool {
        /// The server.
        server: String,
        /// The name that was asked for.
        tool: String,
        /// The names there are.
        known: String,
    },
    /// The tool ran and failed; the message is for whoever called it.
    #[error("{message}")]
    ToolFailed {
        /// The server.
        server: String,
        /// The tool that failed.
        tool: String,
        /// What the tool said.
        message: String,
    },
    /// The server answered a request with an error.
    #[error("mcp server {server}: {what}: {message} ({code})")]
    ErrorResponse {
        /// The server.
        server: String,
        /// What was asked of it.
        what: String,
        /// The error's number in the protocol.
        code: i32,
        /// What the server said.
        message: String,
    },
    /// The server does not keep to the protocol.
    #[error("mcp server {server}: {what}: {problem}")]
    Protocol {
        /// The server.
        server: String,
        /// What was asked of it.
        what: String,
        /// What is wrong with its answer.
        problem: String,
    },
}

impl Error {
    /// The stable name of this failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Start { source, .. } => source.code(),
            Self::Timeout { .. } => ErrorCode::Timeout,
            Self::LineTooLong { .. } | Self::TooMany { .. } => ErrorCode::OutputLimit,
            Self::ToolFailed { .. } | Self::UnknownTool { .. } => ErrorCode::ToolFailed,
            Self::InvalidName { .. }
            | Self::ServerExited { .. }
            | Self::UnknownServer { .. }
            | Self::ErrorResponse { .. }
            | Self::Protocol { .. } => ErrorCode::BackendError,
        }
    }

    /// Whether doing the same thing again may help. A server that is gone stays gone for its [`Servers`](crate::Servers).
    pub fn retry(&self) -> Retry {
        match self {
            Self::Start { source, .. } => source.retry(),
            Self::Timeout { .. } => Retry::Now,
            _ => Retry::Never,
        }
    }
}

/// Names as a phrase: what there is, or that there is none.
pub(crate) fn join_names(names: &[&str]) -> String {
    // A server may have a thousand tools; a message needs no more than a screen of them.
    const SHOWN: usize = 40;
    match names.split_at_checked(SHOWN) {
        _ if names.is_empty() => "none".to_owned(),
        Some((shown, rest @ [_, ..])) => format!("{} and {} more", shown.join(", "), rest.len()),
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::join_names;

    #[test]
    fn a_list_of_names_fits_a_screen() {
        assert_eq!(join_names(&[]), "none");
        assert_eq!(join_names(&["a", "b"]), "a, b");
        assert!(join_names(&["a"; 40]).ends_with(", a"));
        assert!(join_names(&["a"; 41]).ends_with(", a and 1 more"));
    }
}
