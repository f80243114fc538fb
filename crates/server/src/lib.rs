//! The server: HTTP API, WebSocket, dashboard, and the guard before them.
//!
//! [`Server`] serves a store of tasks to people and programs who know its [`Token`]. Every request passes the guard first:
//! the name by which the server is called, the page that calls, the token, the size. Messages go from the store through one
//! pump into a bounded ring, and from there to every WebSocket; a reader that is too slow harms itself only.
//!
//! What is not here: git and agents, for which it asks its [`Desk`], and encryption, for which it needs a proxy in front.

mod api;
mod assets;
mod diff;
mod error;
mod guard;
mod host_ops;
mod limits;
mod listen;
mod server;
mod state;
mod ws;

pub use guard::Token;
pub use host_ops::{AgentCard, HostOps, HostOpsError};
pub use limits::ServerLimits;
pub use server::{RunningServer, Server, ServerError};
