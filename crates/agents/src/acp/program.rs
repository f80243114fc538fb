//! Finds an agent's program, its version and its capabilities.

use windlass_core::{Capabilities, Error, Result};

use super::connection::AgentInfo;
use super::preset::{Preset, VersionProbe};
use crate::cli::program::{self, ProbeDirs};
use crate::cli::version_cache;
use crate::{AgentContext, ProgramSettings, Version};

/// The command that starts an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProgramCommand {
    /// The program, as it is started.
    pub(super) path: String,
    pub(super) args: Vec<String>,
}

/// An installed agent.
#[derive(Debug, Clone)]
pub struct AcpInstallation {
    /// The agent's name.
    pub name: &'static str,
    /// Its program, as it is started.
    pub program: String,
    /// Its version, if it reports one.
    pub version: Option<Version>,
    /// The transport that is used.
    pub transport: &'static str,
    pub(super) capabilities: Capabilities,
}

impl AcpInstallation {
    /// Returns what the agent supports.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }
}

/// Finds the agent's program.
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
    let configured = settings.bin.as_deref().map(|bin| vec![bin]);
    let names = configured.as_deref().unwrap_or(preset.programs);
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

/// Returns the error for a configuration without a program.
pub(super) fn missing_command() -> Error {
    Error::config(
        "command",
        "set the program to start, such as [\"my-agent\", \"--acp\"], or set preset",
    )
}

/// Returns the version of a program that prints it with `--version`. `None` means that the protocol must be
/// used.
pub(super) async fn version(
    preset: &'static Preset,
    program_command: &ProgramCommand,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> Result<Option<Version>> {
    if !settings.command.is_empty() {
        return Ok(None);
    }
    if preset.probe == VersionProbe::Protocol {
        return Ok(version_cache::get(context, &program_command.path));
    }
    let probe_dirs = probe_dirs(preset, settings, context);
    let version = program::version(
        &program_command.path,
        preset.install,
        &probe_dirs,
        settings,
        context,
    )
    .await;
    version
        .map(Some)
        .map_err(|error| program::unavailable(preset.name, error.to_string()))
}

/// Returns the agent's directories, as they will be when a session is started.
fn probe_dirs(preset: &Preset, settings: &ProgramSettings, context: &AgentContext) -> ProbeDirs {
    match settings.endpoint {
        Some(_) => ProbeDirs {
            dirs: vec![context.state_dir().join(preset.name)],
            variable: Some(preset.home.variable),
        },
        None => {
            let home = context.sandbox().host().home();
            let dirs = preset.home.dirs.iter();
            ProbeDirs {
                dirs: dirs.map(|dir| home.join(dir)).collect(),
                variable: None,
            }
        }
    }
}

/// Returns what an agent supports, after it reported its capabilities.
pub(super) fn capabilities(preset: &Preset, info: &AgentInfo) -> Capabilities {
    Capabilities {
        load_session: info.capabilities.load_session
            || info.capabilities.session_capabilities.resume.is_some(),
        ..preset.capabilities
    }
}
