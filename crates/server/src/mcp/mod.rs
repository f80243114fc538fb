//! The MCP server: the operations on tasks as tools, and their proofs, diffs, logs and traces as resources.
//!
//! One handler ([`McpHandler`](handler::McpHandler)) serves both transports: stdin and stdout ([`McpStdioServer`]), and HTTP below `/mcp`
//! ([`router`]). A tool is one implementation of [`McpOperation`](operation::McpOperation) and one entry in
//! [`tools::all`]. What a caller may not call is not listed.

mod handler;
mod http;
mod input_schema;
mod operation;
mod paging;
mod resources;
mod stdio;
mod text_page;
mod tools;

pub(crate) use http::router;
pub use stdio::{McpAccess, McpServerError, McpStdioServer};
