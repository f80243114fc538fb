//! A file, read once: the bytes that are hashed for trust are the bytes that are parsed.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::{Error, Result};

/// The largest file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// The content of a file as it was when it was read.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceFile {
    path: PathBuf,
    text: String,
    hash: String,
}

impl SourceFile {
    /// Reads a file that must be there.
    pub fn read(path: &Path) -> Result<Self> {
        Self::read_if_exists(path)?.ok_or_else(|| Error::file(path, "there is no such file"))
    }

    /// Reads a file if there is one.
    pub fn read_if_exists(path: &Path) -> Result<Option<Self>> {
        match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            // A part of the path that is a file: nothing can be below it.
            Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(None),
            _ => {}
        }
        let path = canonical_path(path);
        let bytes = bounded(open(&path)?, &path)?;
        let hash = hex(&Sha256::digest(&bytes));
        let text = String::from_utf8(bytes).map_err(|error| {
            let line = error.as_bytes()[..error.utf8_error().valid_up_to()]
                .split(|byte| *byte == b'\n')
                .count();
            Error::file(
                &path,
                format!("line {line} is not UTF-8: save the file as UTF-8"),
            )
        })?;
        Ok(Some(Self { path, text, hash }))
    }

    /// Where it was read; the folder has no symbolic link in it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The SHA-256 of the content, as hexadecimal digits.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The content, without the mark that some editors put first.
    pub(super) fn text(&self) -> &str {
        self.text.strip_prefix('\u{feff}').unwrap_or(&self.text)
    }

    /// Whether it is a list of variables rather than TOML.
    pub(super) fn is_dot_env(&self) -> bool {
        self.path.file_name().is_some_and(|name| name == ".env")
    }
}

impl std::fmt::Debug for SourceFile {
    /// The content may hold secrets and is left out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source")
            .field("path", &self.path)
            .field("hash", &self.hash)
            .finish_non_exhaustive()
    }
}

/// The path with the links of its folder resolved, so that one file has one name in the list of trust.
pub(super) fn canonical_path(path: &Path) -> PathBuf {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// Opens a regular file; a pipe or a device in its place neither blocks nor answers.
fn open(path: &Path) -> Result<File> {
    let unreadable = |error| Error::file(path, format!("cannot be read: {error}"));
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .map_err(unreadable)?;
    let kind = file.metadata().map_err(unreadable)?;
    if kind.is_dir() {
        return Err(Error::file(path, "is a folder, expected a file"));
    }
    if !kind.is_file() {
        return Err(Error::file(path, "is not a regular file"));
    }
    Ok(file)
}

/// Reads the whole file, but never more than the limit.
fn bounded(file: File, path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::file(path, format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::file(
            path,
            "is larger than 1 MiB: that is no configuration",
        ));
    }
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
