//! The trust list: files inside repositories that may set commands, endpoints and keys.
//!
//! Trust is given to content. The list stores the path and the SHA-256 of the trusted content. If one byte changes,
//! the file must be trusted again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::private_dir::{self, PrivateDir};
use super::{Error, Result, SourceFile, source};

/// The list's name in the state directory.
const FILE: &str = "trust.json";
/// The format version of the list. Other versions are rejected.
const VERSION: u32 = 1;

/// The list of trusted files.
#[derive(Debug, Clone)]
pub struct TrustStore {
    dir: PathBuf,
    list: TrustFile,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustFile {
    version: u32,
    /// SHA-256 by path.
    files: BTreeMap<String, String>,
}

/// Trust status of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustStatus {
    /// Exactly this content was trusted.
    Trusted,
    /// Another content of this file was trusted.
    Changed,
    /// The file is not in the list.
    Unknown,
}

impl TrustStore {
    /// Reads the list in this directory (see [`Inputs::state_dir`](super::Inputs::state_dir)). A missing list is empty.
    pub fn load(dir: &Path) -> Result<Self> {
        let list = match private_dir::read(&dir.join(FILE))? {
            Some(text) => parse(&dir.join(FILE), &text)?,
            None => TrustFile {
                version: VERSION,
                files: BTreeMap::new(),
            },
        };
        Ok(Self {
            dir: dir.to_owned(),
            list,
        })
    }

    /// Returns `true` if exactly this content of this file was trusted.
    pub fn is_trusted(&self, source: &SourceFile) -> bool {
        self.status(source) == TrustStatus::Trusted
    }

    /// Returns the trust status of a file.
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

    /// Trusts the content of a file as it was read, even if the file has changed since.
    pub fn trust(&mut self, source: &SourceFile) -> Result<()> {
        let Some(path) = source.path().to_str() else {
            let problem = "cannot be trusted because its path is not UTF-8: rename the directory";
            return Err(Error::file(source.path(), problem));
        };
        self.change(|files| {
            files.insert(path.to_owned(), source.hash().to_owned());
        })
    }

    /// Revokes trust, also for a file that no longer exists. Returns `true` if the file was trusted.
    pub fn revoke(&mut self, path: &Path) -> Result<bool> {
        let path = source::canonical_path(path);
        let mut was_trusted = false;
        self.change(|files| {
            let known = path.to_str().and_then(|path| files.remove(path));
            was_trusted = known.is_some();
        })?;
        Ok(was_trusted)
    }

    /// Returns the trusted paths, each with the SHA-256 of its trusted content.
    pub fn list(&self) -> impl Iterator<Item = (&Path, &str)> {
        let files = self.list.files.iter();
        files.map(|(path, hash)| (Path::new(path), hash.as_str()))
    }

    /// Reloads the list under a lock and changes it, so that two processes do not overwrite each other's changes.
    fn change(&mut self, edit: impl FnOnce(&mut BTreeMap<String, String>)) -> Result<()> {
        let dir = PrivateDir::lock(&self.dir)?;
        self.list = Self::load(&self.dir)?.list;
        edit(&mut self.list.files);
        let text = serde_json::to_string_pretty(&self.list)
            .map_err(|error| Error::file(&self.dir, error))?;
        dir.replace(FILE, &format!("{text}\n"))
    }
}

fn parse(path: &Path, text: &str) -> Result<TrustFile> {
    let unusable = |why: String| {
        let problem =
            format!("is not a valid trust list ({why}): delete it and run windlass trust again");
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
