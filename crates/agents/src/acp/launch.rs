//! Builds the sandboxed process of an agent: program, paths, API keys and files.

use std::io::Read;
use std::path::{Path, PathBuf};

use windlass_core::limits::PROTOCOL_LINE_BYTES;
use windlass_core::{Error, ErrorCode, ExposeSecret, Result};
use windlass_sandbox::{CommandSpec, ProcessLimits, Profile, Stdin};

use super::preset::{LaunchConfig, LaunchContext, Preset};
use super::program::ProgramCommand;
use crate::cli::{Endpoint, launch};
use crate::{AgentContext, ProgramSettings, network, state_paths};

/// One process of an agent, before it is sandboxed.
pub(super) struct AcpLaunch<'a> {
    pub(super) preset: &'static Preset,
    pub(super) program: &'a ProgramCommand,
    pub(super) context: &'a AgentContext,
    pub(super) settings: &'a ProgramSettings,
    pub(super) cwd: &'a Path,
    pub(super) model: Option<&'a str>,
    pub(super) asks_permission: bool,
}

impl AcpLaunch<'_> {
    /// Returns the command with its sandbox profile, paths and keys.
    pub(super) fn spec(&self) -> Result<CommandSpec> {
        let Self {
            preset,
            context,
            settings,
            ..
        } = *self;
        let keys = launch::api_key_env(preset.keys, context, settings.api_key_env.as_deref())?;
        let launch_context = LaunchContext {
            endpoint: settings.endpoint.as_deref().map(|url| Endpoint {
                url,
                has_key: !keys.is_empty(),
            }),
            model: self.model,
            cwd: self.cwd,
            asks_permission: self.asks_permission,
            mechanism: context.sandbox().mechanism(),
        };
        let mut launch_config = LaunchConfig::default();
        (preset.launch_config)(&launch_context, &mut launch_config);
        let home = settings
            .endpoint
            .is_some()
            .then(|| context.state_dir().join(preset.name));
        if let Some(home) = &home {
            write_files(home, &launch_config)?;
        }
        let profile = launch::allow(self.sandbox_profile(home.as_deref()), settings, context);
        let profile = network::restrict(profile, preset.name, settings)?;
        let mut spec = CommandSpec::new(&self.program.path, self.cwd, profile)
            .args(&self.program.args)
            .args(&launch_config.command.args)
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
        for (name, value) in launch_config.command.env {
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

    /// Returns the agent's home, if the user moved it with the environment variable.
    fn home_override(&self) -> Option<PathBuf> {
        let variable = self.preset.home.variable;
        let host = self.context.sandbox().host();
        let moved = host.variable(variable).filter(|_| variable != "HOME");
        moved.map(PathBuf::from)
    }

    /// Lets the agent read the user's home and write its own state. The state of other agents is hidden,
    /// because it contains their keys.
    fn sandbox_profile(&self, managed_home: Option<&Path>) -> Profile {
        let home = self.context.sandbox().host().home().to_owned();
        let paths = &self.preset.home;
        let is_own = |name: &&str| paths.dirs.contains(name) || paths.files.contains(name);
        let mut profile = Profile::agent();
        for other in state_paths::all_state_paths().filter(|name| !is_own(name)) {
            profile = profile.hide(home.join(other));
        }
        if let Some(managed_home) = managed_home {
            return profile.state(managed_home);
        }
        match self.home_override() {
            Some(moved) => profile = profile.state(moved),
            None => {
                for dir in paths.dirs {
                    profile = profile.state(home.join(dir));
                }
            }
        }
        for file in paths.files.iter().map(|file| home.join(file)) {
            if file.exists() {
                profile = profile.write(file);
            }
        }
        profile
    }
}

/// Writes the files that an agent needs in a home that Windlass manages.
fn write_files(home: &Path, launch_config: &LaunchConfig) -> Result<()> {
    for (name, text) in &launch_config.files {
        let file = home.join(name);
        let dir = file.parent().unwrap_or(home);
        let written = std::fs::create_dir_all(dir).and_then(|()| {
            if has_content(&file, text) {
                Ok(())
            } else {
                std::fs::write(&file, text)
            }
        });
        written.map_err(|error| {
            let shown = file.display();
            Error::agent(
                ErrorCode::BackendError,
                format!("cannot write {shown}: {error}"),
            )
        })?;
    }
    Ok(())
}

/// Returns `true` if the file has exactly this text.
fn has_content(file: &Path, text: &str) -> bool {
    let mut content = Vec::new();
    let read = std::fs::File::open(file)
        .and_then(|open| open.take(text.len() as u64 + 1).read_to_end(&mut content));
    read.is_ok() && content == text.as_bytes()
}
