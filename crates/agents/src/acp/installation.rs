//! Finds an agent's program, its version and its capabilities.

use windlass_core::{Capabilities, Error, Result};

use super::connection::AgentInfo;
use super::preset::Preset;
use crate::program::{Version, VersionProbe, find, version_cache};
use crate::{AgentContext, ProgramSettings};

/// The command that starts an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProgramCommand {
    /// The program, as it is started.
    pub(super) path: String,
    pub(super) args: Vec<String>,
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
            None => Err(find::not_installed(preset.program, &[path])),
        };
    }
    if preset.program.programs.is_empty() && settings.bin.is_none() {
        return Err(missing_command());
    }
    let path = find::find(preset.program, settings, context)?;
    Ok(ProgramCommand {
        path: path.to_owned(),
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
    program: &ProgramCommand,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> Result<Option<Version>> {
    if !settings.command.is_empty() {
        return Ok(None);
    }
    if preset.program.probe == VersionProbe::Protocol {
        return Ok(version_cache::get(context, &program.path));
    }
    let version = find::version(preset.program, &program.path, settings, context).await?;
    Ok(Some(version))
}

/// Returns what an agent supports, after it reported its capabilities.
pub(super) fn capabilities(preset: &Preset, info: &AgentInfo) -> Capabilities {
    Capabilities {
        load_session: info.capabilities.load_session
            || info.capabilities.session_capabilities.resume.is_some(),
        ..preset.capabilities
    }
}
