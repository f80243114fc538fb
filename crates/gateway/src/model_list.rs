//! Lists of models, in the words of every API that asks for one.

use serde_json::{Value, json};

/// When a model was made that has no date: long ago, and always the same.
pub(crate) const DEFAULT_CREATED: &str = "2024-01-01T00:00:00Z";
const DEFAULT_CREATED_SECS: u64 = 1_704_067_200;

/// A model as it stands in a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelEntry<'a> {
    /// The name to ask for.
    pub(crate) id: &'a str,
    /// The name for people.
    pub(crate) title: &'a str,
    /// Whose it is.
    pub(crate) owner: &'a str,
}

/// A list that the clients of OpenAI, Anthropic and Google can all read: they ask at the same address.
pub(crate) fn models(lines: &[ModelEntry<'_>]) -> Value {
    let data: Vec<Value> = lines.iter().map(model).collect();
    json!({
        "object": "list", "data": data, "models": data, "has_more": false,
        "first_id": lines.first().map(|line| line.id), "last_id": lines.last().map(|line| line.id),
    })
}

/// One model, for the same clients.
pub(crate) fn model(line: &ModelEntry<'_>) -> Value {
    json!({
        // OpenAI
        "id": line.id, "object": "model", "created": DEFAULT_CREATED_SECS, "owned_by": line.owner,
        // Anthropic
        "type": "model", "display_name": line.title, "created_at": DEFAULT_CREATED, "lifecycle": "active",
        // Google
        "name": format!("models/{}", line.id), "version": "1", "displayName": line.title,
        "inputTokenLimit": 1_000_000, "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    })
}

/// Ollama's list.
pub(crate) fn tags(lines: &[ModelEntry<'_>]) -> Value {
    let models: Vec<Value> = lines.iter().map(tag).collect();
    json!({ "models": models })
}

fn tag(line: &ModelEntry<'_>) -> Value {
    json!({
        "name": line.id, "model": line.id, "modified_at": DEFAULT_CREATED, "size": 0, "digest": "0",
        "details": details(line.owner),
    })
}

/// What Ollama's clients are told of one model.
pub(crate) fn show_response(family: &str, capabilities: &[&str]) -> Value {
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
