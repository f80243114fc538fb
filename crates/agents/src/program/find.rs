//! Finds an agent's program and its version.

use std::path::Path;
use std::time::Duration;

use windlass_core::{Capabilities, Error, ErrorCode, Result};
use windlass_sandbox::{self as sandbox, CommandSpec, Profile};

use super::agent_program::{AgentProgram, VersionProbe};
use super::login::Login;
use super::state_dirs::StateDirs;
use super::version::Version;
use super::{failure, launch, version_cache};
use crate::{AgentContext, ProgramSettings};

/// Time limit of `--version`: the slowest programs need several seconds on a busy machine.
const VERSION_TIMEOUT: Duration = Duration::from_secs(30);

/// An installed agent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Installation {
    /// The agent's name.
    pub name: &'static str,
    /// Its program, as it is started.
    pub program: String,
    /// Its version, if it reports one.
    pub version: Option<Version>,
    /// The name of the transport that is used.
    pub transport: &'static str,
    /// What it supports over this transport.
    pub capabilities: Capabilities,
    /// Its login.
    pub login: Login,
}

/// Finds the program: the configured one, or else the first of the agent's programs that is installed.
pub(crate) fn find<'a>(
    program: &AgentProgram,
    settings: &'a ProgramSettings,
    context: &AgentContext,
) -> Result<&'a str> {
    let is_installed = |name: &&&str| version_cache::locate(context, name).is_some();
    match settings.bin.as_deref() {
        Some(bin) => Some(bin).filter(|bin| is_installed(&&&**bin)),
        None => program.programs.iter().find(is_installed).copied(),
    }
    .ok_or_else(|| match settings.bin.as_deref() {
        Some(bin) => not_installed(program, &[bin]),
        None => not_installed(program, program.programs),
    })
}

/// Returns the version that the program prints. The result is cached.
pub(crate) async fn version(
    program: &AgentProgram,
    path: &str,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> Result<Version> {
    if let Some(version) = version_cache::get(context, path) {
        return Ok(version);
    }
    let version = run_version(program, path, settings, context).await;
    let version = version.map_err(|error| unavailable(program.name, error.to_string()))?;
    version_cache::put(context, path, version);
    Ok(version)
}

async fn run_version(
    program: &AgentProgram,
    path: &str,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> sandbox::Result<Version> {
    let mut profile = launch::allow(Profile::agent(), settings, context);
    let mut moved_to = None;
    if program.probe == VersionProbe::FlagWithState {
        let state = StateDirs::new(program, settings, context);
        profile = state.dirs.iter().fold(profile, Profile::state);
        moved_to = state.moved_to;
    }
    // The working directory is not a repository, so that no file there can influence the program.
    let mut spec = CommandSpec::new(path, Path::new("/"), profile)
        .arg("--version")
        .deadline(VERSION_TIMEOUT);
    if let Some(home) = moved_to {
        spec = spec.env(program.state.variable, home);
    }
    let output = context.sandbox().run(spec).await?;
    let stdout = output.stdout.text();
    let found = Version::find_in(&stdout).filter(|_| output.exit.success());
    found.ok_or_else(|| {
        let stderr = failure::relevant_stderr(&output.stderr.text());
        let shown = match stdout.trim() {
            "" => stderr.lines().last().unwrap_or_default(),
            text => text,
        };
        let shown: String = shown.chars().take(200).collect();
        let (code, install) = (output.exit.code, program.install_hint());
        sandbox::Error::Start {
            program: path.to_owned(),
            problem: format!(
                "`{path} --version` exited with code {code} and printed {shown:?}: {install}"
            ),
        }
    })
}

/// Returns the error for an agent without an installed program.
pub(crate) fn not_installed(program: &AgentProgram, names: &[&str]) -> Error {
    let missing = match names {
        [only] if only.contains('/') => format!("{only} does not exist"),
        [only] => format!("{only} is not in PATH"),
        several => format!("none of {} is in PATH", several.join(", ")),
    };
    unavailable(
        program.name,
        format!("{missing}: {}", program.install_hint()),
    )
}

/// Returns the error for an agent that cannot be used.
pub(crate) fn unavailable(name: &str, problem: String) -> Error {
    Error::Unavailable {
        backend: name.to_owned(),
        problem,
    }
}

/// Converts the error of a process that could not be started.
pub(crate) fn not_started(program: &AgentProgram, error: &sandbox::Error) -> Error {
    match error {
        sandbox::Error::ProgramNotFound { .. } => {
            unavailable(program.name, format!("{error}: {}", program.install_hint()))
        }
        sandbox::Error::ProgramUnusable { .. } => unavailable(program.name, error.to_string()),
        sandbox::Error::WorkingDirectory { .. } => Error::InvalidInput(error.to_string()),
        _ => Error::Agent {
            code: match error.code() {
                ErrorCode::Unknown => ErrorCode::BackendError,
                code => code,
            },
            message: error.to_string(),
            retry_after: match error.retry() {
                windlass_core::Retry::After(wait) => Some(wait),
                _ => None,
            },
        },
    }
}
