//! Addresses beside the conversation: is anybody there, which models, how many tokens.

use axum::http::Method;
use serde_json::{Value, json};

use crate::model_list::{self, ModelEntry};

/// The one model.
const MODEL: ModelEntry<'_> = ModelEntry {
    id: "scripted",
    title: "Scripted",
    owner: "windlass",
};
/// The same, as Ollama's clients know it.
const TAG: ModelEntry<'_> = ModelEntry {
    id: "scripted:latest",
    title: "Scripted",
    owner: "scripted",
};
/// Bytes per token, about.
const TOKEN_BYTES: usize = 4;

/// An answer that belongs to no conversation.
#[derive(Debug)]
pub(crate) struct PlainResponse {
    /// What was asked.
    pub(crate) name: &'static str,
    /// The answer, JSON or a sentence.
    pub(crate) body: Value,
}

/// The answer to a request of this method and path, if it is such a side call.
pub(crate) fn endpoint(method: &Method, path: &str, body_bytes: usize) -> Option<PlainResponse> {
    let path = path.trim_end_matches('/');
    let (name, body) = if method == Method::HEAD {
        ("is anybody there", Value::Null) // Claude Code, Ollama's own programs
    } else if method == Method::GET {
        get(path)?
    } else {
        post(path, body_bytes / TOKEN_BYTES)?
    };
    Some(PlainResponse { name, body })
}

fn get(path: &str) -> Option<(&'static str, Value)> {
    Some(match path {
        "" => ("is anybody there", "Ollama is running".into()),
        _ if path.ends_with("/api/tags") => ("models", model_list::tags(&[TAG])),
        _ if path.ends_with("/api/ps") => ("running models", json!({ "models": [] })),
        _ if path.ends_with("/api/version") => ("version", json!({ "version": "0.12.0" })),
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
        _ if path.ends_with("/api/show") => (
            "model",
            model_list::show_response("scripted", &["completion", "tools"]),
        ),
        _ => return None,
    })
}
