//! What `[agents.NAME]` may say about an agent that is a program.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use windlass_core::registry::parse_config;
use windlass_core::{Error, Permissions, Result};

/// The settings of one agent. Keys of other kinds of agents are accepted and mean nothing here.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ProgramSettings {
    /// The program, where it is not the usual one on the `PATH`.
    #[serde(alias = "binary")]
    pub bin: Option<String>,
    /// Which of the agent's transports to use, where it is not the best that the installed version has.
    pub transport: Option<String>,
    /// The model, by the name that the agent gives it.
    pub model: Option<String>,
    /// Codex only: which of the user's own configurations to use.
    pub profile: Option<String>,
    /// ACP only: the program that speaks the protocol, with its arguments.
    pub command: Vec<String>,
    /// ACP only: the agent among those known by name.
    pub preset: Option<String>,
    /// ACP only: the mode that a session is set to, by the name that the agent gives it.
    pub mode: Option<String>,
    /// ACP only: further options of a session, by the names that the agent gives them.
    pub options: BTreeMap<String, String>,
    /// Folders where the agent keeps sessions and settings, where we do not know them; made if missing.
    pub writable: Vec<String>,
    /// Paths that the agent must be able to read although the sandbox hides what is around them.
    pub readable: Vec<String>,
    /// Arguments after our own.
    pub extra_args: Vec<String>,
    /// Variables over our own. The values may be secret.
    pub extra_env: BTreeMap<String, String>,
    /// How long one turn may take.
    #[serde(alias = "timeout_seconds")]
    pub timeout_secs: Option<u64>,
    /// Who answers when the agent asks; over what the session's options say.
    pub permissions: Option<Permissions>,
    /// The model endpoint that the agent itself should call, with or without the `/v1` at its end.
    #[serde(alias = "sdk_url")]
    pub endpoint: Option<String>,
    /// The variable that holds the key for it.
    pub api_key_env: Option<String>,
}

impl ProgramSettings {
    /// Reads the settings, and refuses what could be taken for something else on a command line.
    pub fn from_value(config: &Value) -> Result<Self> {
        let settings: Self = parse_config(config)?;
        for (key, value) in [
            ("bin", &settings.bin),
            ("model", &settings.model),
            ("profile", &settings.profile),
        ] {
            if let Some(value) = value {
                check_argument(value).map_err(|problem| Error::config(key, problem))?;
            }
        }
        if let Some(endpoint) = &settings.endpoint {
            check_endpoint(endpoint).map_err(|problem| Error::config("endpoint", problem))?;
        }
        Ok(settings)
    }

    /// The preset of this name, if the agent is to be reached by ACP.
    #[cfg(feature = "acp")]
    pub fn acp_preset(&self, name: &str) -> Option<&'static crate::acp::Preset> {
        let wanted = self.transport.as_deref() == Some("acp");
        wanted.then(|| crate::acp::preset(name)).flatten()
    }

    /// How long one turn may take, where that is set.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout_secs.map(Duration::from_secs)
    }
}

impl fmt::Debug for ProgramSettings {
    /// The variables' values are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("bin", &self.bin)
            .field("transport", &self.transport)
            .field("model", &self.model)
            .field("extra_env", &self.extra_env.keys())
            .field("endpoint", &self.endpoint)
            .field("api_key_env", &self.api_key_env)
            .finish_non_exhaustive()
    }
}

/// A value that becomes an argument must not be able to become a flag.
pub(crate) fn check_argument(value: &str) -> Result<(), String> {
    let problem = if value.is_empty() {
        "is empty: leave it out, or say what it should be"
    } else if value.starts_with('-') {
        "starts with a dash, and so would be read as a flag"
    } else if value.chars().any(char::is_control) {
        "has a control character in it"
    } else {
        return Ok(());
    };
    Err(problem.to_owned())
}

pub(crate) fn check_endpoint(url: &str) -> Result<(), String> {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"))
        .ok_or("expected an address that begins with http:// or https://")?;
    let host = rest.split('/').next().unwrap_or_default();
    if host.is_empty() || host.contains('@') || url.chars().any(|c| c.is_control() || c == ' ') {
        return Err("expected scheme, host and path; a key belongs into api_key_env".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn p21_no_value_becomes_a_flag() {
        let check = |config: Value, said: &str| {
            let error = ProgramSettings::from_value(&config)
                .unwrap_err()
                .to_string();
            assert!(error.starts_with(said), "{error}");
        };
        check(json!({ "model": "--help" }), "model: starts with a dash");
        check(json!({ "bin": "" }), "bin: is empty");
        check(json!({ "profile": "a\nb" }), "profile: has a control");
        check(
            json!({ "endpoint": "file:///x" }),
            "endpoint: expected an address",
        );
        check(
            json!({ "endpoint": "http://me:key@host" }),
            "endpoint: expected scheme",
        );
        check(json!({ "permissions": "maybe" }), "permissions: unknown");
    }

    #[test]
    fn other_spellings_mean_the_same() {
        let config =
            json!({ "binary": "c", "sdk_url": "http://h", "timeout_seconds": 3, "command": ["x"] });
        let settings = ProgramSettings::from_value(&config).unwrap();
        assert_eq!(settings.bin.as_deref(), Some("c"));
        assert_eq!(settings.endpoint.as_deref(), Some("http://h"));
        assert_eq!(settings.timeout(), Some(Duration::from_secs(3)));
    }

    #[test]
    fn p19_debug_shows_no_value_of_a_variable() {
        let config = json!({ "extra_env": { "TOKEN": "canary" } });
        let shown = format!("{:?}", ProgramSettings::from_value(&config).unwrap());
        assert!(
            shown.contains("TOKEN") && !shown.contains("canary"),
            "{shown}"
        );
    }
}
