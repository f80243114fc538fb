//! The installed program, and the transport to use.

use windlass_core::{Capabilities, Error, Result};

use super::profile::{CliProfile, Transport};
use crate::program::{Installation, Login, Version, find};
use crate::{AgentContext, ProgramSettings};

/// An installed agent with its transport.
#[derive(Debug, Clone)]
pub(crate) struct CliInstallation {
    /// The program, as it is started.
    pub(crate) path: String,
    pub(crate) version: Version,
    pub(crate) transport: &'static Transport,
}

impl CliInstallation {
    /// Finds an agent's program and runs it for its version.
    pub(crate) async fn find(
        profile: &'static CliProfile,
        settings: &ProgramSettings,
        context: &AgentContext,
    ) -> Result<Self> {
        let path = find::find(profile.program, settings, context)?;
        let version = find::version(profile.program, path, settings, context).await?;
        Ok(Self {
            path: path.to_owned(),
            version,
            transport: transport(profile, settings, version)?,
        })
    }

    /// Returns what the agent supports.
    pub(super) fn capabilities(&self) -> Capabilities {
        self.transport.capabilities
    }

    /// Converts it for users.
    pub(super) fn into_installation(self, profile: &CliProfile, login: Login) -> Installation {
        Installation {
            name: profile.name(),
            program: self.path,
            version: Some(self.version),
            transport: self.transport.name,
            capabilities: self.transport.capabilities,
            login,
        }
    }
}

/// Returns the configured transport, or the best one that this version supports.
fn transport(
    profile: &'static CliProfile,
    settings: &ProgramSettings,
    version: Version,
) -> Result<&'static Transport> {
    let mut transports = profile.usable_transports(settings);
    let Some(wanted) = &settings.transport else {
        let best = transports.find(|transport| transport.since <= version);
        return best.ok_or_else(|| {
            let versions = profile.transports.iter().map(|transport| transport.since);
            let needed = versions.min().unwrap_or_default();
            let problem = format!(
                "version {version} is too old, {needed} is needed: {}",
                profile.program.install_hint()
            );
            find::unavailable(profile.name(), problem)
        });
    };
    let named = transports.find(|transport| transport.name == wanted);
    named.ok_or_else(|| {
        let names = profile.usable_transports(settings);
        let names: Vec<&str> = names.map(|transport| transport.name).collect();
        let exists = profile.transports.iter().any(|one| one.name == wanted);
        let why = if exists {
            ", because `profile` is set"
        } else {
            ""
        };
        let names = names.join(", ");
        Error::config("transport", format!("expected one of {names}{why}"))
    })
}
