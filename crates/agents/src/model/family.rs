//! Settings of model families, as data. Settings of the configuration override them.

use std::fmt;
use std::sync::LazyLock;

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};
use windlass_core::{EditMode, SchemaSetting};

use super::{ModelKind, ModelSettings, ToolMode};

/// The known families. The first one that matches a model applies.
static FAMILIES: LazyLock<Vec<(GlobSet, ModelFamily)>> = LazyLock::new(|| {
    read_families().unwrap_or_else(|error| {
        tracing::error!(error, "the table of model families is invalid");
        Vec::new()
    })
});

fn read_families() -> Result<Vec<(GlobSet, ModelFamily)>, String> {
    let families: Vec<ModelFamily> =
        serde_json::from_str(include_str!("families.json")).map_err(|error| error.to_string())?;
    let mut found = Vec::with_capacity(families.len());
    for family in families {
        let mut patterns = GlobSetBuilder::new();
        for pattern in &family.models {
            patterns.add(Glob::new(pattern).map_err(|error| error.to_string())?);
        }
        let patterns = patterns.build().map_err(|error| error.to_string())?;
        found.push((patterns, family));
    }
    Ok(found)
}

/// The settings of a family of models. An absent setting has the general default.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ModelFamily {
    name: String,
    /// Patterns of model names, in lower case; `*` matches any text, and `[!0-9.]` before a size keeps 11b from being 1b.
    models: Vec<String>,
    tool_mode: ToolMode,
    edit_mode: EditMode,
    schema_mode: SchemaSetting,
    temperature: Option<f64>,
    max_tokens: Option<u64>,
    context_window: Option<u64>,
}

/// The settings in effect for one model: those of the configuration, else those of its family.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModelFit {
    /// The family of the model, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<&'static str>,
    /// How the model calls tools.
    pub tool_mode: ToolMode,
    /// How the model changes files.
    pub edit_mode: EditMode,
    /// Whether the API is asked to enforce the schema of an answer.
    pub enforces_schema: bool,
    /// The sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The most tokens of one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The most tokens of a prompt and its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}

impl ModelFit {
    /// Returns the settings for this model.
    pub(super) fn new(settings: &ModelSettings, kind: ModelKind, model: &str) -> Self {
        let name = model.to_lowercase();
        let mut families = FAMILIES.iter();
        let known = families.find(|(patterns, _)| patterns.is_match(&name));
        let known = known.map(|(_, family)| family);
        let default = ModelFamily::default();
        let family = known.unwrap_or(&default);
        let tool_mode = match settings.tool_mode {
            ToolMode::Auto => family.tool_mode,
            mode => mode,
        };
        let edit_mode = match settings.edit_mode {
            EditMode::Auto => family.edit_mode,
            mode => mode,
        };
        let schema_mode = match settings.schema_mode {
            SchemaSetting::Auto => family.schema_mode,
            mode => mode,
        };
        Self {
            family: known.map(|family| family.name.as_str()),
            tool_mode,
            // A model without tools can only return files.
            edit_mode: if settings.tools {
                edit_mode
            } else {
                EditMode::WholeFiles
            },
            enforces_schema: settings.enforces_schema(kind, schema_mode),
            temperature: settings.temperature.or(family.temperature),
            max_tokens: settings.max_tokens.or(family.max_tokens),
            context_window: settings.context_window.or(family.context_window),
        }
    }
}

/// The settings by their keys, such as `tool_mode schema, edit_mode whole_files, context_window 32768`.
impl fmt::Display for ModelFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tools, edits) = (self.tool_mode.as_str(), self.edit_mode.as_str());
        write!(f, "tool_mode {tools}, edit_mode {edits}")?;
        match self.context_window {
            Some(window) => write!(f, ", context_window {window}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fit(model: &str, config: serde_json::Value) -> ModelFit {
        let settings = ModelSettings::from_value(&config).unwrap();
        ModelFit::new(&settings, ModelKind::OpenAi, model)
    }

    #[test]
    fn every_family_of_the_table_is_valid_and_reachable() {
        let families: Vec<ModelFamily> =
            serde_json::from_str(include_str!("families.json")).unwrap();
        assert!(families.len() > 10);
        for family in &families {
            assert!(!family.models.is_empty(), "{}", family.name);
            for pattern in &family.models {
                let model = pattern.replace("[!0-9.]", ":").replace('*', "-");
                let found = fit(&model, json!({})).family;
                assert_eq!(found, Some(family.name.as_str()), "{model}");
            }
        }
    }

    #[test]
    fn configured_setting_wins_over_the_family() {
        let small = fit("Qwen/Qwen2.5-Coder-1.5B-Instruct", json!({}));
        assert_eq!(small.tool_mode, ToolMode::Schema);
        assert_eq!(small.edit_mode, EditMode::WholeFiles);
        assert!(small.enforces_schema);
        assert_eq!(small.context_window, Some(32_768));
        let config = json!({
            "tool_mode": "native", "edit_mode": "tools", "schema_mode": "prompt",
            "temperature": 0.7, "max_tokens": 9, "context_window": 4096,
        });
        let set = fit("qwen2.5-coder:1.5b", config);
        assert_eq!(set.tool_mode, ToolMode::Native);
        assert_eq!(set.edit_mode, EditMode::Tools);
        assert!(!set.enforces_schema);
        let numbers = (set.temperature, set.max_tokens, set.context_window);
        assert_eq!(numbers, (Some(0.7), Some(9), Some(4096)));
    }

    #[test]
    fn unknown_model_keeps_the_general_defaults() {
        for model in ["gpt-5.5", "m", "qwen2.5-coder", ""] {
            let fit = fit(model, json!({}));
            assert_eq!(fit.tool_mode, ToolMode::Auto, "{model}");
            assert_eq!(fit.edit_mode, EditMode::Auto, "{model}");
            assert!(!fit.enforces_schema, "{model}");
        }
        assert_eq!(
            fit("m", json!({ "tools": false })).edit_mode,
            EditMode::WholeFiles
        );
    }

    #[test]
    fn size_of_a_model_is_matched_as_a_whole_number() {
        let family = |model: &str| fit(model, json!({})).family;
        for model in [
            "llama3.2:1b",
            "meta-llama/Llama-3.2-3B-Instruct",
            "llama3.2:3b-instruct-q4_K_M",
        ] {
            assert_eq!(family(model), Some("llama 3.2"), "{model}");
        }
        for model in [
            "llama3.2-vision:11b",
            "meta-llama/Llama-3.2-11B-Vision-Instruct",
            "Llama-3.2-13b",
            "deepseek-coder:33b",
            "qwen3:30b",
            "qwen3-coder:21.7b",
        ] {
            assert_eq!(family(model), None, "{model}");
        }
        assert_eq!(family("qwen2.5-coder:1.5b"), Some("qwen2.5-coder, small"));
        assert_eq!(family("qwen2.5-coder-32b"), Some("qwen2.5-coder"));
        assert_eq!(family("gemma3:4b"), Some("gemma 3, small"));
    }

    #[test]
    fn table_of_families_is_valid() {
        assert!(!read_families().unwrap().is_empty());
    }
}
