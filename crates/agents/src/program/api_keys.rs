//! The keys of an agent, by its settings and the environment.

use windlass_core::{Error, Result, SecretString};

use super::agent_program::AgentProgram;
use crate::bridge::BridgeMode;
use crate::{AgentContext, ProgramSettings};

/// API keys by the variables that the agent reads.
pub(crate) type ApiKeys = Vec<(&'static str, SecretString)>;

/// Returns the API key under the variable that the agent reads: the configured key, or else those that the user
/// has set.
pub(super) fn api_keys(
    program: &AgentProgram,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> Result<ApiKeys> {
    let names = program.keys;
    let Some(variable) = &settings.api_key_env else {
        let set = names
            .iter()
            .filter_map(|name| Some((*name, context.secret(name)?)));
        return Ok(set.collect());
    };
    let key = secret("api_key_env", variable, context)?;
    Ok(names.first().map(|name| (*name, key)).into_iter().collect())
}

/// Returns the keys of further accounts.
pub(super) fn more_keys(
    settings: &ProgramSettings,
    context: &AgentContext,
) -> Result<Vec<SecretString>> {
    const SETTING: &str = "more_api_key_envs";
    let variables = &settings.more_api_key_envs;
    if !variables.is_empty() && settings.bridge == BridgeMode::Off {
        let problem = "several accounts need the bridge: remove bridge = \"off\"";
        return Err(Error::config(SETTING, problem));
    }
    if !variables.is_empty() && settings.api_key_env.is_none() {
        let problem = "set api_key_env to the variable of the first account, too";
        return Err(Error::config(SETTING, problem));
    }
    let keys = variables.iter();
    keys.map(|variable| secret(SETTING, variable, context))
        .collect()
}

fn secret(setting: &str, variable: &str, context: &AgentContext) -> Result<SecretString> {
    let problem =
        || format!("the environment variable {variable} is not set: set it, or use another");
    let secret = context.secret(variable);
    secret.ok_or_else(|| Error::config(setting, problem()))
}
