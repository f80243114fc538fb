//! Which program an agent is, and what it says of itself.

use windlass_core::{Capabilities, Error, Result};

use super::connection::About;
use super::preset::{Preset, Probe};
use crate::cli::program::{self, Nest};
use crate::cli::versions;
use crate::{AgentContext, Settings, Version};

/// The command that starts an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    /// The program, as it is called.
    pub(super) path: String,
    pub(super) args: Vec<String>,
}

/// An agent that is there.
#[derive(Debug, Clone)]
pub struct Found {
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

impl Found {
    /// What it can do.
    pub fn capabilities(&self) -> Capabilities {
        self.can
    }
}

/// Looks for the agent's program.
pub(super) fn find(
    preset: &'static Preset,
    settings: &Settings,
    context: &AgentContext,
) -> Result<Program> {
    if let Some((path, args)) = settings.command.split_first() {
        return match versions::locate(context, path) {
            Some(_) => Ok(Program {
                path: path.clone(),
                args: args.to_vec(),
            }),
            None => Err(program::missing(preset.name, &[path], preset.install)),
        };
    }
    let chosen = settings.bin.as_deref().map(|bin| vec![bin]);
    let names = chosen.as_deref().unwrap_or(preset.programs);
    if names.is_empty() {
        return Err(no_command());
    }
    let found = names
        .iter()
        .find(|name| versions::locate(context, name).is_some());
    let path = found.ok_or_else(|| program::missing(preset.name, names, preset.install))?;
    Ok(Program {
        path: (*path).to_owned(),
        args: preset.args.iter().map(|arg| (*arg).to_owned()).collect(),
    })
}

/// Nobody says what to start.
pub(super) fn no_command() -> Error {
    Error::config(
        "command",
        "say which program to start, such as [\"my-agent\", \"--acp\"], or name a preset",
    )
}

/// The version of a program that says it without being spoken to. `None`: ask it in the protocol.
pub(super) async fn version(
    preset: &'static Preset,
    found: &Program,
    settings: &Settings,
    context: &AgentContext,
) -> Result<Option<Version>> {
    if !settings.command.is_empty() {
        return Ok(None);
    }
    if preset.probe == Probe::Asked {
        return Ok(versions::recall(context, &found.path));
    }
    let nest = nest(preset, settings, context);
    let asked = program::version(&found.path, preset.install, &nest, settings, context).await;
    asked
        .map(Some)
        .map_err(|error| program::unavailable(preset.name, error.to_string()))
}

/// What is the agent's own, as it will be when it is spoken to.
fn nest(preset: &Preset, settings: &Settings, context: &AgentContext) -> Nest {
    match settings.endpoint {
        Some(_) => Nest {
            folders: vec![context.state().join(preset.name)],
            variable: Some(preset.home.variable),
        },
        None => {
            let home = context.sandbox().host().home();
            let folders = preset.home.folders.iter();
            Nest {
                folders: folders.map(|folder| home.join(folder)).collect(),
                variable: None,
            }
        }
    }
}

/// What an agent can do, now that it has said so.
pub(super) fn capabilities(preset: &Preset, about: &About) -> Capabilities {
    Capabilities {
        load_session: about.can.load_session || about.can.session_capabilities.resume.is_some(),
        ..preset.capabilities
    }
}
