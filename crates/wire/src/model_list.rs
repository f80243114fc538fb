//! Model lists, in the format of each API.

use serde_json::{Value, json};

/// The creation date of a model without one. It is constant.
const DEFAULT_CREATED: &str = "2024-01-01T00:00:00Z";
const DEFAULT_CREATED_SECS: u64 = 1_704_067_200;

/// An entry of a model list.
#[derive(Debug, Clone, Copy)]
pub struct ModelEntry<'a> {
    /// The name used in requests.
    pub id: &'a str,
    /// The display name.
    pub title: &'a str,
    /// The owner.
    pub owner: &'a str,
    /// What it supports, in Ollama's words; empty if that is not known.
    pub capabilities: &'a [&'a str],
}

/// Renders a list that OpenAI, Anthropic and Google clients can all read: they use the same path.
pub fn models(entries: &[ModelEntry<'_>]) -> Value {
    let data: Vec<Value> = entries.iter().map(model).collect();
    json!({
        "object": "list", "data": data, "models": data, "has_more": false,
        "first_id": entries.first().map(|entry| entry.id), "last_id": entries.last().map(|entry| entry.id),
    })
}

/// Renders one model, for OpenAI, Anthropic and Google clients.
pub fn model(entry: &ModelEntry<'_>) -> Value {
    json!({
        // Ours. Anthropic clients expect an object under `capabilities`.
        "features": entry.capabilities,
        // OpenAI
        "id": entry.id, "object": "model", "created": DEFAULT_CREATED_SECS, "owned_by": entry.owner,
        // Anthropic
        "type": "model", "display_name": entry.title, "created_at": DEFAULT_CREATED, "lifecycle": "active",
        // Google
        "name": format!("models/{}", entry.id), "version": "1", "displayName": entry.title,
        "inputTokenLimit": 1_000_000, "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    })
}

/// Renders Ollama's model list.
pub fn tags(entries: &[ModelEntry<'_>]) -> Value {
    let models: Vec<Value> = entries.iter().map(tag).collect();
    json!({ "models": models })
}

fn tag(entry: &ModelEntry<'_>) -> Value {
    json!({
        "name": entry.id, "model": entry.id, "modified_at": DEFAULT_CREATED, "size": 0, "digest": "0",
        "details": details(entry.owner),
    })
}

/// Renders one model, for Ollama clients.
pub fn show_response(family: &str, capabilities: &[&str]) -> Value {
    json!({
        "modelfile": "", "parameters": "", "template": "", "modified_at": DEFAULT_CREATED,
        "details": details(family), "model_info": {}, "capabilities": capabilities,
    })
}

fn details(family: &str) -> Value {
    json!({
        "parent_model": "", "format": "gguf", "family": family, "families": [family],
        "parameter_size": "0B", "quantization_level": "none",
    })
}
