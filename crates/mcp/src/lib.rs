//! The MCP servers of a session: starts them in the sandbox, lists their tools and resources, and calls them.
//!
//! [`McpServers`] starts each [`McpServer`](windlass_core::McpServer) in the sandbox and speaks the protocol
//! over its stdin and stdout, within [`McpLimits`]. A server may misbehave: it may never respond, print
//! non-protocol output, flood, or exit during a call. Each case is an [`Error`] that names the server, and no
//! operation waits forever. [`demo`] is a small server that does all of this on request.
//!
//! This crate does not decide which servers a session has or whether a tool may be called, and it does not
//! support servers over HTTP.
//!
//! ```no_run
//! use windlass_core::{DirAccess, McpServer};
//! use windlass_mcp::McpServers;
//! use windlass_sandbox::{Host, Sandbox};
//!
//! # async fn example(configured: Vec<McpServer>) -> Result<(), Box<dyn std::error::Error>> {
//! let sandbox = Sandbox::detect(Host::current()).await?;
//! let servers = McpServers::connect(&sandbox, &configured, "/home/me/project".as_ref(), DirAccess::Files).await?;
//! for tool in servers.tools() {
//!     println!("{}: {}", tool.qualified_name(), tool.description);
//! }
//! let result = servers.call("demo", "echo", serde_json::from_str(r#"{ "text": "hello" }"#)?).await?;
//! assert_eq!(result, "hello");
//! # Ok(())
//! # }
//! ```

pub mod demo;
mod error;
mod error_context;
mod limits;
mod listing;
mod result;
mod server;
mod servers;
mod stdio;

pub use error::{Error, Result};
pub use limits::McpLimits;
pub use listing::{McpResource, McpTool};
pub use result::{ResourceBody, ResourceContent};
pub use server::allow;
pub use servers::McpServers;
