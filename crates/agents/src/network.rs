//! Which hosts an agent may reach: its provider or its endpoint, and what the user allows.

use serde_json::json;
use windlass_core::{AgentEvent, Error, Result};
use windlass_sandbox::{Child, HostRule, InvalidHost, Profile};

use crate::ProgramSettings;
use crate::program::AgentProgram;

/// Lets an agent reach its hosts only, unless its settings allow every host or none. Besides an endpoint, it may need the hosts
/// of its login.
pub(crate) fn restrict(
    profile: Profile,
    program: &AgentProgram,
    settings: &ProgramSettings,
    (endpoint, login_hosts): (Option<&str>, &[&str]),
) -> Result<Profile> {
    let mut own = own_hosts(program, settings, endpoint)?;
    own.extend(HostRule::parse_all(login_hosts).map_err(network_error)?);
    profile
        .network_setting(settings.network.as_ref(), own)
        .map_err(network_error)
}

/// Returns the hosts that an agent reaches without a setting: its endpoint or its provider, and servers that
/// variables such as `OPENAI_BASE_URL` select.
fn own_hosts(
    program: &AgentProgram,
    settings: &ProgramSettings,
    endpoint: Option<&str>,
) -> Result<Vec<HostRule>> {
    let mut rules = match endpoint {
        Some(url) => vec![
            HostRule::for_url(url).map_err(|error| Error::config("endpoint", error.to_string()))?,
        ],
        None => HostRule::parse_all(program.hosts).map_err(network_error)?,
    };
    rules.extend(HostRule::in_values(settings.extra_env.values()));
    Ok(rules)
}

fn network_error(error: InvalidHost) -> Error {
    Error::config("network", error.to_string())
}

/// Returns one event for each connection that was blocked, and for each problem of the network, since the last call.
pub(crate) fn blocked_events(child: &Child) -> Vec<AgentEvent> {
    let blocked = child.take_blocked().into_iter();
    let blocked = blocked.map(|one| {
        let message = one.to_string();
        let payload = json!({ "host": one.host, "port": one.port, "message": message });
        AgentEvent::custom("blocked_connection", payload)
    });
    let problems = child.take_network_problems().into_iter();
    let problems = problems
        .map(|message| AgentEvent::custom("network_problem", json!({ "message": message })));
    blocked.chain(problems).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::known;

    fn shown(program: &AgentProgram, config: serde_json::Value) -> Vec<String> {
        let settings = ProgramSettings::from_value(&config).unwrap();
        let rules = own_hosts(program, &settings, settings.endpoint.as_deref()).unwrap();
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
                json!({ "extra_env": { "BASE_URL": "https://b.example", "X": "1" } })
            ),
            ["b.example:443"]
        );
    }

    #[test]
    fn every_known_agent_has_valid_hosts() {
        for profile in crate::cli::PROFILES {
            let rules = HostRule::parse_all(profile.program.hosts).unwrap();
            assert!(!rules.is_empty(), "{}", profile.name());
        }
        for preset in crate::acp::PRESETS {
            let rules = HostRule::parse_all(preset.program.hosts).unwrap();
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
