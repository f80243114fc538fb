//! An agent as a command uses it: configured under a name, or a backend without configuration.

use std::time::Duration;

use serde_json::Value;
use windlass_core::{DirAccess, Permissions, SessionOptions};

use super::{AgentKeys, CompositeSettings};

/// The prefix of a composite's name wherever an agent's name is expected.
pub(super) const PROFILE: &str = "composite/profile/";
/// The backend of every composite.
const COMPOSITE: &str = "composite";

/// The configuration of one agent.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AgentConfig {
    /// The agent's name.
    pub name: String,
    /// The backend; the agent's own name if the configuration does not set one.
    pub backend: String,
    /// The model, if one is configured or was requested with the name.
    pub model: Option<String>,
    /// The settings of an agent that is not a composite.
    pub settings: AgentKeys,
    /// The settings of a composite.
    pub composite: Option<CompositeSettings>,
}

impl AgentKeys {
    /// Returns `true` if the agent may reach every network host.
    pub fn has_open_network(&self) -> bool {
        self.network.as_ref().is_some_and(|value| value == "open")
    }
}

impl AgentConfig {
    /// Creates an agent that is not a composite.
    pub(crate) fn new(name: &str, mut settings: AgentKeys) -> Self {
        Self {
            name: name.to_owned(),
            backend: settings.backend.take().unwrap_or_else(|| name.to_owned()),
            model: settings.model.take(),
            settings,
            composite: None,
        }
    }

    /// Creates the composite of this profile.
    pub(super) fn from_composite(profile: &str, composite: CompositeSettings) -> Self {
        Self {
            name: format!("{PROFILE}{profile}"),
            backend: COMPOSITE.to_owned(),
            model: None,
            settings: AgentKeys::default(),
            composite: Some(composite),
        }
    }

    /// Returns what the agent may change in a session with these options. The nodes of a composite have their own
    /// permissions.
    pub(crate) fn access(&self, options: &SessionOptions) -> DirAccess {
        if self.composite.is_some() {
            return options.access;
        }
        let configured = self.settings.permissions.clone();
        let configured: Option<Permissions> =
            configured.and_then(|value| serde_json::from_value(value).ok());
        options.effective_access(configured.as_ref())
    }

    /// Returns the name of a composite in the configuration.
    pub(crate) fn profile(&self) -> &str {
        self.name.strip_prefix(PROFILE).unwrap_or(&self.name)
    }

    /// Returns the settings as the table that the backend's factory receives. Values may be secret.
    pub fn table(&self) -> Value {
        let mut settings = self.settings.clone();
        settings.model.clone_from(&self.model);
        settings.to_table()
    }

    /// Returns the timeout of one turn, if set.
    pub fn timeout(&self) -> Option<Duration> {
        match &self.composite {
            Some(composite) => composite.timeout_secs,
            None => self.settings.timeout_secs,
        }
    }
}
