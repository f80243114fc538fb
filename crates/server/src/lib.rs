//! The server: HTTP API, WebSocket, dashboard, and the guard in front of them.
//!
//! [`Server`] serves a task store to clients that have its [`Token`], or a token of the store with the needed
//! scope. Every request passes the guard first, which checks host, origin, token and size. Events go from the store through one pump into a bounded ring,
//! and from there to every WebSocket; a subscriber that is too slow affects only itself.
//!
//! Not part of this crate: git and agents, which are delegated to [`HostOps`], and encryption, which needs a
//! proxy.

mod access;
mod api;
mod assets;
mod connections;
mod diff;
mod error;
mod guard;
mod host_ops;
mod hosts;
mod limits;
mod listen;
mod ring;
mod server;
mod state;
mod token;
mod trace_sink;
mod ws;

pub use host_ops::{AgentCard, AgentHealth, HostOps, HostOpsError};
pub use limits::ServerLimits;
pub use server::{RunningServer, Server, ServerError};
pub use token::Token;
pub use trace_sink::StoreTraceSink;
