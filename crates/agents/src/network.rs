//! Which hosts an agent may reach: its provider or its endpoint, and what the user allows.

use serde_json::json;
use windlass_core::{AgentEvent, Error, Result};
use windlass_sandbox::{Child, HostRule, Profile};

use crate::ProgramSettings;
use crate::network_setting::{NetworkMode, NetworkSetting, parse};
use crate::program::AgentProgram;

/// Lets an agent reach its hosts only, unless its settings allow every host or none.
pub(crate) fn restrict(
    profile: Profile,
    program: &AgentProgram,
    settings: &ProgramSettings,
) -> Result<Profile> {
    match &settings.network {
        Some(NetworkSetting::Mode(NetworkMode::Open)) => Ok(profile.network(true)),
        Some(NetworkSetting::Mode(NetworkMode::None)) => Ok(profile.network(false)),
        Some(NetworkSetting::Hosts(hosts)) => Ok(profile.hosts(rules(program, settings, hosts)?)),
        None => Ok(profile.hosts(rules(program, settings, &[])?)),
    }
}

fn rules(
    program: &AgentProgram,
    settings: &ProgramSettings,
    hosts: &[String],
) -> Result<Vec<HostRule>> {
    let mut rules = match &settings.endpoint {
        Some(url) => vec![
            HostRule::for_url(url).map_err(|error| Error::config("endpoint", error.to_string()))?,
        ],
        None => parse(program.hosts)?,
    };
    rules.extend(parse(hosts)?);
    // A variable such as `OPENAI_BASE_URL` selects another server.
    let values = settings.extra_env.values();
    rules.extend(values.filter_map(|value| HostRule::for_url(value).ok()));
    Ok(rules)
}

/// Returns one event for each connection that was blocked since the last call.
pub(crate) fn blocked_events(child: &Child) -> Vec<AgentEvent> {
    let blocked = child.take_blocked().into_iter();
    blocked
        .map(|one| {
            let message = one.to_string();
            let payload = json!({ "host": one.host, "port": one.port, "message": message });
            AgentEvent::custom("blocked_connection", payload)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::known;

    fn shown(program: &AgentProgram, config: serde_json::Value) -> Vec<String> {
        let settings = ProgramSettings::from_value(&config).unwrap();
        let hosts = match &settings.network {
            Some(NetworkSetting::Hosts(hosts)) => hosts.clone(),
            _ => Vec::new(),
        };
        let rules = rules(program, &settings, &hosts).unwrap();
        rules.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn p16_agent_reaches_its_provider_or_its_endpoint() {
        assert!(
            shown(&known::codex::PROGRAM, json!({})).contains(&"api.openai.com:443".to_owned())
        );
        assert_eq!(
            shown(
                &known::codex::PROGRAM,
                json!({ "endpoint": "http://127.0.0.1:4000/v1" })
            ),
            ["127.0.0.1:4000"]
        );
        assert_eq!(shown(&known::UNKNOWN, json!({})), [""; 0]);
        assert_eq!(
            shown(
                &known::UNKNOWN,
                json!({ "network": ["a.example"], "extra_env": { "BASE_URL": "https://b.example", "X": "1" } })
            ),
            ["a.example:443", "b.example:443"]
        );
    }

    #[test]
    fn every_known_agent_has_valid_hosts() {
        for profile in crate::cli::PROFILES {
            let rules = parse(profile.program.hosts).unwrap();
            assert!(!rules.is_empty(), "{}", profile.name());
        }
        for preset in crate::acp::PRESETS {
            let rules = parse(preset.program.hosts).unwrap();
            assert!(!rules.is_empty(), "{}", preset.name());
        }
    }

    #[test]
    fn invalid_network_setting_is_rejected() {
        for (network, expected) in [
            (json!(["a b"]), "network: \"a b\": the host is not a name"),
            (json!("closed"), "network"),
        ] {
            let error = ProgramSettings::from_value(&json!({ "network": network })).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }
}
