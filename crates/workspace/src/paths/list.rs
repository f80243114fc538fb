//! What lies in a folder.

use rustix::fs::{AtFlags, Dir, OFlags, statat};

use super::error::{PathError, Result};
use super::kind::PathKind;
use super::root::Root;
use super::validate;

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name; what is not UTF-8 is shown as U+FFFD, and such a name leads nowhere.
    pub name: String,
    /// What it is. A link is a link, wherever it leads.
    pub kind: PathKind,
}

/// The names in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Sorted by name.
    pub entries: Vec<DirEntry>,
    /// Whether there are more than were asked for.
    pub is_cut: bool,
}

impl Root {
    /// What lies in a folder, at most so many names; `.` is the root itself.
    pub fn list(&self, path: &str, limit: usize) -> Result<Listing> {
        validate::check(path)?;
        let fault = |errno| PathError::from_errno(path, errno);
        let found = self.metadata(path)?;
        if found.kind != PathKind::Folder {
            return Err(PathError::wrong_kind(path, found.kind, PathKind::Folder));
        }
        let folder = self.resolve(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut listing = Listing {
            entries: Vec::new(),
            is_cut: false,
        };
        for entry in Dir::read_from(&folder).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            let raw = entry.file_name();
            if matches!(raw.to_bytes(), b"." | b"..") {
                continue;
            }
            if listing.entries.len() == limit {
                listing.is_cut = true;
                break;
            }
            let mut kind = PathKind::of_type(entry.file_type());
            if entry.file_type() == rustix::fs::FileType::Unknown {
                // Some file systems do not say it in the listing.
                match statat(&folder, raw, AtFlags::SYMLINK_NOFOLLOW) {
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
