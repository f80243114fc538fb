//! Which program an agent is, and which version of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::{Capabilities, Error, ErrorCode, Result};
use windlass_sandbox::{self as sandbox, CommandSpec, Profile as Walls};

use super::profile::{CliProfile, Transport};
use super::{failure, launch, version_cache};
use crate::{AgentContext, ProgramSettings, Version};

/// How long a program may take to say its version: the slowest need several seconds on a busy machine.
const VERSION_TIMEOUT: Duration = Duration::from_secs(30);

/// An agent that is there.
#[derive(Debug, Clone)]
pub struct CliInstallation {
    /// The agent's name.
    pub name: &'static str,
    /// Its program, as it is called.
    pub program: String,
    /// Its version.
    pub version: Version,
    /// How it is talked to.
    pub transport: &'static Transport,
}

impl CliInstallation {
    /// What it can do.
    pub fn capabilities(&self) -> Capabilities {
        self.transport.capabilities
    }
}

/// Looks for an agent, and asks it for its version.
pub(crate) async fn find(
    profile: &'static CliProfile,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> Result<CliInstallation> {
    let chosen = settings.bin.as_ref();
    for program in profile.programs {
        let name = chosen.map_or(*program, String::as_str);
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
            Err(sandbox::Error::ProgramNotFound { .. }) if chosen.is_none() => {}
            Err(error) => return Err(unavailable(profile.name, error.to_string())),
        }
    }
    Err(not_installed(
        profile.name,
        profile.programs,
        profile.install,
    ))
}

/// Where a program may write while it says its version: some unpack themselves before they say anything.
#[derive(Debug, Default)]
pub(crate) struct ProbeDirs {
    pub(crate) folders: Vec<PathBuf>,
    /// The variable that moves its home to the first of them.
    pub(crate) variable: Option<&'static str>,
}

/// Which version of a program is there, asked at most once.
pub(crate) async fn version(
    program: &str,
    install: &str,
    nest: &ProbeDirs,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> sandbox::Result<Version> {
    if let Some(version) = version_cache::get(context, program) {
        return Ok(version);
    }
    let version = run_version(program, install, nest, settings, context).await?;
    version_cache::put(context, program, version);
    Ok(version)
}

async fn run_version(
    program: &str,
    install: &str,
    nest: &ProbeDirs,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> sandbox::Result<Version> {
    let walls = launch::allow(Walls::agent().network(false), settings, context);
    let walls = nest.folders.iter().fold(walls, Walls::state);
    // Not in a repository: nothing there shall have a say in what a program answers.
    let mut spec = CommandSpec::new(program, Path::new("/"), walls)
        .arg("--version")
        .deadline(VERSION_TIMEOUT);
    if let (Some(variable), Some(home)) = (nest.variable, nest.folders.first()) {
        spec = spec.env(variable, home);
    }
    let output = context.sandbox().run(spec).await?;
    let said = output.stdout.text();
    let found = Version::find_in(&said).filter(|_| output.exit.success());
    found.ok_or_else(|| {
        let complaint = failure::relevant_stderr(&output.stderr.text());
        let words = match said.trim() {
            "" => complaint.lines().last().unwrap_or_default(),
            said => said,
        };
        let words: String = words.chars().take(200).collect();
        let code = output.exit.code;
        sandbox::Error::Start {
            program: program.to_owned(),
            problem: format!(
                "`{program} --version` ended with {code} and said {words:?}: {install}"
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
        let best = profile.transports.iter().find(|way| way.since <= version);
        return best.ok_or_else(|| {
            let needed = profile.transports.iter().map(|way| way.since).min();
            let needed = needed.unwrap_or_default();
            let problem = format!(
                "version {version} is too old, {needed} is needed: {}",
                profile.install
            );
            unavailable(profile.name, problem)
        });
    };
    let named = profile.transports.iter().find(|way| way.name == wanted);
    named.ok_or_else(|| {
        let names: Vec<&str> = profile.transports.iter().map(|way| way.name).collect();
        Error::config("transport", format!("expected one of {}", names.join(", ")))
    })
}

/// None of these programs is there.
pub(crate) fn not_installed(name: &str, programs: &[&str], install: &str) -> Error {
    let missing = match programs {
        [only] => format!("{only} is not on the PATH"),
        several => format!("none of {} is on the PATH", several.join(", ")),
    };
    unavailable(name, format!("{missing}: {install}"))
}

pub(crate) fn unavailable(name: &str, problem: String) -> Error {
    Error::Unavailable {
        backend: name.to_owned(),
        problem,
    }
}

/// What a process that could not be started means to whoever asked for a session or a turn.
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
