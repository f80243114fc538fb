//! Aliases: model names of clients and the agents behind them.

use std::path::PathBuf;

use super::Config;

/// A row of `model_list`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Alias {
    /// The model name that a client requests.
    pub name: String,
    /// The agent that answers.
    pub agent: String,
    /// The model that the agent uses.
    pub model: Option<String>,
    /// The agent's working directory; a relative path is relative to the project.
    pub folder: Option<PathBuf>,
    /// `true` if the agent may change files there.
    pub may_write: bool,
}

impl Config {
    /// Returns the alias of this name. An alias without an agent is ignored.
    pub fn alias(&self, name: &str) -> Option<Alias> {
        let mut alias = Alias {
            name: name.to_owned(),
            agent: String::new(),
            model: None,
            folder: None,
            may_write: false,
        };
        for (below, setting) in self.settings.in_table("model_list", name) {
            let text = setting.value.as_str().unwrap_or_default();
            match below {
                [key] if key == "agent" => text.clone_into(&mut alias.agent),
                [key] if key == "model" => alias.model = Some(text.to_owned()),
                [key] if key == "folder" => alias.folder = Some(self.root.join(text)),
                [key] if key == "permissions" => alias.may_write = text == "allow",
                _ => {}
            }
        }
        (!alias.agent.is_empty()).then_some(alias)
    }

    /// Returns all aliases, sorted by name.
    pub fn aliases(&self) -> Vec<Alias> {
        let names = self.settings.names("model_list").into_iter();
        names.filter_map(|name| self.alias(name)).collect()
    }
}
