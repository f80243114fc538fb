//! Templates in the values of `extra_env`: `{endpoint}`, `{model}` and `{api_key}`.

use windlass_core::{Error, Result, SecretString};

use crate::ProgramSettings;

/// Placeholder for `endpoint`, without a trailing `/v1`.
pub(crate) const ENDPOINT: &str = "{endpoint}";
/// Placeholder for the model.
pub(crate) const MODEL: &str = "{model}";
/// Placeholder for the value of the variable that `api_key_env` names.
const API_KEY: &str = "{api_key}";

/// Returns `true` if a value of `extra_env` has this placeholder.
pub(crate) fn uses(settings: &ProgramSettings, placeholder: &str) -> bool {
    let mut values = settings.extra_env.values();
    values.any(|value| value.contains(placeholder))
}

/// Returns the variables of `extra_env` with their placeholders replaced by this endpoint, key and model.
pub(crate) fn expand<'a>(
    settings: &'a ProgramSettings,
    (endpoint, key): (Option<&str>, Option<&str>),
    model: Option<&str>,
) -> Result<Vec<(&'a str, SecretString)>> {
    let model = model.or(settings.model.as_deref());
    let variable = |(name, value): (&'a String, &String)| {
        let mut value = value.clone();
        for (placeholder, setting, replacement) in [
            (ENDPOINT, "endpoint", endpoint),
            (MODEL, "model", model),
            (API_KEY, "api_key_env", key),
        ] {
            if !value.contains(placeholder) {
                continue;
            }
            let replacement = replacement.ok_or_else(|| {
                let problem = format!("uses {placeholder}, which has no value: set {setting}");
                Error::config(format!("extra_env.{name}"), problem)
            })?;
            value = value.replace(placeholder, replacement);
        }
        Ok((name.as_str(), SecretString::from(value)))
    };
    settings.extra_env.iter().map(variable).collect()
}
