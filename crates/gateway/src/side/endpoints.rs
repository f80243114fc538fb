//! Addresses beside the conversation: is anybody there, which models, how many tokens.

use axum::http::Method;
use serde_json::{Value, json};

/// The name of the one model.
const MODEL: &str = "scripted";
/// When it was made: long ago, and always the same.
const MADE: &str = "2024-01-01T00:00:00Z";
/// Bytes per token, about.
const TOKEN_BYTES: usize = 4;

/// An answer that belongs to no conversation.
#[derive(Debug)]
pub(crate) struct Plain {
    /// What was asked.
    pub(crate) name: &'static str,
    /// The answer, JSON or a sentence.
    pub(crate) body: Value,
}

/// The answer to a request of this method and path, if it is such a side call.
pub(crate) fn endpoint(method: &Method, path: &str, body_bytes: usize) -> Option<Plain> {
    let path = path.trim_end_matches('/');
    let (name, body) = if method == Method::HEAD {
        ("is anybody there", Value::Null) // Claude Code, Ollama's own programs
    } else if method == Method::GET {
        get(path)?
    } else {
        post(path, body_bytes / TOKEN_BYTES)?
    };
    Some(Plain { name, body })
}

fn get(path: &str) -> Option<(&'static str, Value)> {
    Some(match path {
        "" => ("is anybody there", "Ollama is running".into()),
        _ if path.ends_with("/api/tags") => ("models", json!({ "models": [ollama_model()] })),
        _ if path.ends_with("/api/ps") => ("running models", json!({ "models": [] })),
        _ if path.ends_with("/api/version") => ("version", json!({ "version": "0.12.0" })),
        _ if path.ends_with("/models") => ("models", models()),
        _ if path.contains("/models/") => ("model", model()),
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
        _ if path.ends_with("/api/show") => (
            "model",
            json!({
                "modelfile": "", "parameters": "", "template": "", "modified_at": MADE,
                "details": ollama_details(), "model_info": {}, "capabilities": ["completion", "tools"],
            }),
        ),
        _ => return None,
    })
}

/// A list that the clients of OpenAI, Anthropic and Google can all read: they ask at the same address.
fn models() -> Value {
    json!({
        "object": "list", "data": [model()], "models": [model()],
        "has_more": false, "first_id": MODEL, "last_id": MODEL,
    })
}

fn model() -> Value {
    json!({
        // OpenAI
        "id": MODEL, "object": "model", "created": 1_704_067_200, "owned_by": "windlass",
        // Anthropic
        "type": "model", "display_name": "Scripted", "created_at": MADE, "lifecycle": "active",
        // Google
        "name": format!("models/{MODEL}"), "version": "1", "displayName": "Scripted",
        "inputTokenLimit": 1_000_000, "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    })
}

fn ollama_model() -> Value {
    let name = format!("{MODEL}:latest");
    json!({ "name": name, "model": name, "modified_at": MADE, "size": 0, "digest": "0", "details": ollama_details() })
}

fn ollama_details() -> Value {
    json!({
        "parent_model": "", "format": "gguf", "family": MODEL, "families": [MODEL],
        "parameter_size": "0B", "quantization_level": "none",
    })
}
