//! What a server offers: its tools and resources, all pages of them, within limits.

use futures::future::{BoxFuture, FutureExt};
use rmcp::model::PaginatedRequestParams;
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde::Serialize;
use serde_json::Value;

use crate::limits::{LIST_BYTES, MAX_ITEMS};

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct McpTool {
    /// The server's name.
    pub server: String,
    /// The tool's name, as its server knows it.
    pub name: String,
    /// What it does, in its server's words; empty if it has none.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input_schema: Value,
}

impl McpTool {
    /// The name under which agents know it: `mcp__<server>__<tool>`.
    pub fn qualified_name(&self) -> String {
        format!("mcp__{}__{}", self.server, self.name)
    }
}

/// Something a server lets us read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct McpResource {
    /// Where it is, in its server's own scheme.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// What it is, in its server's words; empty if it has none.
    pub description: String,
    /// Its media type, if the server knows it.
    pub mime_type: Option<String>,
}

/// Why there is no list.
pub(crate) enum ListError {
    /// It is longer than we are ready to remember.
    TooMany { what: &'static str, limit: String },
    Service {
        what: &'static str,
        error: ServiceError,
    },
}

pub(crate) async fn tools(
    peer: &Peer<RoleClient>,
    server: &str,
) -> Result<Vec<McpTool>, ListError> {
    if !offers(peer, |can| can.tools.is_some()) {
        return Ok(Vec::new());
    }
    let page = |at| {
        let turned = peer.list_tools(at);
        async { turned.await.map(|page| (page.tools, page.next_cursor)) }.boxed()
    };
    let tool = |tool: rmcp::model::Tool| McpTool {
        server: server.to_owned(),
        name: tool.name.into_owned(),
        description: tool.description.unwrap_or_default().into_owned(),
        input_schema: Value::Object(tool.input_schema.as_ref().clone()),
    };
    pages("tools", page, tool).await
}

pub(crate) async fn resources(peer: &Peer<RoleClient>) -> Result<Vec<McpResource>, ListError> {
    if !offers(peer, |can| can.resources.is_some()) {
        return Ok(Vec::new());
    }
    let page = |at| {
        let turned = peer.list_resources(at);
        async { turned.await.map(|page| (page.resources, page.next_cursor)) }.boxed()
    };
    let resource = |resource: rmcp::model::Resource| McpResource {
        uri: resource.uri,
        name: resource.name,
        description: resource.description.unwrap_or_default(),
        mime_type: resource.mime_type,
    };
    pages("resources", page, resource).await
}

/// Whether the server said so when it was greeted; asking for what it does not offer is an error to many.
fn offers(
    peer: &Peer<RoleClient>,
    what: impl Fn(&rmcp::model::ServerCapabilities) -> bool,
) -> bool {
    peer.peer_info()
        .is_some_and(|info| what(&info.capabilities))
}

type Page<T> = Result<(Vec<T>, Option<String>), ServiceError>;

/// Turns pages until there is no next one. Pages without end and without items are left to the caller's clock.
async fn pages<'a, T, U: Serialize>(
    what: &'static str,
    // Not an async closure: of that, the compiler does not see that its future can move between threads.
    page: impl Fn(Option<PaginatedRequestParams>) -> BoxFuture<'a, Page<T>>,
    convert: impl Fn(T) -> U,
) -> Result<Vec<U>, ListError> {
    let mut all = Vec::new();
    let mut bytes = 0;
    let mut at = None;
    loop {
        let (items, next) = page(at)
            .await
            .map_err(|error| ListError::Service { what, error })?;
        for item in items.into_iter().map(&convert) {
            bytes += serde_json::to_string(&item).map_or(0, |text| text.len());
            all.push(item);
            if all.len() > MAX_ITEMS || bytes > LIST_BYTES {
                let limit = format!("{MAX_ITEMS} or {} MiB", LIST_BYTES >> 20);
                return Err(ListError::TooMany { what, limit });
            }
        }
        match next {
            Some(cursor) => at = Some(PaginatedRequestParams::default().with_cursor(Some(cursor))),
            None => return Ok(all),
        }
    }
}
