//! One server: started, greeted, asked.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion,
    ReadResourceRequestParams,
};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use serde_json::{Map, Value};
use tokio::time::timeout;
use windlass_core::McpServer;
use windlass_core::limits::PROTOCOL_LINE_BYTES;
use windlass_sandbox::{CommandSpec, Profile, Sandbox, Stdin};

use crate::error::{Error, Result};
use crate::error_context::ErrorContext;
use crate::limits::{MAX_LIFETIME, McpLimits, STDERR_BYTES};
use crate::listing::{self, McpResource, McpTool};
use crate::result::{self, ResourceContent};
use crate::stdio::StdioTransport;

/// A server that runs until this value is dropped.
#[derive(Debug)]
pub(crate) struct McpConnection {
    pub(crate) resources: Vec<McpResource>,
    client: RmcpClient,
    witness: ErrorContext,
    limits: McpLimits,
}

type RmcpClient = RunningService<RoleClient, ClientConfig>;

impl McpConnection {
    /// Starts a server, greets it and asks what it offers.
    pub(crate) async fn start(
        sandbox: &Sandbox,
        server: &McpServer,
        cwd: &Path,
        limits: McpLimits,
    ) -> Result<(Self, Vec<McpTool>)> {
        let witness = ErrorContext::new(&server.name);
        let child = sandbox.spawn(spec(server, cwd));
        let child = child.map_err(|error| witness.start_error(error))?;
        let pipes = StdioTransport::new(child, Arc::clone(&witness.record), limits.call);
        let Ok(greeted) = timeout(limits.start, handshake(pipes, &witness)).await else {
            return Err(witness.timeout_error("starting", limits.start).await);
        };
        let (client, tools, resources) = greeted?;
        tracing::debug!(server = server.name, tools = tools.len(), "connected");
        let server = Self {
            resources,
            client,
            witness,
            limits,
        };
        Ok((server, tools))
    }

    pub(crate) fn name(&self) -> &str {
        &self.witness.name
    }

    /// Lines on its standard output that were no messages.
    pub(crate) fn stray_line_count(&self) -> u64 {
        self.witness.record.noise.load(Ordering::Relaxed)
    }

    /// Calls a tool. Dropping the future tells the server that nobody waits any more.
    pub(crate) async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<Value> {
        let call = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let result = self.request(tool, self.client.call_tool(call)).await?;
        result::tool_result(result).map_err(|message| Error::ToolFailed {
            server: self.name().to_owned(),
            tool: tool.to_owned(),
            message,
        })
    }

    pub(crate) async fn read(&self, uri: &str) -> Result<Vec<ResourceContent>> {
        let read = ReadResourceRequestParams::new(uri);
        let result = self.request(uri, self.client.read_resource(read)).await?;
        Ok(result
            .contents
            .into_iter()
            .filter_map(ResourceContent::new)
            .collect())
    }

    async fn request<T>(
        &self,
        what: &str,
        request: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T> {
        match timeout(self.limits.call, request).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.witness.request_error(what, error).await),
            Err(_) => Err(Error::Timeout {
                server: self.name().to_owned(),
                what: what.to_owned(),
                after: self.limits.call,
                said: String::new(),
            }),
        }
    }
}

async fn handshake(
    pipes: StdioTransport,
    witness: &ErrorContext,
) -> Result<(RmcpClient, Vec<McpTool>, Vec<McpResource>)> {
    let client = match rmcp::serve_client(client_config(), pipes).await {
        Ok(client) => client,
        Err(error) => return Err(witness.handshake_error(error).await),
    };
    let lists = async {
        let tools = listing::tools(&client, &witness.name).await?;
        Ok((tools, listing::resources(&client).await?))
    };
    match lists.await {
        Ok((tools, resources)) => Ok((client, tools, resources)),
        Err(problem) => Err(witness.list_error(problem).await),
    }
}

/// A server is chosen by the user's trusted configuration and not by a model. Like an agent it needs the way to its own
/// provider and the home folder to read its program from, and like an agent it may write nowhere but here. What a tool
/// is given would keep most servers from starting.
fn spec(server: &McpServer, cwd: &Path) -> CommandSpec {
    let mut spec = CommandSpec::new(&server.command, cwd, Profile::agent()).args(&server.args);
    for (name, value) in &server.env {
        spec = spec.env(name, value);
    }
    let limits = windlass_sandbox::ProcessLimits {
        deadline: MAX_LIFETIME,
        line_bytes: PROTOCOL_LINE_BYTES,
        output_bytes: STDERR_BYTES,
        ..windlass_sandbox::ProcessLimits::default()
    };
    spec.stdin(Stdin::Pipe).limits(limits)
}

/// The newest protocol has no greeting, and today's servers wait for one.
fn client_config() -> ClientConfig {
    let us = Implementation::new("windlass", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), us)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}
