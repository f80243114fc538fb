//! The store of set-up results: one directory per key.
//!
//! A result is complete or absent: it is built under a temporary name, renamed, and then described
//! by a file that is written last. One process at a time works on a key. The sandbox lets processes
//! read a result and not change it; a result that was changed all the same is not used.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::artifacts::Artifacts;
use super::digest::tree_state;
use super::files::{break_hard_links, copy_tree, create_dir, move_to};
use super::mirror::Mirror;
use super::prune::{StoreLimits, prune};
use super::record::{ENTRY_FILE, EntryRecord};
use crate::clone::{self, ClonesDir, LockedDir, Prepared, cache_dir};
use crate::error::{Error, Result};
use crate::last_use::mark_used;
use crate::test_runner::{CACHES, CacheSharing};

/// What the set-up created in the checkout.
const FILES_DIR: &str = "files";
/// The caches of tools.
const CACHES_DIR: &str = "caches";
/// Prefix of the names of lock files.
const LOCK_PREFIX: &str = "lock-";

/// How often a lock that another process holds is tried again.
const LOCK_INTERVAL: Duration = Duration::from_millis(100);

/// The directory of all results.
#[derive(Debug, Clone)]
pub(super) struct SetupStore {
    dir: ClonesDir,
}

/// A complete result.
#[derive(Debug, Clone)]
pub(super) struct SetupEntry {
    key: String,
    dir: PathBuf,
    record: EntryRecord,
}

impl SetupStore {
    /// Opens the store at `dir`, and creates it if it is missing.
    pub(super) fn open(dir: PathBuf) -> Result<Self> {
        let dir = ClonesDir::new(dir)?;
        Ok(Self { dir })
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Waits until no other process works on this key. The lock is released when the file is
    /// dropped or this process ends.
    pub(super) async fn lock(&self, key: &str, timeout: Duration) -> Result<File> {
        let path = self.path().join(format!("{LOCK_PREFIX}{key}"));
        let file = File::create(&path).map_err(|error| Error::io(&path, &error))?;
        let locked = async {
            while file.try_lock().is_err() {
                tokio::time::sleep(LOCK_INTERVAL).await;
            }
        };
        // The other process may run the set-up once, and use its result.
        let limit = timeout * 2;
        let waited = tokio::time::timeout(limit, locked).await;
        waited.map_err(|_| Error::Timeout {
            what: "waiting for the set-up of another process".into(),
            after: limit,
        })?;
        Ok(file)
    }

    /// Returns the result for a key. One that is incomplete, or was changed, is removed.
    pub(super) fn find(&self, key: &str) -> Result<Option<SetupEntry>> {
        let dir = self.path().join(key);
        if dir.symlink_metadata().is_err() {
            return Ok(None);
        }
        if let Some(record) = EntryRecord::read(&dir) {
            let entry = SetupEntry {
                key: key.to_owned(),
                dir: dir.clone(),
                record,
            };
            if entry
                .state()
                .is_ok_and(|(digest, _)| digest == entry.record.digest)
            {
                entry.touch();
                return Ok(Some(entry));
            }
            tracing::warn!(key, "a stored set-up result was changed: it is made again");
        }
        self.dir.remove(&dir)?;
        Ok(None)
    }

    /// Moves what the set-up created in the checkout at `root` into the store.
    pub(super) fn add(&self, key: &str, root: &Path, artifacts: &Artifacts) -> Result<SetupEntry> {
        let temp = LockedDir::new(&self.dir)?;
        let (files, caches) = (temp.path.join(FILES_DIR), temp.path.join(CACHES_DIR));
        create_dir(&files)?;
        create_dir(&caches)?;
        for path in &artifacts.paths {
            move_to(&root.join(path), &files.join(path))?;
        }
        let kept = take_caches(root, &caches)?;
        for dir in [&files, &caches] {
            break_hard_links(dir)?;
        }
        let dir = self.dir.rename_to(&temp.path, key)?;
        let mut entry = SetupEntry {
            key: key.to_owned(),
            dir,
            record: EntryRecord {
                root: root.to_owned(),
                artifacts: artifacts.paths.clone(),
                caches: kept,
                bytes: 0,
                digest: String::new(),
            },
        };
        (entry.record.digest, entry.record.bytes) = entry.state()?;
        entry.record.write(&entry.dir)?;
        Ok(entry)
    }

    /// Removes results that are too old or too large together, and the rest of interrupted work.
    pub(super) fn prune(&self) -> Result<()> {
        prune(&self.dir, StoreLimits::default())
    }
}

impl SetupEntry {
    /// Places the result in the checkout at `root`, and records what its processes need.
    pub(super) fn place(&self, root: &Path) -> Result<Prepared> {
        let files = self.dir.join(FILES_DIR);
        let mirror = Mirror {
            old_root: &self.record.root,
            new_root: root,
        };
        for path in &self.record.artifacts {
            mirror.place(&files.join(path), path)?;
        }
        for git in clone::git_dirs(root) {
            git.exclude_paths(&self.record.artifacts)?;
        }
        let caches = self.dir.join(CACHES_DIR);
        let mut variables = BTreeMap::new();
        let kept = CACHES.iter().filter(|cache| {
            let mut names = self.record.caches.iter();
            names.any(|name| name == cache.name)
        });
        for cache in kept {
            let stored = caches.join(cache.name);
            match (cache.sharing, cache_dir(root)) {
                (CacheSharing::Read, _) => {
                    variables.insert(cache.variable.to_owned(), cache.value(&stored));
                }
                (CacheSharing::Copied, Some(dir)) => {
                    let target = dir.join(cache.name);
                    fs::create_dir_all(&dir).map_err(|error| Error::io(&dir, &error))?;
                    let _ = fs::remove_dir(&target);
                    copy_tree(&stored, &target)?;
                }
                _ => {}
            }
        }
        let prepared = Prepared {
            key: self.key.clone(),
            readable: vec![files, caches],
            variables,
        };
        clone::record(root, &prepared)?;
        Ok(prepared)
    }

    /// Returns the digest and the disk space of its files.
    fn state(&self) -> Result<(String, u64)> {
        let files = tree_state(&self.dir.join(FILES_DIR))?;
        let caches = tree_state(&self.dir.join(CACHES_DIR))?;
        let digest = format!("{} {}", files.digest, caches.digest);
        Ok((digest, files.bytes + caches.bytes))
    }

    /// Notes that it is used now.
    fn touch(&self) {
        mark_used(&self.dir.join(ENTRY_FILE));
    }
}

/// Moves the caches of the checkout that later checkouts need, and removes the others. Returns the
/// names of those that were moved.
fn take_caches(root: &Path, into: &Path) -> Result<Vec<String>> {
    let Some(dir) = cache_dir(root) else {
        return Ok(Vec::new());
    };
    let mut kept = Vec::new();
    for cache in CACHES {
        let path = dir.join(cache.name);
        let mut content = fs::read_dir(&path).into_iter().flatten();
        if cache.sharing != CacheSharing::Dropped && content.next().is_some() {
            move_to(&path, &into.join(cache.name))?;
            kept.push(cache.name.to_owned());
        }
    }
    match fs::remove_dir_all(&dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(&dir, &error)),
        _ => Ok(kept),
    }
}
