//! From a wish to a process behind walls: program, places, keys, files.

use std::io::Read;
use std::path::{Path, PathBuf};

use windlass_core::limits::PROTOCOL_LINE_BYTES;
use windlass_core::{Error, ErrorCode, ExposeSecret, Result};
use windlass_sandbox::{CommandSpec, ProcessLimits, Profile as Walls, Stdin};

use super::preset::{LaunchConfig, LaunchContext, Preset};
use super::program::ProgramCommand;
use crate::cli::{Endpoint, launch};
use crate::{AgentContext, ProgramSettings, state_paths};

/// One process of an agent, before it is put behind walls.
pub(super) struct AcpLaunch<'a> {
    pub(super) preset: &'static Preset,
    pub(super) program: &'a ProgramCommand,
    pub(super) context: &'a AgentContext,
    pub(super) settings: &'a ProgramSettings,
    pub(super) cwd: &'a Path,
    pub(super) model: Option<&'a str>,
    pub(super) asks: bool,
}

impl AcpLaunch<'_> {
    /// The command with its walls, its places and its keys.
    pub(super) fn spec(&self) -> Result<CommandSpec> {
        let Self {
            preset,
            context,
            settings,
            ..
        } = *self;
        let keys = launch::api_key_env(preset.keys, context, settings.api_key_env.as_deref())?;
        let wish = LaunchContext {
            endpoint: settings.endpoint.as_deref().map(|url| Endpoint {
                url,
                has_key: !keys.is_empty(),
            }),
            model: self.model,
            cwd: self.cwd,
            asks_permission: self.asks,
            mechanism: context.sandbox().mechanism(),
        };
        let mut outfit = LaunchConfig::default();
        (preset.launch_config)(&wish, &mut outfit);
        let home = settings
            .endpoint
            .is_some()
            .then(|| context.state_dir().join(preset.name));
        if let Some(home) = &home {
            write_file(home, &outfit)?;
        }
        let mut spec = CommandSpec::new(
            &self.program.path,
            self.cwd,
            launch::allow(self.sandbox_profile(home.as_deref()), settings, context),
        )
        .args(&self.program.args)
        .args(&outfit.command.args)
        .args(&settings.extra_args)
        .stdin(Stdin::Pipe)
        .limits(ProcessLimits {
            deadline: launch::MAX_LIFETIME,
            line_bytes: PROTOCOL_LINE_BYTES,
            ..ProcessLimits::default()
        });
        if let Some(home) = home.or_else(|| self.home_override()) {
            spec = spec.env(preset.home.variable, home);
        }
        for (name, value) in outfit.command.env {
            spec = spec.env(name, value);
        }
        for (name, key) in keys {
            spec = spec.env(name, key.expose_secret());
        }
        for (name, value) in &settings.extra_env {
            spec = spec.env(name, value);
        }
        Ok(spec)
    }

    /// Where the user has put the agent's home, if it is not in its usual place.
    fn home_override(&self) -> Option<PathBuf> {
        let variable = self.preset.home.variable;
        let host = self.context.sandbox().host();
        let named = host.variable(variable).filter(|_| variable != "HOME");
        named.map(PathBuf::from)
    }

    /// An agent may read the user's home and write its own; other agents' homes hold keys that are not its.
    fn sandbox_profile(&self, moved: Option<&Path>) -> Walls {
        let home = self.context.sandbox().host().home().to_owned();
        let own = &self.preset.home;
        let is_own = |name: &&str| own.folders.contains(name) || own.files.contains(name);
        let mut walls = Walls::agent();
        for other in state_paths::all_state_paths().filter(|name| !is_own(name)) {
            walls = walls.hide(home.join(other));
        }
        if let Some(moved) = moved {
            return walls.state(moved);
        }
        match self.home_override() {
            Some(named) => walls = walls.state(named),
            None => {
                for folder in own.folders {
                    walls = walls.state(home.join(folder));
                }
            }
        }
        for file in own.files.iter().map(|file| home.join(file)) {
            if file.exists() {
                walls = walls.write(file);
            }
        }
        walls
    }
}

/// Files that an agent wants in its home, where that home is ours.
fn write_file(home: &Path, outfit: &LaunchConfig) -> Result<()> {
    for (name, text) in &outfit.files {
        let file = home.join(name);
        let folder = file.parent().unwrap_or(home);
        let written =
            std::fs::create_dir_all(folder).and_then(|()| match has_content(&file, text) {
                true => Ok(()),
                false => std::fs::write(&file, text),
            });
        written.map_err(|error| {
            let place = file.display();
            Error::agent(
                ErrorCode::BackendError,
                format!("{place} cannot be written: {error}"),
            )
        })?;
    }
    Ok(())
}

/// Whether a file has this text and no other.
fn has_content(file: &Path, text: &str) -> bool {
    let mut there = Vec::new();
    let read = std::fs::File::open(file)
        .and_then(|open| open.take(text.len() as u64 + 1).read_to_end(&mut there));
    read.is_ok() && there == text.as_bytes()
}
