//! The connection to one server.

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
use windlass_core::limits::PROTOCOL_LINE_BYTES;
use windlass_core::{DirAccess, McpServer};
use windlass_sandbox::{CommandSpec, HostRule, InvalidHost, Profile, Sandbox, Stdin};

use crate::error::{Error, Result};
use crate::error_context::ErrorContext;
use crate::limits::{MAX_LIFETIME, McpLimits, STDERR_BYTES};
use crate::listing::{self, McpResource, McpTool};
use crate::result::{self, ResourceContent};
use crate::stdio::StdioTransport;

/// A running server. Dropping it stops the server.
#[derive(Debug)]
pub(crate) struct McpConnection {
    pub(crate) resources: Vec<McpResource>,
    client: RmcpClient,
    context: ErrorContext,
    limits: McpLimits,
}

type RmcpClient = RunningService<RoleClient, ClientConfig>;

impl McpConnection {
    /// Starts a server, performs the handshake and lists its tools and resources.
    pub(crate) async fn start(
        sandbox: &Sandbox,
        server: &McpServer,
        cwd: &Path,
        access: DirAccess,
        limits: McpLimits,
    ) -> Result<(Self, Vec<McpTool>)> {
        let context = ErrorContext::new(&server.name);
        let spec = spec(server, cwd, access).map_err(|source| Error::InvalidNetwork {
            server: server.name.clone(),
            source,
        })?;
        let child = sandbox.spawn(spec);
        let child = child.map_err(|error| context.start_error(error))?;
        let transport = StdioTransport::new(child, Arc::clone(&context.transport), limits.call);
        let Ok(connected) = timeout(limits.start, handshake(transport, &context)).await else {
            return Err(context.timeout_error("starting", limits.start).await);
        };
        let (client, tools, resources) = connected?;
        tracing::debug!(server = server.name, tools = tools.len(), "connected");
        let server = Self {
            resources,
            client,
            context,
            limits,
        };
        Ok((server, tools))
    }

    pub(crate) fn name(&self) -> &str {
        &self.context.name
    }

    /// Returns the number of lines on stdout that were not protocol messages.
    pub(crate) fn stray_line_count(&self) -> u64 {
        self.context.transport.stray_lines.load(Ordering::Relaxed)
    }

    /// Calls a tool. Dropping the future cancels the request on the server.
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
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => Err(self.context.request_error(what, error).await),
            Err(_) => Err(Error::Timeout {
                server: self.name().to_owned(),
                what: what.to_owned(),
                after: self.limits.call,
                stderr: String::new(),
            }),
        }
    }
}

async fn handshake(
    transport: StdioTransport,
    context: &ErrorContext,
) -> Result<(RmcpClient, Vec<McpTool>, Vec<McpResource>)> {
    let client = match rmcp::serve_client(client_config(), transport).await {
        Ok(client) => client,
        Err(error) => return Err(context.handshake_error(error).await),
    };
    let lists = async {
        let tools = listing::tools(&client, &context.name).await?;
        Ok((tools, listing::resources(&client).await?))
    };
    match lists.await {
        Ok((tools, resources)) => Ok((client, tools, resources)),
        Err(error) => Err(context.list_error(error).await),
    }
}

/// Returns the command to run in the sandbox.
///
/// A person chooses a server, not a model. The profile of a tool is too strict: most servers would not start.
fn spec(server: &McpServer, cwd: &Path, access: DirAccess) -> Result<CommandSpec, InvalidHost> {
    let profile = allow(Profile::agent(), std::slice::from_ref(server)).access(access);
    let profile = restrict(profile, server)?;
    let mut spec = CommandSpec::new(&server.command, cwd, profile).args(&server.args);
    for (name, value) in &server.env {
        spec = spec.env(name, value);
    }
    let limits = windlass_sandbox::ProcessLimits {
        deadline: MAX_LIFETIME,
        line_bytes: PROTOCOL_LINE_BYTES,
        output_bytes: STDERR_BYTES,
        ..windlass_sandbox::ProcessLimits::default()
    };
    Ok(spec.stdin(Stdin::Pipe).limits(limits))
}

/// Lets a server reach the hosts in its settings only. Most servers have none and need no network.
fn restrict(profile: Profile, server: &McpServer) -> Result<Profile, InvalidHost> {
    let own = HostRule::in_values(server.env.values());
    if own.is_empty() && server.network.is_none() {
        // Stricter than an empty list where only ports can be limited.
        return Ok(profile.network(false));
    }
    profile.network_setting(server.network.as_ref(), own)
}

/// Makes the programs of these servers readable, and the paths in their arguments, such as a script or a
/// directory to serve.
pub fn allow(profile: Profile, servers: &[McpServer]) -> Profile {
    servers.iter().fold(profile, |profile, server| {
        let profile = profile.program(&server.command);
        server.args.iter().fold(profile, Profile::argument)
    })
}

/// Returns the client configuration. The newest protocol version has no initialize request, but current
/// servers wait for one.
fn client_config() -> ClientConfig {
    let info = Implementation::new("windlass", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), info)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}
