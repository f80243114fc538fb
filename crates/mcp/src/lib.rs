//! A session's MCP servers: started behind walls, their tools and resources listed, called and read.
//!
//! [`Servers`] starts each [`McpServer`](windlass_core::McpServer) through the sandbox and speaks the protocol with it
//! over its standard input and output, within [`Limits`]. A server may be careless or worse: it may never answer, print
//! noise, flood, or die in the middle of a call; each is an [`Error`] that names the server, and nothing waits for ever.
//! [`demo`] is a small server that does all of this on request.
//!
//! What it does not do: it decides neither which servers a session has nor whether a tool may be called, and it speaks
//! to no server over HTTP.
//!
//! ```no_run
//! use windlass_core::McpServer;
//! use windlass_mcp::Servers;
//! use windlass_sandbox::{Host, Sandbox};
//!
//! # async fn example(wanted: Vec<McpServer>) -> Result<(), Box<dyn std::error::Error>> {
//! let sandbox = Sandbox::detect(Host::current()).await?;
//! let servers = Servers::connect(&sandbox, &wanted, "/home/me/project".as_ref()).await?;
//! for tool in servers.tools() {
//!     println!("{}: {}", tool.joined(), tool.description);
//! }
//! let answer = servers.call("demo", "echo", serde_json::from_str(r#"{ "text": "hello" }"#)?).await?;
//! assert_eq!(answer, "hello");
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
pub use servers::McpServers;
