//! Agents, composites and tasks served to editors over the Agent Client Protocol (ACP).
//!
//! ```text
//! client ─► stdio ─► requests ─► sessions ─► turn ─► AgentHandle
//!   ▲                                │         └───► task_turn ─► HostDir (plan, work, proof)
//!   └──────── link ◄── journal ◄── updates (pure) ◄── events
//! ```
//!
//! The protocol's own crate pairs requests with responses. A session has a directory, an agent and a [`Mode`]:
//! `ask` and `edit` are a conversation with the agent, `task` makes a task of each prompt. What needs the
//! configuration, the store or git is behind [`AcpHost`].
//!
//! The client's files and terminals are not used: agents run in their own sandbox and access files directly.

mod connection;
mod content;
mod error;
mod host;
mod journal;
mod link;
mod mode;
mod options;
mod paths;
mod permission;
mod prompt;
mod requests;
mod session;
mod sessions;
mod stdio;
mod task_turn;
mod task_updates;
mod text_diff;
mod tool_summary;
mod tool_view;
mod turn;
mod updates;

pub use connection::serve;
pub use host::{AcpHost, HostDir, OpenAgent, TaskEvent, TaskReport, TaskRequest};
pub use mode::Mode;
pub use sessions::ServerSettings;
pub use tool_summary::{FileEdit, ToolSummary, summarize_tool};
