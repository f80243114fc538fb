//! From a call to a command behind walls: program, places, keys.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::limits::PROTOCOL_LINE_BYTES;
use windlass_core::{Error, ExposeSecret, Result, SecretString};
use windlass_sandbox::{CommandSpec, ProcessLimits, Profile as Walls, Stdin};

use super::profile::CliProfile;
use super::run_context::{CommandLine, Endpoint};
use crate::{AgentContext, ProgramSettings, state_paths};

/// How long a process may live. The deadline of a turn is the handle's; this one is for what nobody waits for.
pub(crate) const MAX_LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// One command of an agent, before it is put behind walls.
pub(crate) struct CliLaunch<'a> {
    pub(crate) profile: &'a CliProfile,
    pub(crate) program: &'a str,
    pub(crate) context: &'a AgentContext,
    pub(crate) settings: &'a ProgramSettings,
    pub(crate) cwd: &'a Path,
    pub(crate) command: CommandLine,
    pub(crate) stdin: Stdin,
    /// Files that the agent must be able to read, wherever they are.
    pub(crate) files: Vec<&'a Path>,
    /// Programs that the agent will start itself, such as MCP servers.
    pub(crate) programs: Vec<&'a str>,
}

impl CliLaunch<'_> {
    /// The command with its walls, its places and its keys; beside it the arguments, which hold no secret.
    pub(crate) fn spec(mut self) -> Result<(CommandSpec, Vec<String>)> {
        let Self {
            profile,
            context,
            settings,
            ..
        } = self;
        let keys = api_key_env(profile.keys, context, settings.api_key_env.as_deref())?;
        if let Some(url) = &settings.endpoint {
            let point = profile
                .endpoint
                .ok_or_else(|| endpoint_unsupported(profile.name))?;
            let has_key = !keys.is_empty();
            point(&Endpoint { url, has_key }, &mut self.command);
        }
        let places = AgentDirs::new(profile, context, settings.endpoint.is_some());
        let mut walls = allow(places.sandbox_profile(profile, context), settings, context);
        walls = self
            .files
            .iter()
            .fold(walls, |walls, file| walls.read(file));
        walls = self.programs.iter().fold(walls, Walls::program);
        let mut args = self.command.args;
        args.extend(settings.extra_args.iter().cloned());
        let mut spec = CommandSpec::new(self.program, self.cwd, walls)
            .args(&args)
            .stdin(self.stdin)
            .limits(ProcessLimits {
                deadline: MAX_LIFETIME,
                line_bytes: PROTOCOL_LINE_BYTES,
                ..ProcessLimits::default()
            });
        if let Some(folder) = places.moved_to {
            spec = spec.env(profile.home.variable, folder);
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
pub(crate) fn allow(walls: Walls, settings: &ProgramSettings, context: &AgentContext) -> Walls {
    let host = context.sandbox().host();
    let readable = settings.readable.iter().map(|path| host.expand(path));
    let writable = settings.writable.iter().map(|path| host.expand(path));
    writable.fold(readable.fold(walls, Walls::read), Walls::state)
}

/// Not every agent can be pointed elsewhere.
pub(crate) fn endpoint_unsupported(name: &str) -> Error {
    let problem = format!("{name} cannot be pointed at another endpoint: leave it out");
    Error::config("endpoint", problem)
}

/// The key under the name by which the agent looks for it: the one that is configured, else those the user has set.
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
            format!("the variable {variable} is not set: set it, or name another"),
        )
    })?;
    Ok(names.first().map(|name| (*name, key)).into_iter().collect())
}

/// Where the agent keeps its sessions, one file each, if it is known to.
pub(super) fn session_dir(
    profile: &CliProfile,
    context: &AgentContext,
    settings: &ProgramSettings,
) -> Option<PathBuf> {
    let places = AgentDirs::new(profile, context, settings.endpoint.is_some());
    Some(places.folder.join(profile.home.sessions?))
}

/// Where an agent keeps what is its own in this run.
struct AgentDirs {
    folder: PathBuf,
    files: Vec<PathBuf>,
    /// Set if the agent would otherwise look elsewhere.
    moved_to: Option<PathBuf>,
}

impl AgentDirs {
    /// An agent that talks to another endpoint has a home of its own, and the user's settings stay as they are.
    fn new(profile: &CliProfile, context: &AgentContext, isolated: bool) -> Self {
        let host = context.sandbox().host();
        let home = &profile.home;
        let named = host
            .variable(home.variable)
            .filter(|_| home.variable != "HOME");
        let moved_to = match isolated {
            true => Some(context.state_dir().join(profile.name)),
            false => named.map(PathBuf::from),
        };
        let beside = |name: &&str| host.home().join(name);
        Self {
            folder: moved_to
                .clone()
                .unwrap_or_else(|| host.home().join(home.folder)),
            files: match isolated {
                true => Vec::new(),
                false => home
                    .files
                    .iter()
                    .map(beside)
                    .filter(|file| file.exists())
                    .collect(),
            },
            moved_to,
        }
    }

    /// An agent may read the user's home and write its own; other agents' homes hold keys that are not its.
    fn sandbox_profile(&self, profile: &CliProfile, context: &AgentContext) -> Walls {
        let home = context.sandbox().host().home();
        let own = |name: &&str| profile.home.files.contains(name) || profile.home.folder == *name;
        let mut walls = Walls::agent();
        for other in state_paths::all_state_paths().filter(|name| !own(name)) {
            walls = walls.hide(Path::new(home).join(other));
        }
        for file in &self.files {
            walls = walls.write(file);
        }
        walls.state(&self.folder)
    }
}
