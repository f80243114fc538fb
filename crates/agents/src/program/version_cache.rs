//! A cache of program versions: starting a program to get its version can take half a second.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::version::Version;
use crate::AgentContext;

const FILE: &str = "versions.json";
/// Enough for all agents of a machine.
const FILE_BYTES: u64 = 64 << 10;

/// The version of a program, and a stamp of its file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CachedVersion {
    /// Changes whenever the file is written, replaced or moved.
    stamp: String,
    version: String,
}

type VersionTable = BTreeMap<String, CachedVersion>;

/// Returns the version of a program that has not changed since it was cached.
pub(crate) fn get(context: &AgentContext, program: &str) -> Option<Version> {
    let path = locate(context, program)?;
    let known = read(context).remove(path.to_str()?)?;
    (known.stamp == file_stamp(&path)?).then(|| Version::find_in(&known.version))?
}

/// Caches a version. On failure, the program is started again next time.
pub(crate) fn put(context: &AgentContext, program: &str, version: Version) {
    let write = || {
        let path = locate(context, program)?;
        let mut table = read(context);
        let known = CachedVersion {
            stamp: file_stamp(&path)?,
            version: version.to_string(),
        };
        table.insert(path.to_str()?.to_owned(), known);
        std::fs::create_dir_all(context.state_dir()).ok()?;
        let mut file = tempfile::NamedTempFile::new_in(context.state_dir()).ok()?;
        file.write_all(&serde_json::to_vec(&table).ok()?).ok()?;
        file.persist(context.state_dir().join(FILE)).ok()
    };
    if write().is_none() {
        tracing::debug!(program, "could not cache the version");
    }
}

fn read(context: &AgentContext) -> VersionTable {
    let mut text = String::new();
    let read = File::open(context.state_dir().join(FILE))
        .and_then(|file| file.take(FILE_BYTES).read_to_string(&mut text));
    read.ok()
        .and_then(|_| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

/// Returns the real path of the program, as the sandbox would find it.
pub(crate) fn locate(context: &AgentContext, program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Path::new(program)
            .canonicalize()
            .ok()
            .filter(|_| program.starts_with('/'));
    }
    let path = context.sandbox().host().variable("PATH")?;
    std::env::split_paths(path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(program))
        .find(|candidate| candidate.is_file())?
        .canonicalize()
        .ok()
}

fn file_stamp(path: &Path) -> Option<String> {
    let metadata = path.metadata().ok()?;
    Some(format!(
        "{}:{}:{}:{}.{}",
        metadata.dev(),
        metadata.ino(),
        metadata.size(),
        metadata.ctime(),
        metadata.ctime_nsec()
    ))
}
