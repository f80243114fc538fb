//! The servers of one session.

use std::collections::BTreeSet;
use std::path::Path;

use futures::future::try_join_all;
use serde_json::{Map, Value};
use windlass_core::{DirAccess, McpServer};
use windlass_sandbox::Sandbox;

use crate::error::{self, Error, Result};
use crate::limits::McpLimits;
use crate::listing::{McpResource, McpTool};
use crate::result::ResourceContent;
use crate::server::McpConnection;

/// The maximum length of a server's name.
const NAME_BYTES: usize = 64;

/// The running servers of one session. Dropping it stops all of them.
#[derive(Debug)]
pub struct McpServers {
    running: Vec<McpConnection>,
    tools: Vec<McpTool>,
}

impl McpServers {
    /// Starts all servers concurrently in `cwd`, with `access` to it, and lists what
    /// they offer. If one fails, all are stopped.
    pub async fn connect(
        sandbox: &Sandbox,
        servers: &[McpServer],
        cwd: &Path,
        access: DirAccess,
    ) -> Result<Self> {
        Self::connect_with_limits(sandbox, servers, cwd, access, McpLimits::default()).await
    }

    /// Like [`connect`](Self::connect), with the given limits.
    pub async fn connect_with_limits(
        sandbox: &Sandbox,
        servers: &[McpServer],
        cwd: &Path,
        access: DirAccess,
        limits: McpLimits,
    ) -> Result<Self> {
        check_names(servers)?;
        // A loop instead of a closure: with one, the compiler cannot prove that the future is `Send`.
        let mut starts = Vec::new();
        for server in servers {
            starts.push(McpConnection::start(sandbox, server, cwd, access, limits));
        }
        let started = try_join_all(starts).await?;
        let (running, tools): (_, Vec<Vec<McpTool>>) = started.into_iter().unzip();
        let tools = tools.concat();
        Ok(Self { running, tools })
    }

    /// Returns the names of the servers, in the given order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.running.iter().map(McpConnection::name)
    }

    /// Returns the tools of all servers.
    pub fn tools(&self) -> &[McpTool] {
        &self.tools
    }

    /// Returns the tool with the name that agents use: `mcp__<server>__<tool>`.
    pub fn find_tool(&self, qualified_name: &str) -> Option<&McpTool> {
        self.tools
            .iter()
            .find(|tool| tool.qualified_name() == qualified_name)
    }

    /// Calls a tool and waits for its result.
    ///
    /// The result is the tool's structured content if there is any, a string if all of it is text, otherwise
    /// its content blocks. A long result is truncated to its head and tail. A failure of the tool is
    /// [`Error::ToolFailed`]. Dropping the future cancels the request on the server.
    pub async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Value> {
        let running = self.server(server)?;
        let own = self.tools.iter().filter(|tool| tool.server == server);
        let names: Vec<&str> = own.map(|tool| tool.name.as_str()).collect();
        if !names.contains(&tool) {
            return Err(Error::UnknownTool {
                server: server.to_owned(),
                tool: tool.to_owned(),
                known: error::join_names(&names),
            });
        }
        running.call(tool, arguments).await
    }

    /// Returns the resources that a server lists.
    pub fn resources(&self, server: &str) -> Result<&[McpResource]> {
        Ok(&self.server(server)?.resources)
    }

    /// Reads a resource. It need not be listed: many servers have more resources than they list.
    pub async fn read(&self, server: &str, uri: &str) -> Result<Vec<ResourceContent>> {
        self.server(server)?.read(uri).await
    }

    /// Returns how many lines a server printed that were not protocol messages, such as banners. They are
    /// ignored.
    pub fn stray_line_count(&self, server: &str) -> Result<u64> {
        Ok(self.server(server)?.stray_line_count())
    }

    fn server(&self, name: &str) -> Result<&McpConnection> {
        let found = self.running.iter().find(|server| server.name() == name);
        found.ok_or_else(|| Error::UnknownServer {
            server: name.to_owned(),
            known: error::join_names(&self.names().collect::<Vec<_>>()),
        })
    }
}

/// Checks the names of the servers. A name is part of the names of its tools, which every model API must
/// accept.
fn check_names(servers: &[McpServer]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for McpServer { name, .. } in servers {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let problem = if name.is_empty() || name.len() > NAME_BYTES || !name.bytes().all(is_allowed)
        {
            "use 1 to 64 letters, digits, '-' and '_'"
        } else if !seen.insert(name) {
            "two servers have this name: rename one"
        } else {
            continue;
        };
        return Err(Error::InvalidName {
            name: name.clone(),
            problem,
        });
    }
    Ok(())
}
