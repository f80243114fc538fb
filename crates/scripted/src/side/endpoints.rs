//! Endpoints outside the conversation: health checks, model lists, token counts.

use axum::http::Method;
use serde_json::{Value, json};

use windlass_wire::model_list::{self, ModelEntry};

/// The only model.
const MODEL: ModelEntry<'_> = ModelEntry {
    id: "scripted",
    title: "Scripted",
    owner: "windlass",
    capabilities: &["completion", "tools"],
};
/// The model's name for Ollama clients.
const TAG: ModelEntry<'_> = ModelEntry {
    id: "scripted:latest",
    title: "Scripted",
    owner: "scripted",
    capabilities: &["completion", "tools"],
};
/// Approximate number of bytes per token.
const TOKEN_BYTES: usize = 4;

/// A response that does not belong to a conversation.
#[derive(Debug)]
pub(crate) struct PlainResponse {
    /// What was requested.
    pub(crate) name: &'static str,
    /// The body, JSON or a text.
    pub(crate) body: Value,
}

/// Returns the response to a request with this method and path, if it is a side call.
pub(crate) fn endpoint(method: &Method, path: &str, body_bytes: usize) -> Option<PlainResponse> {
    let path = path.trim_end_matches('/');
    let (name, body) = if method == Method::HEAD {
        ("health check", Value::Null) // Claude Code, Ollama's own programs
    } else if method == Method::GET {
        get(path)?
    } else {
        post(path, body_bytes / TOKEN_BYTES)?
    };
    Some(PlainResponse { name, body })
}

fn get(path: &str) -> Option<(&'static str, Value)> {
    Some(match path {
        "" => ("health check", "Ollama is running".into()),
        _ if path.ends_with("/api/tags") => ("models", model_list::tags(&[TAG])),
        _ if path.ends_with("/api/ps") => ("running models", json!({ "models": [] })),
        _ if path.ends_with("/api/version") => ("version", json!({ "version": "0.12.0" })),
        // llama.cpp tells its context window here.
        "/props" => ("properties", json!({})),
        _ if path.ends_with("/models") => ("models", model_list::models(&[MODEL])),
        _ if path.contains("/models/") => ("model", model_list::model(&MODEL)),
        _ => return None,
    })
}

fn post(path: &str, tokens: usize) -> Option<(&'static str, Value)> {
    Some(match path {
        _ if path.ends_with("/messages/count_tokens") => {
            ("token count", json!({ "input_tokens": tokens }))
        }
        _ if path.ends_with(":countTokens") => ("token count", json!({ "totalTokens": tokens })),
        _ if path.ends_with("/responses/input_tokens") => (
            "token count",
            json!({ "object": "response.input_tokens", "input_tokens": tokens }),
        ),
        _ if path.ends_with("/v1/embeddings") => (
            "embeddings",
            json!({
                "object": "list",
                "model": MODEL.id,
                "data": [{ "object": "embedding", "index": 0, "embedding": [0.5, 0.25, 0.125] }],
                "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
            }),
        ),
        _ if path.ends_with("/api/show") => (
            "model",
            model_list::show_response("scripted", &["completion", "tools"]),
        ),
        _ => return None,
    })
}
