//! The index of one directory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest, Sha256};

use crate::history::{History, PastCommit};
use crate::record::{self, FileRecord};
use crate::symbols::SymbolParser;
use crate::walk::{self, FoundFile, IndexLimits};
use crate::{Error, Result, cache};

/// Result of an index update.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Refresh {
    /// Number of indexed files.
    pub files: usize,
    /// Number of files that were read and parsed.
    pub parsed: usize,
    /// Number of files that no longer exist.
    pub removed: usize,
    /// Number of files and directories skipped because of a limit, their name or their permissions.
    pub skipped: usize,
}

/// The index of the files and symbols of one directory.
#[derive(Debug)]
pub struct CodebaseIndex {
    root: PathBuf,
    cache: Option<PathBuf>,
    limits: IndexLimits,
    pub(crate) records: Vec<FileRecord>,
    pub(crate) history: History,
    /// When the cache was written. A file that changed later may have changed again with the same stamp.
    written: (i64, i64),
    last: Refresh,
    /// The cache is up to date.
    is_saved: bool,
}

impl CodebaseIndex {
    /// Opens the index of `root` with its cache in `cache_dir`, and updates it.
    pub fn open(root: &Path, cache_dir: &Path) -> Result<Self> {
        Self::open_with(root, Some(cache_dir), IndexLimits::default())
    }

    /// Like [`open`](Self::open), with the given limits, and without a cache if `cache_dir` is `None`.
    pub fn open_with(root: &Path, cache_dir: Option<&Path>, limits: IndexLimits) -> Result<Self> {
        let mut index = Self::load(root, cache_dir, limits);
        index.refresh()?;
        Ok(index)
    }

    /// Loads the cached index without an update.
    pub(crate) fn load(root: &Path, cache_dir: Option<&Path>, limits: IndexLimits) -> Self {
        let cache = cache_dir.map(|dir| dir.join(cache_name(root)));
        let cached = cache.as_deref().and_then(cache::read).unwrap_or_default();
        Self {
            root: root.to_owned(),
            cache,
            limits,
            records: cached.records,
            history: cached.history,
            written: cached.written,
            last: Refresh::default(),
            is_saved: true,
        }
    }

    /// Updates the index. Only files with changed metadata are read, and only those with new content are
    /// parsed.
    pub fn refresh(&mut self) -> Result<Refresh> {
        let (found, skipped) = walk::walk(&self.root, &self.limits)?;
        let before = self.records.len();
        let mut known: HashMap<String, FileRecord> = std::mem::take(&mut self.records)
            .into_iter()
            .map(|record| (record.path.clone(), record))
            .collect();
        let (mut records, mut changed_files) = (Vec::with_capacity(found.len()), Vec::new());
        for file in found {
            match known.remove(&file.path) {
                Some(record) if self.is_unchanged(&record, &file) => records.push(record),
                other => changed_files.push((file, other)),
            }
        }
        let unchanged = records.len();
        let changed = !changed_files.is_empty() || unchanged != before;
        let (read, parsed) = self.read_all(changed_files)?;
        records.extend(read);
        records.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        self.records = records;
        self.last = Refresh {
            files: self.records.len(),
            parsed,
            removed: known.len(),
            skipped,
        };
        self.is_saved &= !changed;
        if !self.is_saved {
            self.save();
        }
        Ok(self.last)
    }

    /// Returns the result of the last update.
    pub fn last_refresh(&self) -> Refresh {
        self.last
    }

    /// Returns the indexed directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the number of indexed symbols.
    pub fn symbol_count(&self) -> usize {
        self.records.iter().map(|record| record.symbols.len()).sum()
    }

    /// Returns the newest known commit, if any.
    pub fn history_head(&self) -> Option<&str> {
        Some(self.history.head.as_str()).filter(|head| !head.is_empty())
    }

    /// Adds commits, newest first, up to the commit `head`. With `since` they extend the known history, which
    /// must end at that commit; otherwise they replace it.
    pub fn add_history(&mut self, head: &str, commits: &[PastCommit], since: Option<&str>) {
        self.stage_history(head, commits, since);
        if !self.is_saved {
            self.save();
        }
    }

    /// Returns the number of known commits.
    pub fn commit_count(&self) -> usize {
        self.history.files.len()
    }

    /// Like [`add_history`](Self::add_history), but the cache is written by the next refresh.
    pub(crate) fn stage_history(
        &mut self,
        head: &str,
        commits: &[PastCommit],
        since: Option<&str>,
    ) {
        let before = Some(&self.history).filter(|known| Some(known.head.as_str()) == since);
        if before.is_some() && head == self.history.head {
            return;
        }
        self.history = History::new(head, commits, before);
        self.is_saved = false;
    }

    /// Removes the known history, because the repository has none any more.
    pub(crate) fn clear_history(&mut self) {
        self.is_saved &= self.history == History::default();
        self.history = History::default();
    }

    pub(crate) fn limits(&self) -> &IndexLimits {
        &self.limits
    }

    fn is_unchanged(&self, record: &FileRecord, file: &FoundFile) -> bool {
        record.stamp == file.stamp && file.stamp.changed() < self.written
    }

    /// Reads and parses files on all cores. Files that were deleted in the meantime are skipped.
    fn read_all(
        &self,
        files: Vec<(FoundFile, Option<FileRecord>)>,
    ) -> Result<(Vec<FileRecord>, usize)> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.min(files.len().div_ceil(16)).max(1);
        let (next, parsed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            let mut parser = SymbolParser::new();
            let mut records = Vec::new();
            while let Some((file, before)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                let Some(text) = walk::read(&self.root, &file.path, &self.limits) else {
                    continue;
                };
                let content = record::content_hash(&text);
                let same = before.as_ref().filter(|known| known.content == content);
                records.push(if let Some(known) = same {
                    FileRecord {
                        stamp: file.stamp,
                        ..known.clone()
                    }
                } else {
                    parsed.fetch_add(1, Ordering::Relaxed);
                    FileRecord::read(file.path.clone(), file.stamp, content, &text, &mut parser)
                });
            }
            records
        };
        let records = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut records = work();
            for other in others {
                let more = other.join();
                records.extend(more.map_err(|_| Error::Stopped("the parser panicked".into()))?);
            }
            Ok::<_, Error>(records)
        })?;
        Ok((records, parsed.into_inner()))
    }

    /// Writes the cache. If that fails, only the next start is slower.
    fn save(&mut self) {
        let newest = self.records.iter().map(|record| record.stamp.changed());
        self.written = newest.max().unwrap_or_default();
        let Some(path) = &self.cache else {
            return;
        };
        match cache::write(path, &self.records, &self.history) {
            Ok(written) => {
                self.written = written;
                self.is_saved = true;
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the index cache could not be written");
            }
        }
    }
}

/// Returns the name of a directory's cache file. Clones that share the objects of one repository share its
/// cache: their files have the same contents, and only contents are parsed.
fn cache_name(root: &Path) -> String {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let objects = shared_objects(&root).unwrap_or_else(|| root.join(".git/objects"));
    let hash: [u8; 32] = Sha256::digest(objects.as_os_str().as_encoded_bytes()).into();
    let name: String = hash
        .iter()
        .take(12)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{name}.index")
}

/// Returns the directory of the objects that a clone shares with another repository, if it does.
pub fn shared_objects(root: &Path) -> Option<PathBuf> {
    walk::first_line(&root.join(".git/objects/info/alternates"))
}
