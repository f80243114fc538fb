//! Which files there are: what git would track, within limits.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};

use crate::record::FileStamp;
use crate::{Error, Result};

/// How much of a tree is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexLimits {
    /// The most files.
    pub files: usize,
    /// The largest file, in bytes.
    pub file_bytes: u64,
    /// All files together, in bytes.
    pub bytes: u64,
    /// The deepest folder.
    pub depth: usize,
}

impl Default for IndexLimits {
    /// 100,000 files, 1 MiB each, 512 MiB together, 64 folders deep.
    fn default() -> Self {
        Self {
            files: 100_000,
            file_bytes: 1 << 20,
            bytes: 512 << 20,
            depth: 64,
        }
    }
}

/// A file that is to be known.
#[derive(Debug, Clone)]
pub(crate) struct FoundFile {
    /// Relative to the root, with slashes.
    pub(crate) path: String,
    pub(crate) stamp: FileStamp,
}

/// The files of a tree in the order of their paths, and how many were left out by a limit or for their name.
pub(crate) fn walk(root: &Path, limits: &IndexLimits) -> Result<(Vec<FoundFile>, usize)> {
    std::fs::read_dir(root).map_err(|error| Error::folder(root, &error))?;
    let walk = WalkBuilder::new(root)
        .hidden(false)
        // A repository knows nothing of what one around it ignores.
        .parents(!root.join(".git").exists())
        .require_git(false)
        .follow_links(false)
        .max_depth(Some(limits.depth))
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_name(Ord::cmp)
        .build();
    let (mut found, mut left_out, mut bytes) = (Vec::new(), 0, 0);
    for entry in walk {
        // A folder that cannot be read is one that the task cannot be about.
        let Ok(entry) = entry else {
            left_out += 1;
            continue;
        };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let (Some(path), Some((stamp, size))) = (relative(root, &entry), stamp(&entry)) else {
            left_out += 1;
            continue;
        };
        if size > limits.file_bytes || bytes + size > limits.bytes || found.len() >= limits.files {
            left_out += 1;
            continue;
        }
        bytes += size;
        found.push(FoundFile { path, stamp });
    }
    found.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Ok((found, left_out))
}

/// The path as the index writes it; `None` where it is not UTF-8, since nothing could be said about it in JSON.
fn relative(root: &Path, entry: &DirEntry) -> Option<String> {
    let path = entry.path().strip_prefix(root).ok()?;
    Some(path.to_str()?.to_owned())
}

fn stamp(entry: &DirEntry) -> Option<(FileStamp, u64)> {
    let metadata = entry.metadata().ok()?;
    Some((FileStamp::from_metadata(&metadata), metadata.len()))
}

/// Reads a file, but no more of it than the limit: it may have grown since.
pub(crate) fn read(root: &Path, path: &str, limits: &IndexLimits) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let file = File::open(root.join(path)).ok()?;
    file.take(limits.file_bytes).read_to_end(&mut text).ok()?;
    Some(text)
}

/// The first line of a small file, as a path.
pub(crate) fn first_line(path: &Path) -> Option<PathBuf> {
    let mut text = Vec::new();
    let file = File::open(path).ok()?;
    file.take(4_096).read_to_end(&mut text).ok()?;
    let line = text.split(|byte| *byte == b'\n').next()?;
    (!line.is_empty()).then(|| OsStr::from_bytes(line).into())
}
