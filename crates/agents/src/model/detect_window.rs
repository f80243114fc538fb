//! Asks a server for the context window of a model.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::ModelKind;
use super::client::ModelClient;

/// The smallest window that is accepted.
const MIN_WINDOW: u64 = 512;
/// Maximum number of models with a remembered window.
const MAX_MODELS: usize = 64;

/// The context windows that servers have reported, by model.
#[derive(Debug, Default)]
pub(super) struct DetectedWindows {
    by_model: Mutex<BTreeMap<String, Option<u64>>>,
}

impl DetectedWindows {
    /// Returns the window that the server uses for a model. The server is asked once.
    pub(super) async fn get(
        &self,
        kind: ModelKind,
        client: &ModelClient,
        model: &str,
    ) -> Option<u64> {
        let mut known = self.by_model.lock().await;
        if let Some(window) = known.get(model) {
            return *window;
        }
        let window = detect(kind, client, model).await;
        if known.len() < MAX_MODELS {
            known.insert(model.to_owned(), window);
        }
        window
    }
}

/// Asks the server for the window of a model. The public APIs do not report it.
async fn detect(kind: ModelKind, client: &ModelClient, model: &str) -> Option<u64> {
    let found = match kind {
        ModelKind::Ollama => {
            let shown = client.ask("/api/show", Some(json!({ "model": model })));
            ollama_window(&shown.await?)
        }
        _ => {
            // llama.cpp reports the window in use here, which may be smaller than that of the model.
            let props = client.ask("/props", None).await;
            let in_use = props.and_then(|props| {
                let settings = props.get("default_generation_settings")?;
                settings.get("n_ctx")?.as_u64()
            });
            match in_use {
                Some(window) => Some(window),
                None => listed_window(&client.ask("/v1/models", None).await?, model),
            }
        }
    };
    found.filter(|window| *window >= MIN_WINDOW)
}

/// Returns the window in Ollama's description of a model: the configured one, else that of the model.
fn ollama_window(shown: &Value) -> Option<u64> {
    let parameters = shown.get("parameters").and_then(Value::as_str);
    let configured = parameters.and_then(|text| {
        let mut lines = text.lines();
        lines.find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok())
    });
    configured.or_else(|| {
        let info = shown.get("model_info")?.as_object()?;
        let mut keys = info.iter();
        keys.find_map(|(key, value)| value.as_u64().filter(|_| key.ends_with(".context_length")))
    })
}

/// Returns the window in a list of models. Servers have different names for it.
fn listed_window(listed: &Value, model: &str) -> Option<u64> {
    let models = listed.get("data")?.as_array()?;
    let named = models.iter().find(|one| one["id"] == model);
    let only = || models.first().filter(|_| models.len() == 1);
    let entry = named.or_else(only)?;
    let number = |key: &str| entry.get(key).and_then(Value::as_u64);
    let meta = entry.pointer("/meta/n_ctx_train").and_then(Value::as_u64);
    number("max_model_len")
        .or(number("context_length"))
        .or(number("context_window"))
        .or(meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_is_found_in_what_servers_tell() {
        let shown = json!({ "parameters": "stop x\nnum_ctx      8192", "model_info": { "qwen2.context_length": 32768 } });
        assert_eq!(ollama_window(&shown), Some(8192));
        let shown = json!({ "model_info": { "general.size": 3, "qwen2.context_length": 32768 } });
        assert_eq!(ollama_window(&shown), Some(32768));
        let list = json!({ "data": [{ "id": "a", "max_model_len": 5000 }, { "id": "b", "meta": { "n_ctx_train": 6000 } }] });
        assert_eq!(listed_window(&list, "a"), Some(5000));
        assert_eq!(listed_window(&list, "b"), Some(6000));
        assert_eq!(listed_window(&list, "c"), None);
    }
}
