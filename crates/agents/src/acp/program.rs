//! Which program an agent is, and what it says of itself.

use windlass_core::{Capabilities, Error, Result};

use super::connection::AgentInfo;
use super::preset::{Preset, VersionProbe};
use crate::cli::program::{self, ProbeDirs};
use crate::cli::version_cache;
use crate::{AgentContext, ProgramSettings, Version};

/// The command that starts an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProgramCommand {
    /// The program, as it is called.
    pub(super) path: String,
    pub(super) args: Vec<String>,
}

/// An agent that is there.
#[derive(Debug, Clone)]
pub struct AcpInstallation {
    /// The agent's name.
    pub name: &'static str,
    /// Its program, as it is called.
    pub program: String,
    /// Its version, where it says one.
    pub version: Option<Version>,
    /// How it is talked to.
    pub transport: &'static str,
    pub(super) can: Capabilities,
}

impl AcpInstallation {
    /// What it can do.
    pub fn capabilities(&self) -> Capabilities {
        self.can
    }
}

/// Looks for the agent's program.
pub(super) fn find(
    preset: &'static Preset,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> Result<ProgramCommand> {
    if let Some((path, args)) = settings.command.split_first() {
        return match version_cache::locate(context, path) {
            Some(_) => Ok(ProgramCommand {
                path: path.clone(),
                args: args.to_vec(),
            }),
            None => Err(program::not_installed(preset.name, &[path], preset.install)),
        };
    }
    let chosen = settings.bin.as_deref().map(|bin| vec![bin]);
    let names = chosen.as_deref().unwrap_or(preset.programs);
    if names.is_empty() {
        return Err(missing_command());
    }
    let found = names
        .iter()
        .find(|name| version_cache::locate(context, name).is_some());
    let path = found.ok_or_else(|| program::not_installed(preset.name, names, preset.install))?;
    Ok(ProgramCommand {
        path: (*path).to_owned(),
        args: preset.args.iter().map(|arg| (*arg).to_owned()).collect(),
    })
}

/// Nobody says what to start.
pub(super) fn missing_command() -> Error {
    Error::config(
        "command",
        "say which program to start, such as [\"my-agent\", \"--acp\"], or name a preset",
    )
}

/// The version of a program that says it without being spoken to. `None`: ask it in the protocol.
pub(super) async fn version(
    preset: &'static Preset,
    found: &ProgramCommand,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> Result<Option<Version>> {
    if !settings.command.is_empty() {
        return Ok(None);
    }
    if preset.probe == VersionProbe::Protocol {
        return Ok(version_cache::get(context, &found.path));
    }
    let nest = probe_dirs(preset, settings, context);
    let asked = program::version(&found.path, preset.install, &nest, settings, context).await;
    asked
        .map(Some)
        .map_err(|error| program::unavailable(preset.name, error.to_string()))
}

/// What is the agent's own, as it will be when it is spoken to.
fn probe_dirs(preset: &Preset, settings: &ProgramSettings, context: &AgentContext) -> ProbeDirs {
    match settings.endpoint {
        Some(_) => ProbeDirs {
            folders: vec![context.state_dir().join(preset.name)],
            variable: Some(preset.home.variable),
        },
        None => {
            let home = context.sandbox().host().home();
            let folders = preset.home.folders.iter();
            ProbeDirs {
                folders: folders.map(|folder| home.join(folder)).collect(),
                variable: None,
            }
        }
    }
}

/// What an agent can do, now that it has said so.
pub(super) fn capabilities(preset: &Preset, about: &AgentInfo) -> Capabilities {
    Capabilities {
        load_session: about.can.load_session || about.can.session_capabilities.resume.is_some(),
        ..preset.capabilities
    }
}
