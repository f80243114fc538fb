//! Scripts, servers and requests for the tests.

use serde_json::{Value, json};
use windlass_scripted::script::Script;
use windlass_scripted::{RunningModel, ScriptedModel};
use windlass_wire::Dialect;

use super::curl::{CurlResponse, curl};

/// Parses a script from its JSON.
#[track_caller]
pub(crate) fn script(json: &str) -> Script {
    Script::parse(json, "test").unwrap()
}

/// Serves a model on any free port.
pub(crate) async fn serve(json: &str) -> RunningModel {
    let listen = "127.0.0.1:0".parse().unwrap();
    ScriptedModel::start(script(json), listen).await.unwrap()
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
