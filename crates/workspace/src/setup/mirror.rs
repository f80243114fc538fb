//! Places stored files in a checkout.
//!
//! Only the outer directories of `node_modules` and of a virtual environment are created; the
//! packages in them are links into the store. A tool can therefore add and replace packages, and
//! cannot change the stored ones. Everything else is copied.
//!
//! Files that contain the path of the checkout in which the set-up ran get the new path: scripts,
//! `pyvenv.cfg`, `*.pth` files and those of editable installations.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use memchr::memmem;

use super::files::{copy_file, create_dir};
use crate::error::{Error, Result};

/// A larger file is not a script. It is linked where directories are.
const MAX_SCRIPT_BYTES: u64 = 1 << 20;

/// Directories of caches in `node_modules`, to which tools write.
const NODE_CACHES: &[&str] = &[".cache", ".vite", ".vite-temp", ".vitest", ".tmp", ".temp"];

/// What kind of directory is placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Copied completely.
    Copied,
    /// Programs: copied completely, with the new path of the checkout.
    Scripts,
    /// `node_modules`, or a scope in it.
    NodeModules,
    /// The top of a virtual environment.
    Environment,
    /// `lib` in a virtual environment.
    Library,
    /// `site-packages` in a virtual environment.
    SitePackages,
    /// A link into the store.
    Linked,
    /// Not placed.
    Omitted,
}

/// Places files that were made in one checkout into another one.
#[derive(Debug)]
pub(super) struct Mirror<'a> {
    /// The checkout in which the files were made.
    pub(super) old_root: &'a Path,
    /// The checkout in which they are placed.
    pub(super) new_root: &'a Path,
}

impl Mirror<'_> {
    /// Places the stored file or directory at this relative path. Something else at the path, such
    /// as a file of the commit, stays as it is. So does a path through a link.
    pub(super) fn place(&self, stored: &Path, path: &str) -> Result<()> {
        let mut target = self.new_root.to_owned();
        let (dirs, _) = path.rsplit_once('/').unwrap_or_default();
        for name in dirs.split('/').filter(|name| !name.is_empty()) {
            target.push(name);
            match target.symlink_metadata() {
                Ok(found) if found.is_dir() => {}
                Ok(_) => return Ok(()),
                Err(_) => create_dir(&target)?,
            }
        }
        let target = self.new_root.join(path);
        if target.symlink_metadata().is_ok() {
            return Ok(());
        }
        self.place_entry(stored, &target, Layout::Copied)
    }

    fn place_entry(&self, from: &Path, to: &Path, parent: Layout) -> Result<()> {
        let found = from
            .symlink_metadata()
            .map_err(|error| Error::io(from, &error))?;
        if found.is_symlink() {
            self.copy_link(from, to)
        } else if found.is_dir() {
            match layout(parent, from) {
                Layout::Omitted => Ok(()),
                Layout::Linked => symlink(from, to).map_err(|error| Error::io(to, &error)),
                layout => self.place_dir(from, to, layout),
            }
        } else if !found.is_file() {
            Ok(())
        } else if parent == Layout::Copied {
            copy_file(from, to)
        } else if found.len() <= MAX_SCRIPT_BYTES {
            self.copy_script(from, to)
        } else {
            symlink(from, to).map_err(|error| Error::io(to, &error))
        }
    }

    fn place_dir(&self, from: &Path, to: &Path, layout: Layout) -> Result<()> {
        create_dir(to)?;
        for entry in fs::read_dir(from).map_err(|error| Error::io(from, &error))? {
            let entry = entry.map_err(|error| Error::io(from, &error))?;
            self.place_entry(&entry.path(), &to.join(entry.file_name()), layout)?;
        }
        Ok(())
    }

    /// Copies a link. A relative one stays relative, so that it leads to the files of the new
    /// checkout.
    fn copy_link(&self, from: &Path, to: &Path) -> Result<()> {
        let target = fs::read_link(from).map_err(|error| Error::io(from, &error))?;
        let target = match target.strip_prefix(self.old_root) {
            Ok(inside) => self.new_root.join(inside),
            Err(_) => target,
        };
        symlink(target, to).map_err(|error| Error::io(to, &error))
    }

    /// Copies a small file, with the new path of the checkout.
    fn copy_script(&self, from: &Path, to: &Path) -> Result<()> {
        let content = fs::read(from).map_err(|error| Error::io(from, &error))?;
        let (Some(old), Some(new)) = (self.old_root.to_str(), self.new_root.to_str()) else {
            return copy_file(from, to);
        };
        let Some(content) = replace(&content, old.as_bytes(), new.as_bytes()) else {
            return copy_file(from, to);
        };
        fs::write(to, content).map_err(|error| Error::io(to, &error))?;
        let mode = from
            .metadata()
            .map_or(0o600, |found| found.permissions().mode());
        fs::set_permissions(to, fs::Permissions::from_mode(mode))
            .map_err(|error| Error::io(to, &error))
    }
}

/// Returns how a directory is placed, by its name and the directory that contains it.
fn layout(parent: Layout, dir: &Path) -> Layout {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    match parent {
        Layout::Copied if name == "node_modules" => Layout::NodeModules,
        Layout::Copied if dir.join("pyvenv.cfg").is_file() => Layout::Environment,
        Layout::Copied => Layout::Copied,
        Layout::Scripts => Layout::Scripts,
        Layout::NodeModules if name.starts_with('@') => Layout::NodeModules,
        Layout::NodeModules if name == ".bin" => Layout::Scripts,
        Layout::NodeModules if NODE_CACHES.contains(&&*name) => Layout::Omitted,
        Layout::Environment if matches!(&*name, "bin" | "Scripts") => Layout::Scripts,
        Layout::Environment if matches!(&*name, "lib" | "lib64") => Layout::Library,
        Layout::Library if name == "site-packages" => Layout::SitePackages,
        Layout::Library => Layout::Library,
        _ => Layout::Linked,
    }
}

/// Replaces every occurrence of a path in a text; `None` if it does not occur, or if it is not text.
fn replace(content: &[u8], old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    if content.contains(&0) || old.is_empty() {
        return None;
    }
    let mut result = Vec::with_capacity(content.len());
    let mut rest = content;
    while let Some(at) = memmem::find(rest, old) {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(new);
        rest = &rest[at + old.len()..];
    }
    if rest.len() == content.len() {
        return None;
    }
    result.extend_from_slice(rest);
    Some(result)
}
