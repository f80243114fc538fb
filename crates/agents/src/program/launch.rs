//! Builds the sandboxed command of an agent: program, arguments, paths, API keys and files.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::limits::PROTOCOL_LINE_BYTES;
use windlass_core::{DirAccess, Error, ErrorCode, ExposeSecret, McpServer, Result};
use windlass_sandbox::{CommandSpec, ProcessLimits, Profile, Stdin};

use super::agent_program::AgentProgram;
use super::command_line::CommandLine;
use super::model_access::ModelAccess;
use super::state_dirs::{StateDirs, managed_home};
use crate::bridge::BridgeLease;
use crate::{AgentContext, ProgramSettings, network};

/// Maximum lifetime of a process. The handle enforces the deadline of a turn; this limit is for processes
/// without a turn.
const MAX_LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// One command of an agent, before it is sandboxed.
pub(crate) struct Launch<'a> {
    pub(crate) program: &'static AgentProgram,
    /// The program, as it is started.
    pub(crate) path: &'a str,
    pub(crate) context: &'a AgentContext,
    pub(crate) settings: &'a ProgramSettings,
    /// The session's model, if it is not that of the settings.
    pub(crate) model: Option<&'a str>,
    pub(crate) cwd: &'a Path,
    /// What the agent may change in the working directory.
    pub(crate) access: DirAccess,
    /// Paths outside the working directory that the agent must be able to read.
    pub(crate) readable: &'a [PathBuf],
    pub(crate) command: CommandLine,
    pub(crate) stdin: Stdin,
    /// Files that the agent must be able to read, at any path.
    pub(crate) files: Vec<&'a Path>,
    /// MCP servers that the agent will start itself.
    pub(crate) servers: &'a [McpServer],
    /// Files to write into the agent's home, if Windlass manages that home.
    pub(crate) home_files: Vec<(&'static str, String)>,
    /// How the process reaches its model.
    pub(crate) model_access: ModelAccess,
}

/// A sandboxed command that can be started.
pub(crate) struct LaunchSpec {
    pub(crate) spec: CommandSpec,
    /// Its arguments, which contain no secret.
    pub(crate) args: Vec<String>,
    /// Keeps its address of the bridge open. It must live as long as the process.
    pub(crate) lease: Option<BridgeLease>,
}

impl Launch<'_> {
    /// Returns the command with its sandbox profile, paths and keys.
    pub(crate) fn spec(mut self) -> Result<LaunchSpec> {
        let Self {
            program,
            context,
            settings,
            ..
        } = self;
        let model_access = self.model_access;
        let url = model_access.endpoint().map(|endpoint| endpoint.url);
        let login_hosts = model_access.login_hosts.as_deref().unwrap_or_default();
        if let (Some(endpoint), Some(configure)) = (model_access.endpoint(), program.endpoint) {
            configure(&endpoint, &mut self.command);
        }
        if let Some(home) = managed_home(program, settings, context) {
            write_home_files(&home, &self.home_files)?;
        }
        let dirs = StateDirs::new(program, settings, context);
        let profile = allow(dirs.sandbox_profile(program, context), settings, context);
        let profile = network::restrict(profile, program, settings, (url, login_hosts))?;
        let files = self.files.iter().copied();
        let readable = files.chain(self.readable.iter().map(PathBuf::as_path));
        let profile = readable.fold(profile, Profile::read);
        let profile = windlass_mcp::allow(profile, self.servers);
        // The arguments of a command that the user configured may name a script.
        let arguments = settings.command.iter().skip(1);
        let profile = arguments
            .fold(profile, Profile::argument)
            .access(self.access);
        let mut args = self.command.args;
        args.extend(settings.extra_args.iter().cloned());
        let mut spec = CommandSpec::new(self.path, self.cwd, profile)
            .args(&args)
            .stdin(self.stdin)
            .limits(ProcessLimits {
                deadline: MAX_LIFETIME,
                line_bytes: PROTOCOL_LINE_BYTES,
                ..ProcessLimits::default()
            });
        if let Some(dir) = dirs.moved_to {
            spec = spec.env(program.state.variable, dir);
        }
        for (name, value) in program.env {
            spec = spec.env(name, value);
        }
        for (name, value) in self.command.env {
            spec = spec.env(name, value);
        }
        for (name, key) in &model_access.keys {
            spec = spec.env(name, key.expose_secret());
        }
        for (name, value) in model_access.variables(settings, self.model)? {
            spec = spec.env(name, value.expose_secret());
        }
        Ok(LaunchSpec {
            spec,
            args,
            lease: model_access.lease,
        })
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

/// Writes the files that an agent needs in a home that Windlass manages.
fn write_home_files(home: &Path, files: &[(&'static str, String)]) -> Result<()> {
    for (name, text) in files {
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
