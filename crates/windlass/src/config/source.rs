//! A configuration file that is read once: the bytes that are hashed for trust are the bytes that are parsed.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::{Error, Result};

/// Maximum size of a configuration file.
const MAX_BYTES: u64 = 1 << 20;

/// The content of a file at the time it was read.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceFile {
    path: PathBuf,
    text: String,
    hash: String,
}

impl SourceFile {
    /// Reads a file that must exist.
    pub fn read(path: &Path) -> Result<Self> {
        Self::read_if_exists(path)?.ok_or_else(|| Error::file(path, "no such file"))
    }

    /// Reads a file if it exists.
    pub fn read_if_exists(path: &Path) -> Result<Option<Self>> {
        match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            // A parent of the path is a file, so the path cannot exist.
            Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(None),
            _ => {}
        }
        let path = canonical_path(path);
        let bytes = read_limited(open(&path)?, &path)?;
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

    /// Returns the path; its parent directory contains no symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the SHA-256 of the content, in hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns the content without a byte order mark.
    pub(crate) fn text(&self) -> &str {
        self.text.strip_prefix('\u{feff}').unwrap_or(&self.text)
    }

    /// Returns `true` if it is a `.env` file, not TOML.
    pub(super) fn is_dot_env(&self) -> bool {
        self.path.file_name().is_some_and(|name| name == ".env")
    }
}

impl std::fmt::Debug for SourceFile {
    /// Omits the content, which may contain secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SourceFile")
            .field("path", &self.path)
            .field("hash", &self.hash)
            .finish_non_exhaustive()
    }
}

/// Resolves symbolic links in the parent directory, so that a file has only one name in the trust list.
pub(super) fn canonical_path(path: &Path) -> PathBuf {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new(".")).canonicalize();
    match (parent, path.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

/// Opens a regular file; a pipe or a device is rejected and does not block.
fn open(path: &Path) -> Result<File> {
    let unreadable = |error| Error::file(path, format!("cannot be read: {error}"));
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .map_err(unreadable)?;
    let kind = file.metadata().map_err(unreadable)?;
    if kind.is_dir() {
        return Err(Error::file(path, "is a directory, expected a file"));
    }
    if !kind.is_file() {
        return Err(Error::file(path, "is not a regular file"));
    }
    Ok(file)
}

/// Reads the whole file, up to the size limit.
fn read_limited(file: File, path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::file(path, format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::file(
            path,
            "is larger than 1 MiB, which is too large for a configuration",
        ));
    }
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
