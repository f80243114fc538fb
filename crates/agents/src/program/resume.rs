//! The command with which a person continues a session in the agent's own program, on the terminal.

use std::io::Read;
use std::path::Path;

use serde_json::{Map, Value};
use windlass_core::{ExposeSecret, Result, SecretString};

use super::agent_program::AgentProgram;
use super::command_line::CommandLine;
use super::model_access::ModelAccess;
use super::state_dirs::{StateDirs, managed_home};
use super::{find, known};
use crate::{AgentContext, ProgramSettings};

/// The maximum size of a settings file that is completed.
const MAX_SETTINGS_BYTES: u64 = 8 << 20;

/// A command that continues a session. It runs with the person's own environment and rights.
#[derive(Debug)]
#[non_exhaustive]
pub struct ResumeCommand {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables to add to the person's environment.
    pub env: Vec<(String, String)>,
    /// Configured API keys, by the variables that the program reads.
    pub keys: Vec<(&'static str, SecretString)>,
}

/// Returns `true` if the program of this backend can continue a session on the terminal.
pub fn can_resume(backend: &str) -> bool {
    record(backend).is_some()
}

/// Returns the command that continues a session in this directory. `None` if the backend has no program that can.
///
/// # Errors
///
/// Returns an error if the settings are not valid or the program is not installed.
pub fn resume_command(
    backend: &str,
    config: &Value,
    context: &AgentContext,
    (session, dir): (&str, &Path),
) -> Result<Option<ResumeCommand>> {
    let Some(program) = record(backend) else {
        return Ok(None);
    };
    let settings = ProgramSettings::from_value(config)?;
    let path = find::find(program, &settings, context)?.to_owned();
    let mut command = arguments(program, &settings, session, dir);
    let mut access = ModelAccess::direct(program, &settings, context)?;
    if settings.api_key_env.is_none() {
        // The person's environment has the others.
        access.keys.clear();
    }
    if let (Some(endpoint), Some(configure)) = (access.endpoint(), program.endpoint) {
        configure(&endpoint, &mut command);
    }
    if let Some(home) = managed_home(program, &settings, context) {
        complete_settings(program, &home);
    }
    let mut env = command.env;
    if let Some(moved) = StateDirs::new(program, &settings, context).moved_to {
        let dir = moved.to_string_lossy().into_owned();
        env.push((program.state.variable.to_owned(), dir));
    }
    let extra = access.variables(&settings, None)?;
    let extra = extra.into_iter();
    env.extend(extra.map(|(name, value)| (name.to_owned(), value.expose_secret().to_owned())));
    Ok(Some(ResumeCommand {
        program: path,
        args: command.args,
        env,
        keys: access.keys,
    }))
}

fn record(backend: &str) -> Option<&'static AgentProgram> {
    [&known::codex::PROGRAM, &known::claude::PROGRAM]
        .into_iter()
        .find(|program| program.name == backend)
}

fn arguments(
    program: &AgentProgram,
    settings: &ProgramSettings,
    session: &str,
    dir: &Path,
) -> CommandLine {
    let mut command = CommandLine::default();
    if program.name == known::codex::PROGRAM.name {
        command.arg("resume");
        // Without it, Codex offers the directory in which the session began.
        command.option("cd", &dir.display().to_string());
    } else {
        command.option("resume", session);
    }
    if let Some(model) = &settings.model {
        command.option("model", model);
    }
    if program.name == known::codex::PROGRAM.name {
        command.arg(session);
    }
    command
}

/// Marks Claude Code as set up in a home that Windlass manages. It would otherwise begin with a choice of colors and
/// a test of the connection to its provider, which is not the configured endpoint. If that fails, the person is asked.
fn complete_settings(program: &AgentProgram, home: &Path) {
    if program.name != known::claude::PROGRAM.name {
        return;
    }
    let file = home.join(".claude.json");
    let mut text = String::new();
    let read = std::fs::File::open(&file)
        .and_then(|open| open.take(MAX_SETTINGS_BYTES).read_to_string(&mut text));
    let mut settings: Map<String, Value> = match (read, serde_json::from_str(&text)) {
        (Ok(_), Ok(settings)) => settings,
        (Err(_), _) => Map::new(),
        _ => return,
    };
    let known = settings.insert("hasCompletedOnboarding".to_owned(), Value::Bool(true));
    if known != Some(Value::Bool(true)) {
        // The next start tries again.
        let _ = std::fs::write(&file, Value::Object(settings).to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_and_directory_cannot_be_parsed_as_flags() {
        let settings = ProgramSettings {
            model: Some("m".to_owned()),
            ..ProgramSettings::default()
        };
        let of = |program| arguments(program, &settings, "abc", Path::new("/a b")).args;
        let codex = of(&known::codex::PROGRAM);
        assert_eq!(codex, ["resume", "--cd=/a b", "--model=m", "abc"]);
        assert_eq!(of(&known::claude::PROGRAM), ["--resume=abc", "--model=m"]);
        assert!(!can_resume("gemini"));
    }

    #[test]
    fn settings_of_a_managed_home_are_completed_and_kept() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".claude.json");
        let read =
            || -> Value { serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap() };
        complete_settings(&known::claude::PROGRAM, home.path());
        assert_eq!(
            read(),
            serde_json::json!({ "hasCompletedOnboarding": true })
        );
        std::fs::write(&file, r#"{"userID":"7"}"#).unwrap();
        complete_settings(&known::claude::PROGRAM, home.path());
        assert_eq!(read()["userID"], "7");
        assert_eq!(read()["hasCompletedOnboarding"], true);
        std::fs::write(&file, "{").unwrap();
        complete_settings(&known::claude::PROGRAM, home.path());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
    }
}
