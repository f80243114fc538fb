//! The server: HTTP API, WebSocket, MCP server, dashboard, and the guard in front of them.
//!
//! [`Server`] serves a task store to clients that have its [`Token`], or a token of the store with the needed
//! scope. Every request passes the guard first, which checks host, origin, token and size. Events go from the store through one pump into a bounded ring,
//! and from there to every WebSocket; a subscriber that is too slow affects only itself.
//!
//! [`McpStdioServer`] serves the same operations to an MCP client on a pair of pipes.
//!
//! Not part of this crate: git and agents, which are delegated to [`HostOps`].

mod access;
mod api;
mod assets;
mod audit;
mod board;
mod call_slots;
mod candidates;
mod connections;
mod diff;
mod error;
mod event_text;
mod git;
mod guard;
mod host_ops;
mod hosts;
mod limits;
mod listen;
mod mcp;
mod metrics;
mod monitor;
mod ring;
mod server;
mod state;
mod tls;
mod token;
mod trace_sink;
mod trace_summary;
mod ws;

pub use access::task_of_trace;
pub use candidates::{CandidateRow, candidate_rows};
pub use event_text::{brief, event_line};
pub use git::{GitHost, GitRequest, GitRequestBody, GitResponseBody, GitService, GitStep};
pub use host_ops::{
    AgentCard, AgentHealth, AskAnswer, AskRequest, Evaluation, HostOps, HostOpsError,
};
pub use limits::ServerLimits;
pub use mcp::{McpAccess, McpServerError, McpStdioServer};
pub use server::{RunningServer, Server, ServerError};
pub use tls::{TlsError, TlsFiles};
pub use token::Token;
pub use trace_sink::StoreTraceSink;
pub use trace_summary::TraceSummary;
