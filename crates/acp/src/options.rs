//! The options of a session that a client can change: its mode and its agent.

use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue,
    SessionConfigSelectOption,
};
use windlass_core::{Error, Result};

use crate::mode::Mode;

const MODE: &str = "mode";
const AGENT: &str = "agent";

/// A change that a client requests.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OptionChange {
    /// Another mode.
    Mode(Mode),
    /// Another agent.
    Agent(String),
}

/// Returns the options with their current values. An agent that is not listed, such as `codex/gpt-5.5`, is added.
pub(crate) fn list(mode: Mode, agent: &str, agents: &[String]) -> Vec<SessionConfigOption> {
    let modes = Mode::ALL.map(|mode| {
        SessionConfigSelectOption::new(mode.id(), mode.label())
            .description(mode.description().to_owned())
    });
    let named = |name: &str| SessionConfigSelectOption::new(name.to_owned(), name.to_owned());
    let mut choices: Vec<_> = agents.iter().map(|name| named(name)).collect();
    if !agents.iter().any(|name| name == agent) {
        choices.insert(0, named(agent));
    }
    vec![
        SessionConfigOption::select(MODE, "Mode", mode.id(), modes.to_vec())
            .category(SessionConfigOptionCategory::Mode),
        SessionConfigOption::select(AGENT, "Agent", agent.to_owned(), choices)
            .description("Agent or composite that answers".to_owned())
            .category(SessionConfigOptionCategory::Model),
    ]
}

/// Parses the change of an option.
pub(crate) fn change(id: &str, value: &SessionConfigOptionValue) -> Result<OptionChange> {
    let SessionConfigOptionValue::ValueId { value } = value else {
        let problem = format!("option {id}: expected the ID of a value");
        return Err(Error::InvalidInput(problem));
    };
    match id {
        MODE => mode(&value.0).map(OptionChange::Mode),
        AGENT => Ok(OptionChange::Agent(value.0.to_string())),
        _ => Err(Error::InvalidInput(format!(
            "unknown option {id}: expected {MODE} or {AGENT}"
        ))),
    }
}

/// Parses the ID of a mode.
pub(crate) fn mode(id: &str) -> Result<Mode> {
    Mode::from_id(id).ok_or_else(|| {
        let known = Mode::ALL.map(Mode::id).join(", ");
        Error::InvalidInput(format!("unknown mode {id}: expected one of {known}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_listed_and_changed() {
        let agents = ["claude".to_owned(), "codex".to_owned()];
        let options = serde_json::to_value(list(Mode::Edit, "codex/m", &agents)).unwrap();
        assert_eq!(options[0]["currentValue"], "edit");
        assert_eq!(options[1]["category"], "model");
        let values: Vec<_> = options[1]["options"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| &it["value"])
            .collect();
        assert_eq!(values, ["codex/m", "claude", "codex"]);
        let value = SessionConfigOptionValue::value_id;
        assert_eq!(
            change("mode", &value("task")).unwrap(),
            OptionChange::Mode(Mode::Task)
        );
        assert_eq!(
            change("agent", &value("pi")).unwrap(),
            OptionChange::Agent("pi".to_owned())
        );
        for (id, value) in [
            ("mode", value("x")),
            ("speed", value("x")),
            ("mode", SessionConfigOptionValue::Boolean { value: true }),
        ] {
            change(id, &value).unwrap_err();
        }
    }
}
