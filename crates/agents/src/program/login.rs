//! Whether an agent has a login, found without starting it: a key in the environment or a file that its login leaves. And where
//! such a login may be sent.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_core::{Error, Result};

use super::agent_program::AgentProgram;
use super::state_dirs::StateDirs;
use crate::bridge::BridgeMode;
use crate::http::BaseUrl;
use crate::{AgentContext, ProgramSettings};

/// How much of a file is read.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// What is known about an agent's login.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Login {
    /// It uses the configured endpoint, with the configured key or none.
    Endpoint,
    /// This environment variable has a key.
    Key(String),
    /// This file or directory has a login.
    Stored(PathBuf),
    /// Nothing was found. The text says how to log in, as the rest of a sentence.
    Missing(&'static str),
    /// How this agent logs in is not known.
    Unknown,
}

impl Login {
    /// Returns how to log in, if no login was found.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Missing(hint) => Some(hint),
            _ => None,
        }
    }
}

impl std::fmt::Display for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Endpoint => f.write_str("configured endpoint"),
            Self::Key(variable) => write!(f, "key in {variable}"),
            Self::Stored(path) => write!(f, "login in {}", path.display()),
            Self::Missing(hint) => write!(f, "no login found: {hint}"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

/// Finds the login of a program.
pub(crate) fn find(
    program: &AgentProgram,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> Login {
    if settings.endpoint.is_some() && settings.bridge != BridgeMode::PassThrough {
        return Login::Endpoint;
    }
    if let Some(variable) = &settings.api_key_env {
        return Login::Key(variable.clone());
    }
    let is_set =
        |name: &&str| settings.extra_env.contains_key(*name) || context.secret(name).is_some();
    if let Some(variable) = program.keys.iter().copied().find(|name| is_set(name)) {
        return Login::Key(variable.to_owned());
    }
    let Some(hint) = program.login.filter(|_| !program.credentials.is_empty()) else {
        return Login::Unknown;
    };
    stored_login(program, settings, context).map_or(Login::Missing(hint), Login::Stored)
}

/// Returns `true` if the user has logged the program in.
pub(crate) fn is_stored(
    program: &AgentProgram,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> bool {
    stored_login(program, settings, context).is_some()
}

/// Returns the base URL to which the agent's own login may be sent: that of its own provider, or an address of this machine.
pub(crate) fn provider(
    program: &AgentProgram,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> Result<BaseUrl> {
    let name = program.name;
    let refused = |problem: String| Err(Error::config("bridge", problem));
    let Some(provider) = program.login_provider else {
        return refused(format!(
            "pass_through is not possible with {name}: use \"on\" or \"off\""
        ));
    };
    if let Some(variable) = &settings.api_key_env {
        return refused(format!(
            "pass_through is for an agent with its own login: remove api_key_env = {variable:?}, or use \"on\""
        ));
    }
    if !is_stored(program, settings, context) {
        let login = program.login.unwrap_or("log in");
        return refused(format!("{name} has no login to pass on: {login}"));
    }
    let url = settings.endpoint.as_deref().unwrap_or(provider);
    let url = BaseUrl::parse(url).map_err(|problem| Error::config("endpoint", problem))?;
    let is_own = url.origin().starts_with("https://") && program.hosts.contains(&url.host());
    if !is_own && !url.is_local() {
        let host = url.origin();
        return Err(Error::config(
            "endpoint",
            format!(
                "the login of {name} is not sent to {host}: remove this setting, or use bridge = \"on\""
            ),
        ));
    }
    Ok(url)
}

fn stored_login(
    program: &AgentProgram,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> Option<PathBuf> {
    let dirs = StateDirs::new(program, settings, context).dirs;
    let dir = dirs.first()?;
    let mut credentials = program.credentials.iter();
    credentials.find_map(|credential| stored(dir, credential))
}

/// Returns the path of a credential, if it is there: `FILE`, or `FILE#FIELD` for a field of a JSON file that is not empty.
fn stored(dir: &Path, credential: &str) -> Option<PathBuf> {
    let (file, field) = match credential.split_once('#') {
        Some((file, field)) => (file, Some(field)),
        None => (credential, None),
    };
    let path = dir.join(file);
    let is_stored = match field {
        None => path.is_dir() || path.metadata().is_ok_and(|it| it.len() > 0),
        Some(field) => {
            let mut text = String::new();
            let opened = File::open(&path).ok()?;
            opened.take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
            let value: Value = serde_json::from_str(&text).ok()?;
            !is_empty(&value[field])
        }
    };
    is_stored.then_some(path)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
