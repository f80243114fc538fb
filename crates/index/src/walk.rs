//! Lists the files of a tree that git would track, within limits.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};

use crate::record::FileStamp;
use crate::{Error, Result};

/// Limits of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexLimits {
    /// Maximum number of files.
    pub files: usize,
    /// Maximum size of a file, in bytes.
    pub file_bytes: u64,
    /// Maximum total size, in bytes.
    pub bytes: u64,
    /// Maximum directory depth.
    pub depth: usize,
}

impl Default for IndexLimits {
    /// 100,000 files, 1 MiB each, 512 MiB in total, 64 levels deep.
    fn default() -> Self {
        Self {
            files: 100_000,
            file_bytes: 1 << 20,
            bytes: 512 << 20,
            depth: 64,
        }
    }
}

/// A file to index.
#[derive(Debug, Clone)]
pub(crate) struct FoundFile {
    /// Relative to the root, with slashes.
    pub(crate) path: String,
    pub(crate) stamp: FileStamp,
}

/// Returns the files of a tree, sorted by path, and the number of skipped entries.
pub(crate) fn walk(root: &Path, limits: &IndexLimits) -> Result<(Vec<FoundFile>, usize)> {
    std::fs::read_dir(root).map_err(|error| Error::folder(root, &error))?;
    let walk = WalkBuilder::new(root)
        .hidden(false)
        // The ignore files of an enclosing repository do not apply to a repository.
        .parents(!root.join(".git").exists())
        .require_git(false)
        .follow_links(false)
        .max_depth(Some(limits.depth))
        .filter_entry(|entry| !entry.path().as_os_str().as_bytes().ends_with(b"/.git"))
        .sort_by_file_name(Ord::cmp)
        .build();
    let (mut found, mut skipped, mut bytes) = (Vec::new(), 0, 0);
    for entry in walk {
        // An unreadable directory is skipped: an agent cannot read it either.
        let Ok(entry) = entry else {
            skipped += 1;
            continue;
        };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let (Some(path), Some((stamp, size))) = (relative(root, &entry), stamp(&entry)) else {
            skipped += 1;
            continue;
        };
        if size > limits.file_bytes || bytes + size > limits.bytes || found.len() >= limits.files {
            skipped += 1;
            continue;
        }
        bytes += size;
        found.push(FoundFile { path, stamp });
    }
    found.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Ok((found, skipped))
}

/// Returns the path as stored in the index, or `None` if it is not UTF-8, because JSON cannot represent it.
fn relative(root: &Path, entry: &DirEntry) -> Option<String> {
    let path = entry.path().as_os_str().as_bytes();
    // Every path of a walk is its root, a slash and the rest. A comparison by components costs more than the walk.
    let path = path.strip_prefix(root.as_os_str().as_bytes())?;
    let path = path.strip_prefix(b"/").unwrap_or(path);
    Some(str::from_utf8(path).ok()?.to_owned())
}

fn stamp(entry: &DirEntry) -> Option<(FileStamp, u64)> {
    let metadata = entry.metadata().ok()?;
    Some((FileStamp::from_metadata(&metadata), metadata.len()))
}

/// Reads a file up to the size limit: it may have grown since.
pub(crate) fn read(root: &Path, path: &str, limits: &IndexLimits) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let file = File::open(root.join(path)).ok()?;
    file.take(limits.file_bytes).read_to_end(&mut text).ok()?;
    Some(text)
}

/// Returns the first line of a small file as a path.
pub(crate) fn first_line(path: &Path) -> Option<PathBuf> {
    let mut text = Vec::new();
    let file = File::open(path).ok()?;
    file.take(4_096).read_to_end(&mut text).ok()?;
    let line = text.split(|byte| *byte == b'\n').next()?;
    (!line.is_empty()).then(|| OsStr::from_bytes(line).into())
}
