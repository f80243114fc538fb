//! What a client calls a model, and who that is.

use std::path::PathBuf;

use super::Config;

/// A row of `model_list`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Alias {
    /// What a client calls it.
    pub name: String,
    /// Who answers.
    pub agent: String,
    /// The model that this agent is to use.
    pub model: Option<String>,
    /// Where it works; relative ones belong to the project.
    pub folder: Option<PathBuf>,
    /// Whether it may change what it finds there.
    pub may_write: bool,
}

impl Config {
    /// The alias of this name. One that does not say who answers is none.
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

    /// All aliases, in the order of their names.
    pub fn aliases(&self) -> Vec<Alias> {
        let names = self.settings.names("model_list").into_iter();
        names.filter_map(|name| self.alias(name)).collect()
    }
}
