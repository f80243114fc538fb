//! Finds an agent's program and its version.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::{Capabilities, Error, ErrorCode, Result};
use windlass_sandbox::{self as sandbox, CommandSpec, Profile};

use super::profile::{CliProfile, Transport};
use super::{failure, launch, version_cache};
use crate::{AgentContext, ProgramSettings, Version};

/// Time limit of `--version`: the slowest programs need several seconds on a busy machine.
const VERSION_TIMEOUT: Duration = Duration::from_secs(30);

/// An installed agent.
#[derive(Debug, Clone)]
pub struct CliInstallation {
    /// The agent's name.
    pub name: &'static str,
    /// Its program, as it is started.
    pub program: String,
    /// Its version.
    pub version: Version,
    /// The transport that is used.
    pub transport: &'static Transport,
}

impl CliInstallation {
    /// Returns what the agent supports.
    pub fn capabilities(&self) -> Capabilities {
        self.transport.capabilities
    }
}

/// Finds an agent's program and runs it for its version.
pub(crate) async fn find(
    profile: &'static CliProfile,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> Result<CliInstallation> {
    let configured = settings.bin.as_ref();
    for program in profile.programs {
        let name = configured.map_or(*program, String::as_str);
        match version(
            name,
            profile.install,
            &ProbeDirs::default(),
            settings,
            context,
        )
        .await
        {
            Ok(version) => {
                return Ok(CliInstallation {
                    name: profile.name,
                    program: name.to_owned(),
                    version,
                    transport: transport(profile, settings, version)?,
                });
            }
            Err(sandbox::Error::ProgramNotFound { .. }) if configured.is_none() => {}
            Err(error) => return Err(unavailable(profile.name, error.to_string())),
        }
    }
    Err(not_installed(
        profile.name,
        profile.programs,
        profile.install,
    ))
}

/// Directories that a program may write to while it prints its version: some unpack themselves first.
#[derive(Debug, Default)]
pub(crate) struct ProbeDirs {
    pub(crate) dirs: Vec<PathBuf>,
    /// The environment variable that moves the program's home to the first directory.
    pub(crate) variable: Option<&'static str>,
}

/// Returns the version of a program. The result is cached.
pub(crate) async fn version(
    program: &str,
    install: &str,
    probe_dirs: &ProbeDirs,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> sandbox::Result<Version> {
    if let Some(version) = version_cache::get(context, program) {
        return Ok(version);
    }
    let version = run_version(program, install, probe_dirs, settings, context).await?;
    version_cache::put(context, program, version);
    Ok(version)
}

async fn run_version(
    program: &str,
    install: &str,
    probe_dirs: &ProbeDirs,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> sandbox::Result<Version> {
    let profile = launch::allow(Profile::agent().network(false), settings, context);
    let profile = probe_dirs.dirs.iter().fold(profile, Profile::state);
    // The working directory is not a repository, so that no file there can influence the program.
    let mut spec = CommandSpec::new(program, Path::new("/"), profile)
        .arg("--version")
        .deadline(VERSION_TIMEOUT);
    if let (Some(variable), Some(home)) = (probe_dirs.variable, probe_dirs.dirs.first()) {
        spec = spec.env(variable, home);
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
        let code = output.exit.code;
        sandbox::Error::Start {
            program: program.to_owned(),
            problem: format!(
                "`{program} --version` exited with code {code} and printed {shown:?}: {install}"
            ),
        }
    })
}

fn transport(
    profile: &'static CliProfile,
    settings: &ProgramSettings,
    version: Version,
) -> Result<&'static Transport> {
    let Some(wanted) = &settings.transport else {
        let best = profile
            .transports
            .iter()
            .find(|transport| transport.since <= version);
        return best.ok_or_else(|| {
            let needed = profile
                .transports
                .iter()
                .map(|transport| transport.since)
                .min();
            let needed = needed.unwrap_or_default();
            let problem = format!(
                "version {version} is too old, {needed} is needed: {}",
                profile.install
            );
            unavailable(profile.name, problem)
        });
    };
    let named = profile
        .transports
        .iter()
        .find(|transport| transport.name == wanted);
    named.ok_or_else(|| {
        let names: Vec<&str> = profile
            .transports
            .iter()
            .map(|transport| transport.name)
            .collect();
        Error::config("transport", format!("expected one of {}", names.join(", ")))
    })
}

/// Returns the error for an agent none of whose programs is installed.
pub(crate) fn not_installed(name: &str, programs: &[&str], install: &str) -> Error {
    let missing = match programs {
        [only] => format!("{only} is not in PATH"),
        several => format!("none of {} is in PATH", several.join(", ")),
    };
    unavailable(name, format!("{missing}: {install}"))
}

pub(crate) fn unavailable(name: &str, problem: String) -> Error {
    Error::Unavailable {
        backend: name.to_owned(),
        problem,
    }
}

/// Converts the error of a process that could not be started.
pub(crate) fn not_started(name: &str, install: &str, error: &sandbox::Error) -> Error {
    match error {
        sandbox::Error::ProgramNotFound { .. } => unavailable(name, format!("{error}: {install}")),
        sandbox::Error::ProgramUnusable { .. } => unavailable(name, error.to_string()),
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
