//! Builds the sandboxed command of a run: program, paths and API keys.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::limits::PROTOCOL_LINE_BYTES;
use windlass_core::{Error, ExposeSecret, Result, SecretString};
use windlass_sandbox::{CommandSpec, ProcessLimits, Profile, Stdin};

use super::profile::CliProfile;
use super::run_context::{CommandLine, Endpoint};
use crate::{AgentContext, ProgramSettings, network, state_paths};

/// Maximum lifetime of a process. The handle enforces the deadline of a turn; this limit is for processes
/// without a turn.
pub(crate) const MAX_LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// One command of an agent, before it is sandboxed.
pub(crate) struct CliLaunch<'a> {
    pub(crate) profile: &'a CliProfile,
    pub(crate) program: &'a str,
    pub(crate) context: &'a AgentContext,
    pub(crate) settings: &'a ProgramSettings,
    pub(crate) cwd: &'a Path,
    pub(crate) command: CommandLine,
    pub(crate) stdin: Stdin,
    /// Files that the agent must be able to read, at any path.
    pub(crate) files: Vec<&'a Path>,
    /// Programs that the agent will start itself, such as MCP servers.
    pub(crate) programs: Vec<&'a str>,
}

impl CliLaunch<'_> {
    /// Returns the command with its sandbox profile, paths and keys, and its arguments, which contain no
    /// secret.
    pub(crate) fn spec(mut self) -> Result<(CommandSpec, Vec<String>)> {
        let Self {
            profile,
            context,
            settings,
            ..
        } = self;
        let keys = api_key_env(profile.keys, context, settings.api_key_env.as_deref())?;
        if let Some(url) = &settings.endpoint {
            let configure = profile
                .endpoint
                .ok_or_else(|| endpoint_unsupported(profile.name))?;
            let has_key = !keys.is_empty();
            configure(&Endpoint { url, has_key }, &mut self.command);
        }
        let dirs = AgentDirs::new(profile, context, settings.endpoint.is_some());
        let sandbox_profile = allow(dirs.sandbox_profile(profile, context), settings, context);
        let mut sandbox_profile = network::restrict(sandbox_profile, profile.name, settings)?;
        sandbox_profile = self
            .files
            .iter()
            .fold(sandbox_profile, |sandbox_profile, file| {
                sandbox_profile.read(file)
            });
        sandbox_profile = self.programs.iter().fold(sandbox_profile, Profile::program);
        let mut args = self.command.args;
        args.extend(settings.extra_args.iter().cloned());
        let mut spec = CommandSpec::new(self.program, self.cwd, sandbox_profile)
            .args(&args)
            .stdin(self.stdin)
            .limits(ProcessLimits {
                deadline: MAX_LIFETIME,
                line_bytes: PROTOCOL_LINE_BYTES,
                ..ProcessLimits::default()
            });
        if let Some(dir) = dirs.moved_to {
            spec = spec.env(profile.home.variable, dir);
        }
        for (name, value) in self.command.env {
            spec = spec.env(name, value);
        }
        for (name, key) in keys {
            spec = spec.env(name, key.expose_secret());
        }
        for (name, value) in &settings.extra_env {
            spec = spec.env(name, value);
        }
        Ok((spec, args))
    }
}

/// Adds the paths that the agent's settings make readable and writable.
pub(crate) fn allow(
    profile: Profile,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> Profile {
    let host = context.sandbox().host();
    let readable = settings.readable.iter().map(|path| host.expand(path));
    let writable = settings.writable.iter().map(|path| host.expand(path));
    writable.fold(readable.fold(profile, Profile::read), Profile::state)
}

/// Returns the error for an agent that does not support another endpoint.
pub(crate) fn endpoint_unsupported(name: &str) -> Error {
    let problem = format!("{name} does not support another endpoint: remove this setting");
    Error::config("endpoint", problem)
}

/// Returns the API key under the variable that the agent reads: the configured key, or else those that the user
/// has set.
pub(crate) fn api_key_env(
    names: &'static [&'static str],
    context: &AgentContext,
    variable: Option<&str>,
) -> Result<Vec<(&'static str, SecretString)>> {
    let Some(variable) = variable else {
        let set = names
            .iter()
            .filter_map(|name| Some((*name, context.secret(name)?)));
        return Ok(set.collect());
    };
    let key = context.secret(variable).ok_or_else(|| {
        Error::config(
            "api_key_env",
            format!("the environment variable {variable} is not set: set it, or use another"),
        )
    })?;
    Ok(names.first().map(|name| (*name, key)).into_iter().collect())
}

/// Returns the directory of the agent's session files, if it is known.
pub(super) fn session_dir(
    profile: &CliProfile,
    context: &AgentContext,
    settings: &ProgramSettings,
) -> Option<PathBuf> {
    let dirs = AgentDirs::new(profile, context, settings.endpoint.is_some());
    Some(dirs.dir.join(profile.home.sessions?))
}

/// Where an agent stores its state in this run.
struct AgentDirs {
    dir: PathBuf,
    files: Vec<PathBuf>,
    /// Set if the agent would use another directory by default.
    moved_to: Option<PathBuf>,
}

impl AgentDirs {
    /// An agent with another endpoint gets a separate home, so that the user's settings stay unchanged.
    fn new(profile: &CliProfile, context: &AgentContext, isolated: bool) -> Self {
        let host = context.sandbox().host();
        let home = &profile.home;
        let from_env = host
            .variable(home.variable)
            .filter(|_| home.variable != "HOME");
        let moved_to = if isolated {
            Some(context.state_dir().join(profile.name))
        } else {
            from_env.map(PathBuf::from)
        };
        Self {
            dir: moved_to
                .clone()
                .unwrap_or_else(|| host.home().join(home.dir)),
            files: if isolated {
                Vec::new()
            } else {
                home.files
                    .iter()
                    .map(|name| host.home().join(name))
                    .filter(|file| file.exists())
                    .collect()
            },
            moved_to,
        }
    }

    /// Lets the agent read the user's home and write its own state. The state of other agents is hidden,
    /// because it contains their keys.
    fn sandbox_profile(&self, cli: &CliProfile, context: &AgentContext) -> Profile {
        let home = context.sandbox().host().home();
        let own = |name: &&str| cli.home.files.contains(name) || cli.home.dir == *name;
        let mut profile = Profile::agent();
        for other in state_paths::all_state_paths().filter(|name| !own(name)) {
            profile = profile.hide(Path::new(home).join(other));
        }
        for file in &self.files {
            profile = profile.write(file);
        }
        profile.state(&self.dir)
    }
}
