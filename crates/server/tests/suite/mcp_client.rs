//! MCP clients that send arbitrary messages: over HTTP, and over a pair of pipes.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use super::client::{Request, Response};
use super::harness::Harness;

/// Returns the bytes of a request to `/mcp`.
pub(crate) fn http_request(harness: &Harness, token: &str, message: &Value) -> Vec<u8> {
    Request::new("POST", "/mcp")
        .header("Host", &harness.host())
        .header("Authorization", &format!("Bearer {token}"))
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", "2025-06-18")
        .with(&message.to_string())
}

/// Returns a request message.
pub(crate) fn message(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// Returns the messages in the events of a response.
pub(crate) fn messages(response: &Response) -> Vec<Value> {
    let lines = response.body.lines();
    let events = lines.filter_map(|line| line.strip_prefix("data: "));
    events
        .filter_map(|event| serde_json::from_str(event).ok())
        .collect()
}

/// Sends a request over HTTP and returns the response message.
#[track_caller]
pub(crate) fn only_response(response: &Response) -> Value {
    assert_eq!(response.status, 200, "{response:?}");
    let mut messages = messages(response);
    messages.retain(|message| message.get("id").is_some());
    assert_eq!(messages.len(), 1, "{response:?}");
    messages.remove(0)
}

impl Harness {
    /// Sends an MCP request over HTTP with this token, and returns its result or error.
    pub(crate) async fn mcp(&self, token: &str, method: &str, params: Value) -> Value {
        let request = http_request(self, token, &message(method, params));
        only_response(&self.send(request).await)
    }

    /// Calls a tool over HTTP, and returns its result.
    pub(crate) async fn call(&self, token: &str, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let response = self.mcp(token, "tools/call", params).await;
        assert!(response["error"].is_null(), "{tool}: {response}");
        response["result"].clone()
    }

    /// Returns the names of the tools that a token sees.
    pub(crate) async fn tools(&self, token: &str) -> Vec<String> {
        let response = self.mcp(token, "tools/list", json!({})).await;
        let tools = response["result"]["tools"].as_array().unwrap().clone();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        tools.iter().map(name).collect()
    }
}

/// Returns the text of a tool's error.
#[track_caller]
pub(crate) fn tool_error(result: &Value) -> String {
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// The client's end of a pair of pipes.
pub(crate) struct PipeClient {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl PipeClient {
    pub(crate) fn new(stream: DuplexStream) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self {
            reader: BufReader::new(reader),
            writer,
        }
    }

    pub(crate) async fn send_line(&mut self, line: &str) {
        self.writer.write_all(line.as_bytes()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    /// Returns the next message.
    pub(crate) async fn next(&mut self) -> Value {
        let mut line = String::new();
        self.reader.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Sends a request, and returns its response.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        self.send_line(&message(method, params).to_string()).await;
        self.next().await
    }

    /// Performs the handshake, and returns what the server reports about itself.
    pub(crate) async fn initialize(&mut self) -> Value {
        let client = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        let info = self.request("initialize", params).await;
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.send_line(&initialized.to_string()).await;
        info
    }
}
