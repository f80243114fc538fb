//! All servers of one session.

use std::collections::BTreeSet;
use std::path::Path;

use futures::future::try_join_all;
use serde_json::{Map, Value};
use windlass_core::McpServer;
use windlass_sandbox::Sandbox;

use crate::error::{self, Error, Result};
use crate::limits::McpLimits;
use crate::listing::{McpResource, McpTool};
use crate::result::ResourceContent;
use crate::server::McpConnection;

/// The longest name of a server.
const NAME_BYTES: usize = 64;

/// The running servers of one session. Dropping it ends them all.
#[derive(Debug)]
pub struct McpServers {
    running: Vec<McpConnection>,
    tools: Vec<McpTool>,
}

impl McpServers {
    /// Starts all servers at once, in `cwd`, and learns what they offer. If one fails, none is left running.
    pub async fn connect(sandbox: &Sandbox, servers: &[McpServer], cwd: &Path) -> Result<Self> {
        Self::connect_with_limits(sandbox, servers, cwd, McpLimits::default()).await
    }

    /// The same, within limits of the caller's own.
    pub async fn connect_with_limits(
        sandbox: &Sandbox,
        servers: &[McpServer],
        cwd: &Path,
        limits: McpLimits,
    ) -> Result<Self> {
        check_names(servers)?;
        // A loop, not a closure: with one, the compiler does not see that the future can move between threads.
        let mut starts = Vec::new();
        for server in servers {
            starts.push(McpConnection::start(sandbox, server, cwd, limits));
        }
        let started = try_join_all(starts).await?;
        let (running, tools): (_, Vec<Vec<McpTool>>) = started.into_iter().unzip();
        let tools = tools.concat();
        Ok(Self { running, tools })
    }

    /// The names of the servers, in the order they were given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.running.iter().map(McpConnection::name)
    }

    /// The tools of all servers.
    pub fn tools(&self) -> &[McpTool] {
        &self.tools
    }

    /// The tool that agents know under this name: `mcp__<server>__<tool>`.
    pub fn find_tool(&self, joined: &str) -> Option<&McpTool> {
        self.tools
            .iter()
            .find(|tool| tool.qualified_name() == joined)
    }

    /// Calls a tool and waits for its answer.
    ///
    /// The answer is the tool's structured content if it has any, a string if all of it is text, else its blocks as they
    /// came; of a long one, head and tail are kept. A tool that says it failed is [`Error::Failed`]. Dropping the future
    /// tells the server that nobody waits any more.
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

    /// What a server listed for reading.
    pub fn resources(&self, server: &str) -> Result<&[McpResource]> {
        Ok(&self.server(server)?.resources)
    }

    /// Reads a resource. It need not be listed: many servers know more than they list.
    pub async fn read(&self, server: &str, uri: &str) -> Result<Vec<ResourceContent>> {
        self.server(server)?.read(uri).await
    }

    /// How many lines a server printed that were no messages. Some print banners; they do no harm.
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

/// A name is part of its tools' names, and those must be names to every model API.
fn check_names(servers: &[McpServer]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for McpServer { name, .. } in servers {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let problem = if name.is_empty() || name.len() > NAME_BYTES || !name.bytes().all(plain) {
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
