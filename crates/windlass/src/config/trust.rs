//! What a person has trusted: the files inside repositories whose commands, endpoints and keys may be used.
//!
//! Trust is given to content. The list holds a path and the SHA-256 of what was trusted there; one byte changed,
//! and the file asks again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::env_file::EnvFile;
use super::private_dir::{self, PrivateDir};
use super::setting::SettingMap;
use super::{ConfigPaths, Error, Inputs, Layer, Result, SourceFile, redact, source, toml_file};

/// The list's name in the folder of state.
const FILE: &str = "trust.json";
/// The form of the list that this program writes, and the only one it reads.
const VERSION: u32 = 1;

/// The list of trusted files.
#[derive(Debug, Clone)]
pub struct TrustStore {
    folder: PathBuf,
    list: TrustFile,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustFile {
    version: u32,
    /// Path to SHA-256.
    files: BTreeMap<String, String>,
}

/// What the list says about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustStatus {
    /// Exactly this content was trusted.
    Trusted,
    /// Another content was trusted here.
    Changed,
    /// Nobody has trusted this file.
    Unknown,
}

impl TrustStore {
    /// Reads the list in this folder (see [`Inputs::state_folder`]); one that is not there yet is empty.
    pub fn load(folder: &Path) -> Result<Self> {
        let list = match private_dir::read(&folder.join(FILE))? {
            Some(text) => parse(&folder.join(FILE), &text)?,
            None => TrustFile {
                version: VERSION,
                files: BTreeMap::new(),
            },
        };
        Ok(Self {
            folder: folder.to_owned(),
            list,
        })
    }

    /// Whether exactly this content of exactly this file was trusted.
    pub fn is_trusted(&self, source: &SourceFile) -> bool {
        self.status(source) == TrustStatus::Trusted
    }

    /// What the list says about a file.
    pub fn status(&self, source: &SourceFile) -> TrustStatus {
        let known = source
            .path()
            .to_str()
            .and_then(|path| self.list.files.get(path));
        match known {
            Some(hash) if hash == source.hash() => TrustStatus::Trusted,
            Some(_) => TrustStatus::Changed,
            None => TrustStatus::Unknown,
        }
    }

    /// Trusts a file as it was read, whatever it holds by now.
    pub fn trust(&mut self, source: &SourceFile) -> Result<()> {
        let Some(path) = source.path().to_str() else {
            let problem = "cannot be trusted, its path is not UTF-8: rename the folder";
            return Err(Error::file(source.path(), problem));
        };
        self.change(|files| {
            files.insert(path.to_owned(), source.hash().to_owned());
        })
    }

    /// Takes trust back, also from a file that is gone; says whether there was any.
    pub fn revoke(&mut self, path: &Path) -> Result<bool> {
        let path = source::canonical_path(path);
        let mut was_trusted = false;
        self.change(|files| {
            let known = path.to_str().and_then(|path| files.remove(path));
            was_trusted = known.is_some();
        })?;
        Ok(was_trusted)
    }

    /// The trusted paths, each with the SHA-256 of its trusted content.
    pub fn list(&self) -> impl Iterator<Item = (&Path, &str)> {
        let files = self.list.files.iter();
        files.map(|(path, hash)| (Path::new(path), hash.as_str()))
    }

    /// Changes the list as it is on disk now, so that two programs that do so at once both succeed.
    fn change(&mut self, edit: impl FnOnce(&mut BTreeMap<String, String>)) -> Result<()> {
        let folder = PrivateDir::lock(&self.folder)?;
        self.list = Self::load(&self.folder)?.list;
        edit(&mut self.list.files);
        let text = serde_json::to_string_pretty(&self.list)
            .map_err(|error| Error::file(&self.folder, error))?;
        folder.replace(FILE, &format!("{text}\n"))
    }
}

/// The files that a person in this folder can trust, as they are now: the project's `windlass.toml` and `.env`.
pub fn candidates(inputs: &Inputs) -> Result<Vec<SourceFile>> {
    let places = ConfigPaths::find(inputs)?;
    let project = SourceFile::read_if_exists(&places.project)?;
    let dot_env = match places.dot_env.is_dir() {
        true => None,
        false => SourceFile::read_if_exists(&places.dot_env)?,
    };
    Ok(project.into_iter().chain(dot_env).collect())
}

/// What trusting a file would put into force: each key and its value, secrets left out.
pub fn summary(source: &SourceFile) -> Result<Vec<(String, String)>> {
    if !source.is_dot_env() {
        return Ok(trusted_settings(&toml_file::settings(
            source,
            Layer::Project,
        )?));
    }
    let file = EnvFile::new(source.clone(), TrustStatus::Unknown);
    let mut shown = trusted_settings(&file.settings(&[])?);
    let lent = file.other_names();
    shown.extend(lent.map(|name| (name.to_owned(), redact::REDACTED.to_owned())));
    Ok(shown)
}

/// The settings that need trust, as a person may see them.
fn trusted_settings(settings: &SettingMap) -> Vec<(String, String)> {
    settings
        .iter()
        .filter(|(_, setting)| setting.known.needs_trust)
        .map(|(key, setting)| (key.to_string(), setting.display()))
        .collect()
}

fn parse(path: &Path, text: &str) -> Result<TrustFile> {
    let unusable = |why: String| {
        let problem = format!("is not a list of trusted files ({why}): remove it and trust anew");
        Error::file(path, problem)
    };
    let list: TrustFile =
        serde_json::from_str(text).map_err(|error| unusable(error.to_string()))?;
    if list.version != VERSION {
        return Err(unusable(format!(
            "version {}, expected {VERSION}",
            list.version
        )));
    }
    Ok(list)
}
