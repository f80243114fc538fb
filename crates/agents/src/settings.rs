//! The keys of `[agents.NAME]` for an agent that is a program.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use windlass_core::registry::parse_config;
use windlass_core::{Error, NetworkSetting, Permissions, Result};
use windlass_sandbox::HostRule;

use crate::bridge::BridgeMode;

/// Settings of one agent. Keys of other kinds of agents are accepted and ignored.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ProgramSettings {
    /// The program to start instead of the default one in `PATH`.
    #[serde(alias = "binary")]
    pub bin: Option<String>,
    /// The transport to use instead of the best one of the installed version.
    pub transport: Option<String>,
    /// The model, by the agent's name for it.
    pub model: Option<String>,
    /// Codex only: which of the user's Codex profiles to use.
    pub profile: Option<String>,
    /// The JSON schema file that an agent gets instead of the schema of a structured call, if the file exists.
    pub schema_override: Option<String>,
    /// ACP only: the ACP server's program and its arguments.
    pub command: Vec<String>,
    /// ACP only: the name of a built-in preset.
    pub preset: Option<String>,
    /// ACP only: the session mode, by the agent's name for it.
    pub mode: Option<String>,
    /// ACP only: further session options, by the agent's names for them.
    pub options: BTreeMap<String, String>,
    /// Directories where the agent stores sessions and settings, if it is not a known agent. They are created
    /// if missing.
    pub writable: Vec<String>,
    /// Paths that the agent must be able to read although the sandbox hides their surroundings.
    pub readable: Vec<String>,
    /// Hosts that the agent may reach in addition to its provider, or `open` or `none`.
    pub network: Option<NetworkSetting>,
    /// Arguments appended to the built-in ones.
    pub extra_args: Vec<String>,
    /// Environment variables that override the built-in ones. The values may be secret.
    pub extra_env: BTreeMap<String, String>,
    /// The time limit of one turn.
    #[serde(alias = "timeout_seconds")]
    pub timeout_secs: Option<u64>,
    /// How permission requests are answered; overrides the session's options.
    pub permissions: Option<Permissions>,
    /// The model endpoint that the agent itself should call, with or without a trailing `/v1`.
    #[serde(alias = "sdk_url")]
    pub endpoint: Option<String>,
    /// The environment variable that holds the endpoint's API key.
    pub api_key_env: Option<String>,
    /// Environment variables that hold the keys of further accounts at the same provider.
    pub more_api_key_envs: Vec<String>,
    /// The most calls of one account at the same time.
    pub max_calls: Option<u32>,
    /// Whether the agent calls its provider through the bridge.
    pub bridge: BridgeMode,
    /// The configured name of the agent.
    pub name: Option<String>,
}

impl ProgramSettings {
    /// Parses the settings, and rejects values that could be mistaken for a flag on a command line.
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
        if let Some(NetworkSetting::Hosts(hosts)) = &settings.network {
            HostRule::parse_all(hosts)
                .map_err(|error| Error::config("network", error.to_string()))?;
        }
        Ok(settings)
    }

    /// Returns the ACP preset of this name, if the transport is `acp`.
    #[cfg(feature = "acp")]
    pub fn acp_preset(&self, name: &str) -> Option<&'static crate::acp::Preset> {
        let wanted = self.transport.as_deref() == Some("acp");
        wanted.then(|| crate::acp::preset(name)).flatten()
    }

    /// Returns the time limit of one turn, if it is set.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout_secs.map(Duration::from_secs)
    }
}

impl fmt::Debug for ProgramSettings {
    /// Omits the values of environment variables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramSettings")
            .field("bin", &self.bin)
            .field("transport", &self.transport)
            .field("model", &self.model)
            .field("extra_env", &self.extra_env.keys())
            .field("endpoint", &self.endpoint)
            .field("api_key_env", &self.api_key_env)
            .finish_non_exhaustive()
    }
}

/// Checks that a value cannot be parsed as a flag when it is passed as an argument.
pub(crate) fn check_argument(value: &str) -> Result<(), String> {
    let problem = if value.is_empty() {
        "is empty: remove it or set a value"
    } else if value.starts_with('-') {
        "starts with a dash and would be parsed as a flag"
    } else if value.chars().any(char::is_control) {
        "contains a control character"
    } else {
        return Ok(());
    };
    Err(problem.to_owned())
}

pub(crate) fn check_endpoint(url: &str) -> Result<(), String> {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"))
        .ok_or("expected an address that starts with http:// or https://")?;
    let host = rest.split('/').next().unwrap_or_default();
    if host.is_empty() || host.contains('@') || url.chars().any(|c| c.is_control() || c == ' ') {
        return Err("expected scheme, host and path; put a key into api_key_env".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn p21_values_that_look_like_flags_are_rejected() {
        let check = |config: Value, expected: &str| {
            let error = ProgramSettings::from_value(&config)
                .unwrap_err()
                .to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check(json!({ "model": "--help" }), "model: starts with a dash");
        check(json!({ "bin": "" }), "bin: is empty");
        check(
            json!({ "profile": "a\nb" }),
            "profile: contains a control character",
        );
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
    fn key_aliases_are_accepted() {
        let config =
            json!({ "binary": "c", "sdk_url": "http://h", "timeout_seconds": 3, "command": ["x"] });
        let settings = ProgramSettings::from_value(&config).unwrap();
        assert_eq!(settings.bin.as_deref(), Some("c"));
        assert_eq!(settings.endpoint.as_deref(), Some("http://h"));
        assert_eq!(settings.timeout(), Some(Duration::from_secs(3)));
    }

    #[test]
    fn p19_debug_omits_variable_values() {
        let config = json!({ "extra_env": { "TOKEN": "canary" } });
        let shown = format!("{:?}", ProgramSettings::from_value(&config).unwrap());
        assert!(
            shown.contains("TOKEN") && !shown.contains("canary"),
            "{shown}"
        );
    }
}
