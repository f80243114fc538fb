//! Listing a directory.

use rustix::fs::{AtFlags, Dir, OFlags, statat};

use super::error::{PathError, Result};
use super::kind::PathKind;
use super::root::Root;
use super::validate;

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name. Invalid UTF-8 is replaced by U+FFFD, and such a name cannot be opened.
    pub name: String,
    /// The kind. Links are not followed.
    pub kind: PathKind,
}

/// The entries of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Sorted by name.
    pub entries: Vec<DirEntry>,
    /// Whether there are more entries than the limit.
    pub is_cut: bool,
}

impl Root {
    /// Lists a directory, up to `limit` names; `.` is the root itself.
    pub fn list(&self, path: &str, limit: usize) -> Result<Listing> {
        validate::check(path)?;
        let to_error = |errno| PathError::from_errno(path, errno);
        let found = self.metadata(path)?;
        if found.kind != PathKind::Folder {
            return Err(PathError::wrong_kind(path, found.kind, PathKind::Folder));
        }
        let dir = self.resolve(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut listing = Listing {
            entries: Vec::new(),
            is_cut: false,
        };
        for entry in Dir::read_from(&dir).map_err(to_error)? {
            let entry = entry.map_err(to_error)?;
            let raw = entry.file_name();
            if matches!(raw.to_bytes(), b"." | b"..") {
                continue;
            }
            if listing.entries.len() == limit {
                listing.is_cut = true;
                break;
            }
            let mut kind = PathKind::from_file_type(entry.file_type());
            if entry.file_type() == rustix::fs::FileType::Unknown {
                // Some file systems do not report the type in the listing.
                match statat(&dir, raw, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => kind = PathKind::from_stat(&stat),
                    Err(_) => continue,
                }
            }
            listing.entries.push(DirEntry {
                name: raw.to_string_lossy().into_owned(),
                kind,
            });
        }
        listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listing)
    }
}
