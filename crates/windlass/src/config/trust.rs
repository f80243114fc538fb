//! What a person trusts: the files of a project and the settings in them.

pub use super::trust_store::{TrustStatus, TrustStore};

use super::env_file::EnvFile;
use super::setting::SettingMap;
use super::{ConfigPaths, Inputs, Layer, Result, SourceFile, redact, toml_file};

/// Reads the files that can be trusted in this project: its `windlass.toml` and `.env`.
pub fn candidates(inputs: &Inputs) -> Result<Vec<SourceFile>> {
    let paths = ConfigPaths::find(inputs)?;
    let project = SourceFile::read_if_exists(&paths.project)?;
    let dot_env = if paths.dot_env.is_dir() {
        None
    } else {
        SourceFile::read_if_exists(&paths.dot_env)?
    };
    Ok(project.into_iter().chain(dot_env).collect())
}

/// Returns the settings that trusting a file would apply: each key and its value, with secrets redacted.
pub fn summary(source: &SourceFile) -> Result<Vec<(String, String)>> {
    if !source.is_dot_env() {
        return Ok(shown(&toml_file::settings(source, Layer::Project)?));
    }
    let file = EnvFile::new(source.clone(), TrustStatus::Unknown);
    let mut all = shown(&file.settings(&[])?);
    let variables = file.other_names();
    all.extend(variables.map(|name| (name.to_owned(), redact::REDACTED.to_owned())));
    Ok(all)
}

/// Returns the keys and the values, with secrets redacted.
fn shown(settings: &SettingMap) -> Vec<(String, String)> {
    let settings = settings.iter();
    settings
        .map(|(key, setting)| (key.to_string(), setting.display()))
        .collect()
}
