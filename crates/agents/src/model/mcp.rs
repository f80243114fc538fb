//! The tools and resources of a session's MCP servers, as tools.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use windlass_core::{Result, Tool, ToolKind, ToolOutput, ToolSpec};
use windlass_mcp::{McpServers, ResourceBody};

/// Returns the tools of all servers, and two more that list and read the servers' resources.
///
/// The effect of a server's tool is unknown, so it counts as a tool that runs programs.
pub(super) fn tools(servers: &Arc<McpServers>) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    for tool in servers.tools() {
        tools.push(Arc::new(ServerTool {
            spec: ToolSpec::new(
                sanitize_name(&tool.qualified_name()),
                ToolKind::Execute,
                tool.description.clone(),
                tool.input_schema.clone(),
            ),
            server: tool.server.clone(),
            name: tool.name.clone(),
            servers: Arc::clone(servers),
        }));
    }
    let has_resources = |name: &str| servers.resources(name).is_ok_and(|list| !list.is_empty());
    if servers.names().any(has_resources) {
        tools.push(Arc::new(ResourceTool::list(servers)));
        tools.push(Arc::new(ResourceTool::read(servers)));
    }
    tools
}

/// The longest tool name that every API accepts.
const MAX_NAME_BYTES: usize = 64;

/// Converts a name into one that every API accepts. Servers may use any name, and one invalid name would make the API
/// reject the whole request.
fn sanitize_name(name: &str) -> String {
    let replace = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => letter,
        _ => '_',
    };
    let name: String = name.chars().map(replace).collect();
    if name.len() <= MAX_NAME_BYTES {
        return name;
    }
    // Long names usually differ at their ends, so only the middle is removed.
    let (head, tail) = (MAX_NAME_BYTES / 2 - 1, name.len() - MAX_NAME_BYTES / 2);
    format!("{}_{}", &name[..head], &name[tail..])
}

#[derive(Debug)]
struct ServerTool {
    spec: ToolSpec,
    server: String,
    name: String,
    servers: Arc<McpServers>,
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, input: Value) -> BoxFuture<'_, Result<ToolOutput>> {
        Box::pin(async move {
            let arguments = input.as_object().cloned().unwrap_or_default();
            let result = self.servers.call(&self.server, &self.name, arguments).await;
            Ok(match result {
                Ok(value) => success_output(value),
                Err(error) => error_output(error.to_string()),
            })
        })
    }
}

/// Lists or reads the resources of the servers.
#[derive(Debug)]
struct ResourceTool {
    spec: ToolSpec,
    servers: Arc<McpServers>,
    reads: bool,
}

impl ResourceTool {
    fn list(servers: &Arc<McpServers>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": { "server": { "type": "string", "description": "list only the resources of this server" } },
        });
        Self::new(
            servers,
            "list_mcp_resources",
            "Lists the resources of the MCP servers.",
            parameters,
        )
    }

    fn read(servers: &Arc<McpServers>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": { "server": { "type": "string" }, "uri": { "type": "string" } },
            "required": ["server", "uri"],
        });
        let description = "Reads one resource of an MCP server.";
        Self {
            reads: true,
            ..Self::new(servers, "read_mcp_resource", description, parameters)
        }
    }

    fn new(servers: &Arc<McpServers>, name: &str, description: &str, parameters: Value) -> Self {
        Self {
            spec: ToolSpec::new(name, ToolKind::Read, description, parameters),
            servers: Arc::clone(servers),
            reads: false,
        }
    }

    fn resource_list_text(&self, input: &Map<String, Value>) -> ToolOutput {
        let only = input.get("server").and_then(Value::as_str);
        let names = self
            .servers
            .names()
            .filter(|name| only.is_none_or(|only| only == *name));
        let mut all = Vec::new();
        for name in names {
            for resource in self.servers.resources(name).unwrap_or_default() {
                all.push(json!({
                    "server": name,
                    "uri": resource.uri,
                    "name": resource.name,
                    "description": resource.description,
                    "mime_type": resource.mime_type,
                }));
            }
        }
        success_output(Value::Array(all))
    }

    async fn content(&self, input: &Map<String, Value>) -> ToolOutput {
        let string = |key: &str| input.get(key).and_then(Value::as_str);
        let (Some(server), Some(uri)) = (string("server"), string("uri")) else {
            return error_output("server and uri are required, both as strings".to_owned());
        };
        let parts = match self.servers.read(server, uri).await {
            Ok(parts) => parts,
            Err(error) => return error_output(error.to_string()),
        };
        let texts = parts.into_iter().map(|part| match part.body {
            ResourceBody::Text(text) => text,
            ResourceBody::Base64(data) => format!("[{} bytes of base64 omitted]", data.len()),
        });
        success_output(Value::String(texts.collect::<Vec<_>>().join("\n")))
    }
}

impl Tool for ResourceTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, input: Value) -> BoxFuture<'_, Result<ToolOutput>> {
        Box::pin(async move {
            let input = input.as_object().cloned().unwrap_or_default();
            Ok(if self.reads {
                self.content(&input).await
            } else {
                self.resource_list_text(&input)
            })
        })
    }
}

fn success_output(value: Value) -> ToolOutput {
    let text = match &value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    ToolOutput::success(text, value)
}

fn error_output(problem: String) -> ToolOutput {
    let output = json!({ "error": problem });
    ToolOutput::failure(problem, output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_name_is_sanitized_for_every_api() {
        assert_eq!(sanitize_name("mcp__demo__add-2"), "mcp__demo__add-2");
        assert_eq!(
            sanitize_name("mcp__s__get.weather now"),
            "mcp__s__get_weather_now"
        );
        assert_eq!(sanitize_name("mcp__s__é\u{1b}[2J"), "mcp__s_____2J");
        let long = |end: &str| sanitize_name(&format!("mcp__s__{}{end}", "x".repeat(200)));
        assert_eq!(long("one").len(), MAX_NAME_BYTES);
        assert_ne!(long("one"), long("two"));
    }
}
