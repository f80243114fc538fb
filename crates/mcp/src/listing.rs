//! Lists the tools and resources of a server, over all pages and within limits.

use futures::future::{BoxFuture, FutureExt};
use rmcp::model::PaginatedRequestParams;
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde::Serialize;
use serde_json::Value;

use crate::limits::{LIST_BYTES, MAX_ITEMS};

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct McpTool {
    /// The name of the server.
    pub server: String,
    /// The name of the tool on its server.
    pub name: String,
    /// The server's description of the tool; may be empty.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input_schema: Value,
}

impl McpTool {
    /// Returns the name that agents use: `mcp__<server>__<tool>`.
    pub fn qualified_name(&self) -> String {
        format!("mcp__{}__{}", self.server, self.name)
    }
}

/// A resource of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct McpResource {
    /// The URI, in the server's own scheme.
    pub uri: String,
    /// The name.
    pub name: String,
    /// The server's description of the resource; may be empty.
    pub description: String,
    /// The media type, if the server reports it.
    pub mime_type: Option<String>,
}

/// The error of a list request.
pub(crate) enum ListError {
    /// The list exceeds the limits.
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
    if !offers(peer, |capabilities| capabilities.tools.is_some()) {
        return Ok(Vec::new());
    }
    let page = |cursor| {
        let request = peer.list_tools(cursor);
        async { request.await.map(|page| (page.tools, page.next_cursor)) }.boxed()
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
    if !offers(peer, |capabilities| capabilities.resources.is_some()) {
        return Ok(Vec::new());
    }
    let page = |cursor| {
        let request = peer.list_resources(cursor);
        async { request.await.map(|page| (page.resources, page.next_cursor)) }.boxed()
    };
    let resource = |resource: rmcp::model::Resource| McpResource {
        uri: resource.uri,
        name: resource.name,
        description: resource.description.unwrap_or_default(),
        mime_type: resource.mime_type,
    };
    pages("resources", page, resource).await
}

/// Returns `true` if the server announced the capability in its handshake. Many servers return an error to a
/// list request for something they do not offer.
fn offers(peer: &Peer<RoleClient>, has: impl Fn(&rmcp::model::ServerCapabilities) -> bool) -> bool {
    peer.peer_info().is_some_and(|info| has(&info.capabilities))
}

type Page<T> = Result<(Vec<T>, Option<String>), ServiceError>;

/// Reads pages until the last one. Endless empty pages are stopped by the caller's time limit.
async fn pages<'a, T, U: Serialize>(
    what: &'static str,
    // Not an async closure: the compiler cannot prove that its future is `Send`.
    page: impl Fn(Option<PaginatedRequestParams>) -> BoxFuture<'a, Page<T>>,
    convert: impl Fn(T) -> U,
) -> Result<Vec<U>, ListError> {
    let mut all = Vec::new();
    let mut bytes = 0;
    let mut cursor = None;
    loop {
        let (items, next) = page(cursor)
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
            Some(next) => cursor = Some(PaginatedRequestParams::default().with_cursor(Some(next))),
            None => return Ok(all),
        }
    }
}
