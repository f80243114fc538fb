//! Loads the layers of the configuration and merges them; later layers override earlier ones.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use secrecy::SecretString;

use super::env_file::EnvFile;
use super::known_secrets;
use super::setting::SettingMap;
use super::trust_store::{TrustStatus, TrustStore};
use super::values::Layers;
use super::{
    Config, ConfigPaths, Error, Inputs, Key, Layer, Notice, Origin, Result, SourceFile, env_vars,
    key_table, toml_file,
};

impl Config {
    /// Loads the configuration for these inputs. It reads files and has no other side effects.
    pub fn load(inputs: &Inputs) -> Result<Self> {
        Self::new(load(inputs)?)
    }
}

/// Loads and merges the layers.
fn load(inputs: &Inputs) -> Result<Layers> {
    let paths = ConfigPaths::find(inputs)?;
    let mut settings = defaults()?;
    let mut notices = Vec::new();

    if let Some(file) = &paths.user
        && let Some(source) = SourceFile::read_if_exists(file)?
    {
        settings.merge(toml_file::settings(&source, Layer::User)?);
    }
    if let Some(file) = &inputs.file {
        let source = SourceFile::read(&inputs.cwd.join(file))?;
        settings.merge(toml_file::settings(&source, Layer::Explicit)?);
    } else if let Some(source) = SourceFile::read_if_exists(&paths.project)? {
        let (layer, notice) = project(inputs, &source, &settings)?;
        settings.merge(layer);
        notices.extend(notice);
    }
    let env_file = env_file(inputs, &paths, &mut notices)?;
    let mut ignored = Vec::new();
    if let Some(file) = &env_file {
        let (layer, keys) = file.layer(&settings)?;
        settings.merge(layer);
        ignored = keys;
    }
    settings.merge(environment(inputs, &settings.agents())?);
    settings.merge(flags(inputs)?);

    let mut secrets = BTreeMap::new();
    let dot_env = env_file.iter().flat_map(EnvFile::values).collect();
    if let Some(file) = &env_file {
        notices.extend(file.notice(ignored, &missing_keys(inputs, &settings)));
        secrets.extend(file.secrets());
    }
    secrets.extend(environment_secrets(inputs));
    Ok(Layers {
        settings,
        notices,
        secrets,
        dot_env,
        root: paths.root,
    })
}

/// Returns the trust status of a file. Without a state directory, no file is trusted.
pub(super) fn trust_status(inputs: &Inputs, source: &SourceFile) -> Result<TrustStatus> {
    match inputs.state_dir() {
        Some(dir) => Ok(TrustStore::load(&dir)?.status(source)),
        None => Ok(TrustStatus::Unknown),
    }
}

fn defaults() -> Result<SettingMap> {
    let mut settings = SettingMap::default();
    for known in key_table::KEYS {
        if let Some(default) = known.default {
            let key = Key::dotted(known.path);
            settings.insert(&key, known.kind.parse(default), Origin::built_in())?;
        }
    }
    Ok(settings)
}

/// Returns the settings of the project's file that apply, and a notice about those that are ignored.
fn project(
    inputs: &Inputs,
    source: &SourceFile,
    earlier: &SettingMap,
) -> Result<(SettingMap, Option<Notice>)> {
    let mut settings = toml_file::settings(source, Layer::Project)?;
    let status = trust_status(inputs, source)?;
    if status == TrustStatus::Trusted {
        return Ok((settings, None));
    }
    let keys = settings.remove_untrusted(earlier);
    let notice = Notice::untrusted(source, status, keys.iter().map(Key::to_string).collect());
    Ok((settings, notice))
}

/// Reads the project's `.env`, if there is one. Other programs use the file too, so if it cannot be read that is a
/// notice and not an error. A directory of that name is usually a Python environment and is ignored.
fn env_file(
    inputs: &Inputs,
    paths: &ConfigPaths,
    notices: &mut Vec<Notice>,
) -> Result<Option<EnvFile>> {
    if paths.dot_env.is_dir() {
        return Ok(None);
    }
    match SourceFile::read_if_exists(&paths.dot_env) {
        Ok(Some(source)) => {
            let status = trust_status(inputs, &source)?;
            Ok(Some(EnvFile::new(source, status)))
        }
        Ok(None) => Ok(None),
        Err(error) => {
            notices.push(Notice::Unreadable(error));
            Ok(None)
        }
    }
}

/// Returns the variables that a setting names as holding a key and that are not set in the environment.
fn missing_keys<'a>(inputs: &Inputs, settings: &'a SettingMap) -> Vec<&'a str> {
    let mut wanted = Vec::new();
    let settings = settings.iter().map(|(_, setting)| setting);
    for setting in settings.filter(|setting| setting.known.kind.names_secrets()) {
        known_secrets::strings(&setting.value, &mut wanted);
    }
    let is_missing = |name: &&str| {
        let value = inputs.environment.get(OsStr::new(name));
        value.is_none_or(|value| value.is_empty())
    };
    wanted.into_iter().filter(is_missing).collect()
}

fn environment(inputs: &Inputs, agents: &[&str]) -> Result<SettingMap> {
    let mut settings = SettingMap::default();
    for (name, value) in &inputs.environment {
        let Some(name) = name.to_str().filter(|name| env_vars::sets_key(name)) else {
            continue;
        };
        let origin = Origin::variable(name);
        let Some(value) = value.to_str() else {
            let key = Key::new([name]);
            return Err(Error::wrong_value(origin, &key, "not UTF-8", "text"));
        };
        env_vars::apply(&mut settings, agents, (name, value), origin)?;
    }
    Ok(settings)
}

fn flags(inputs: &Inputs) -> Result<SettingMap> {
    let mut settings = SettingMap::default();
    for flag in &inputs.flags {
        let origin = Origin::flag(flag.name);
        env_vars::put_text(&mut settings, &flag.key, &flag.value, origin)?;
    }
    Ok(settings)
}

/// Returns the environment variables that may be read as secrets. Empty variables are ignored.
fn environment_secrets(inputs: &Inputs) -> impl Iterator<Item = (String, SecretString)> {
    inputs.environment.iter().filter_map(|(name, value)| {
        let value = value.to_str().filter(|value| !value.is_empty());
        let secret = SecretString::from(value?);
        Some((name.to_str()?.to_owned(), secret))
    })
}
