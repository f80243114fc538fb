//! What a session's MCP servers offer, as tools like any other.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use windlass_core::{Result, Tool, ToolKind, ToolOutput, ToolSpec};
use windlass_mcp::{McpServers, ResourceBody};

/// The tools of all servers, and two more to list and read what they have to read.
///
/// Nobody can know what a server's tool does, so it counts as one that runs programs.
pub(super) fn tools(servers: &Arc<McpServers>) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    for tool in servers.tools() {
        tools.push(Arc::new(ServerTool {
            spec: ToolSpec {
                name: sanitize_name(&tool.qualified_name()),
                description: tool.description.clone(),
                parameters: tool.input_schema.clone(),
                kind: ToolKind::Execute,
            },
            server: tool.server.clone(),
            name: tool.name.clone(),
            servers: Arc::clone(servers),
        }));
    }
    let has_resources = |name: &str| servers.resources(name).is_ok_and(|found| !found.is_empty());
    if servers.names().any(has_resources) {
        tools.push(Arc::new(ResourceTool::list(servers)));
        tools.push(Arc::new(ResourceTool::read(servers)));
    }
    tools
}

/// The longest name of a tool that every API takes.
const NAME_BYTES: usize = 64;

/// A name that every API takes. Servers give any names, and one bad one would have the whole request refused.
fn sanitize_name(name: &str) -> String {
    let plain = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => letter,
        _ => '_',
    };
    let name: String = name.chars().map(plain).collect();
    if name.len() <= NAME_BYTES {
        return name;
    }
    // Long names differ at their ends.
    let (head, tail) = (NAME_BYTES / 2 - 1, name.len() - NAME_BYTES / 2);
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
            let called = self.servers.call(&self.server, &self.name, arguments).await;
            Ok(match called {
                Ok(value) => success_output(value),
                Err(error) => failed(error.to_string()),
            })
        })
    }
}

/// Lists or reads what servers have to read.
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
            "properties": { "server": { "type": "string", "description": "only this server's" } },
        });
        Self::new(
            servers,
            "list_mcp_resources",
            "Lists what the MCP servers have to read.",
            parameters,
        )
    }

    fn read(servers: &Arc<McpServers>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": { "server": { "type": "string" }, "uri": { "type": "string" } },
            "required": ["server", "uri"],
        });
        let about = "Reads one resource of an MCP server.";
        Self {
            reads: true,
            ..Self::new(servers, "read_mcp_resource", about, parameters)
        }
    }

    fn new(servers: &Arc<McpServers>, name: &str, about: &str, parameters: Value) -> Self {
        Self {
            spec: ToolSpec {
                name: name.to_owned(),
                description: about.to_owned(),
                parameters,
                kind: ToolKind::Read,
            },
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
        let word = |key: &str| input.get(key).and_then(Value::as_str);
        let (Some(server), Some(uri)) = (word("server"), word("uri")) else {
            return failed("server and uri are needed, both as strings".to_owned());
        };
        let parts = match self.servers.read(server, uri).await {
            Ok(parts) => parts,
            Err(error) => return failed(error.to_string()),
        };
        let texts = parts.into_iter().map(|part| match part.body {
            ResourceBody::Text(text) => text,
            ResourceBody::Base64(data) => format!("[{} bytes of base64 left out]", data.len()),
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
            Ok(match self.reads {
                true => self.content(&input).await,
                false => self.resource_list_text(&input),
            })
        })
    }
}

fn success_output(value: Value) -> ToolOutput {
    let text = match &value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    ToolOutput {
        success: true,
        text,
        output: value,
    }
}

fn failed(problem: String) -> ToolOutput {
    ToolOutput {
        success: false,
        output: json!({ "error": problem }),
        text: problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_api_takes_the_name_of_every_tool() {
        assert_eq!(sanitize_name("mcp__demo__add-2"), "mcp__demo__add-2");
        assert_eq!(
            sanitize_name("mcp__s__get.weather now"),
            "mcp__s__get_weather_now"
        );
        assert_eq!(sanitize_name("mcp__s__é\u{1b}[2J"), "mcp__s_____2J");
        let long = |end: &str| sanitize_name(&format!("mcp__s__{}{end}", "x".repeat(200)));
        assert_eq!(long("one").len(), NAME_BYTES);
        assert_ne!(long("one"), long("two"));
    }
}
