//! Requests sent with curl.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;
use windlass_gateway::RunningModel;
use windlass_wire::Dialect;

/// A response as received by curl.
#[derive(Debug)]
pub(crate) struct CurlResponse {
    /// Curl's exit code: 0, or 18 for an incomplete transfer, 28 for a timeout.
    pub(crate) exit: i32,
    /// The status, 0 if there is none.
    pub(crate) status: u16,
    /// The headers in lower case, one per line.
    pub(crate) headers: String,
    /// The body, as far as it was received.
    pub(crate) body: String,
}

impl CurlResponse {
    /// Parses the body as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Sends a request. With a `body` it is a POST.
pub(crate) async fn curl(url: &str, body: Option<&Value>, extra: &[&str]) -> CurlResponse {
    let mut command = Command::new("curl");
    command.args(["-sS", "-i", "--no-buffer", "--max-time", "2", url]);
    command.args(extra);
    if let Some(body) = body {
        command.args([
            "-H",
            "content-type: application/json",
            "-d",
            &body.to_string(),
        ]);
    }
    let limit = Duration::from_secs(150);
    let output = tokio::time::timeout(limit, command.output())
        .await
        .unwrap()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (headers, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = headers
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    CurlResponse {
        exit: output.status.code().unwrap(),
        status: status.unwrap_or_default(),
        headers: headers.to_ascii_lowercase(),
        body: body.to_owned(),
    }
}

/// Sends a GET.
pub(crate) async fn get(model: &RunningModel, path: &str) -> CurlResponse {
    curl(&format!("{}{path}", model.url()), None, &[]).await
}

/// Sends a POST.
pub(crate) async fn post(model: &RunningModel, path: &str, body: &Value) -> CurlResponse {
    curl(&format!("{}{path}", model.url()), Some(body), &[]).await
}

/// Sends a request in a dialect, with one tool for shell commands.
pub(crate) async fn ask(
    model: &RunningModel,
    dialect: Dialect,
    stream: bool,
    prompt: &str,
) -> CurlResponse {
    let (path, body) = request_body(dialect, stream, prompt);
    post(model, path, &body).await
}

/// Returns path and body of a request as in the documentation of each API.
pub(crate) fn request_body(dialect: Dialect, stream: bool, prompt: &str) -> (&'static str, Value) {
    let schema = json!({
        "type": "object", "properties": { "command": { "type": "string" } }, "required": ["command"],
    });
    let messages = json!([{ "role": "user", "content": prompt }]);
    let function =
        json!({ "name": "bash", "description": "Runs a command.", "parameters": schema });
    match dialect {
        Dialect::Chat => (
            "/v1/chat/completions",
            json!({
                "model": "m", "stream": stream, "messages": messages,
                "tools": [{ "type": "function", "function": function }],
            }),
        ),
        Dialect::Responses => (
            "/v1/responses",
            json!({
                "model": "m", "stream": stream, "input": prompt,
                "tools": [{ "type": "function", "name": "bash", "parameters": schema }],
            }),
        ),
        Dialect::Messages => (
            "/v1/messages",
            json!({
                "model": "m", "stream": stream, "max_tokens": 100, "messages": messages,
                "tools": [{ "name": "bash", "input_schema": schema }],
            }),
        ),
        Dialect::Gemini => (
            if stream {
                "/v1beta/models/m:streamGenerateContent?alt=sse"
            } else {
                "/v1beta/models/m:generateContent"
            },
            json!({
                "contents": [{ "role": "user", "parts": [{ "text": prompt }] }],
                "tools": [{ "functionDeclarations": [function] }],
            }),
        ),
        Dialect::Ollama => (
            "/api/chat",
            json!({
                "model": "m", "stream": stream, "messages": messages,
                "tools": [{ "type": "function", "function": function }],
            }),
        ),
    }
}
