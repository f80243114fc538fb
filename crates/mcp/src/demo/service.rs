//! The tools and resources of the demo server.

use std::time::Duration;

use rmcp::handler::server::tool::{ToolCallContext, ToolRouter};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    Resource, ResourceContents, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler, tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Variant;
use super::process::{exit, write_stderr};

/// The maximum output of `flood`.
const FLOOD_BYTES: usize = 64 << 20;

/// Each resource with its media type and its text. A resource without text cannot be read.
const RESOURCES: &[(&str, &str, &str, Option<&str>)] = &[
    (
        "demo://greeting",
        "greeting",
        "text/plain",
        Some("Hello from the demonstration server."),
    ),
    (
        "demo://numbers",
        "numbers",
        "application/json",
        Some("[1, 2, 3, 5, 8]"),
    ),
    ("demo://broken", "broken", "text/plain", None),
];

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// The text to return.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// The first number.
    a: i64,
    /// The second number.
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Fail {
    /// The error message.
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Slow {
    /// How many milliseconds to wait.
    ms: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Flood {
    /// How many bytes to return.
    bytes: usize,
}

/// The demo server.
pub(super) struct DemoServer {
    variant: Variant,
    tools: ToolRouter<Self>,
}

#[tool_router]
impl DemoServer {
    pub(super) fn new(variant: Variant) -> Self {
        let tools = match variant {
            Variant::Empty => ToolRouter::new(),
            _ => Self::tool_router(),
        };
        Self { variant, tools }
    }

    /// Returns the text.
    #[tool]
    fn echo(&self, Parameters(Echo { text }): Parameters<Echo>) -> String {
        text
    }

    /// Adds two numbers.
    #[tool]
    fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> Result<String, String> {
        let sum = a.checked_add(b).ok_or("the sum is too large")?;
        Ok(sum.to_string())
    }

    /// Fails with the message.
    #[tool]
    fn fail(&self, Parameters(Fail { message }): Parameters<Fail>) -> Result<String, String> {
        Err(message)
    }

    /// Returns after the given time.
    #[tool]
    async fn slow(&self, Parameters(Slow { ms }): Parameters<Slow>) -> String {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        format!("waited {ms} ms")
    }

    /// Lists the names of the server's environment variables, one per line.
    #[tool]
    fn env(&self) -> String {
        let mut names: Vec<String> = std::env::vars_os()
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names.join("\n")
    }

    /// Returns this many bytes.
    #[tool]
    fn flood(&self, Parameters(Flood { bytes }): Parameters<Flood>) -> String {
        "x".repeat(bytes.min(FLOOD_BYTES))
    }
}

impl ServerHandler for DemoServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .build();
        let info = Implementation::new("windlass-mcp-demo", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(info)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.list_all()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.variant == Variant::Dying {
            let _ = write_stderr("this server exits in every call");
            exit(3)
        }
        let call = ToolCallContext::new(self, request, context);
        self.tools.call(call).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = RESOURCES.iter().filter(|_| self.variant != Variant::Empty);
        let resource = |(uri, name, kind, _): &(&str, &str, &str, _)| {
            Resource::new(*uri, *name).with_mime_type(*kind)
        };
        Ok(ListResourcesResult::with_all_items(
            resources.map(resource).collect(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let found = RESOURCES.iter().find(|(known, ..)| *known == uri);
        let Some((_, _, kind, text)) = found else {
            let problem = format!("no resource {uri}");
            return Err(ErrorData::resource_not_found(problem, None));
        };
        let text =
            text.ok_or_else(|| ErrorData::internal_error(format!("{uri} cannot be read"), None))?;
        let contents = ResourceContents::text(text, uri).with_mime_type(*kind);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}
