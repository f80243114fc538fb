//! Versions that were asked for before: starting a program only to hear its version can take half a second.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{AgentContext, Version};

const FILE: &str = "versions.json";
/// More than all agents of a machine need.
const FILE_BYTES: u64 = 64 << 10;

/// A program as it was when it said its version.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CachedVersion {
    /// Changes whenever the file is written, replaced or moved.
    stamp: String,
    version: String,
}

type VersionTable = BTreeMap<String, CachedVersion>;

/// The version of a program that has not changed since it was asked.
pub(crate) fn get(context: &AgentContext, program: &str) -> Option<Version> {
    let path = locate(context, program)?;
    let known = read(context).remove(path.to_str()?)?;
    (known.stamp == file_stamp(&path)?).then(|| Version::find_in(&known.version))?
}

/// Keeps a version for the next time. If that does not work, the program is asked again.
pub(crate) fn put(context: &AgentContext, program: &str, version: Version) {
    let written = || {
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
    if written().is_none() {
        tracing::debug!(program, "its version could not be kept");
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

/// Where the program really is, as the sandbox would find it.
pub(crate) fn locate(context: &AgentContext, program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Path::new(program)
            .canonicalize()
            .ok()
            .filter(|_| program.starts_with('/'));
    }
    let path = context.sandbox().host().variable("PATH")?;
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())?
        .canonicalize()
        .ok()
}

fn file_stamp(path: &Path) -> Option<String> {
    let found = path.metadata().ok()?;
    Some(format!(
        "{}:{}:{}:{}.{}",
        found.dev(),
        found.ino(),
        found.size(),
        found.ctime(),
        found.ctime_nsec()
    ))
}
