//! The index of one folder: opened, brought up to date, asked.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest, Sha256};

use crate::history::{History, PastCommit};
use crate::record::{self, FileRecord};
use crate::symbols::SymbolParser;
use crate::walk::{self, FoundFile, IndexLimits};
use crate::{Error, Result, cache};

/// What bringing an index up to date came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Refresh {
    /// The files that are known now.
    pub files: usize,
    /// Of these, how many were read and parsed.
    pub parsed: usize,
    /// How many are gone since.
    pub removed: usize,
    /// How many files and folders a limit, their name or their permissions left out.
    pub left_out: usize,
}

/// Files and symbols of one folder.
#[derive(Debug)]
pub struct CodebaseIndex {
    root: PathBuf,
    cache: Option<PathBuf>,
    limits: IndexLimits,
    pub(crate) records: Vec<FileRecord>,
    pub(crate) history: History,
    /// A file that changed since may have changed again without another stamp.
    written: (i64, i64),
    last: Refresh,
    /// Whether the cache holds all this.
    is_kept: bool,
}

impl CodebaseIndex {
    /// The index of `root`, from its cache in `cache_folder` and up to date.
    pub fn open(root: &Path, cache_folder: &Path) -> Result<Self> {
        Self::open_with(root, Some(cache_folder), IndexLimits::default())
    }

    /// The same with other limits, and without a cache if there is no folder for one.
    pub fn open_with(
        root: &Path,
        cache_folder: Option<&Path>,
        limits: IndexLimits,
    ) -> Result<Self> {
        let mut index = Self::load(root, cache_folder, limits);
        index.refresh()?;
        Ok(index)
    }

    /// What the cache holds, be it up to date or not.
    pub(crate) fn load(root: &Path, cache_folder: Option<&Path>, limits: IndexLimits) -> Self {
        let cache = cache_folder.map(|folder| folder.join(cache_name(root)));
        let cached = cache.as_deref().and_then(cache::read).unwrap_or_default();
        Self {
            root: root.to_owned(),
            cache,
            limits,
            records: cached.records,
            history: cached.history,
            written: cached.written,
            last: Refresh::default(),
            is_kept: true,
        }
    }

    /// Brings the index up to date: only files that changed are read, only those with another content are parsed.
    pub fn refresh(&mut self) -> Result<Refresh> {
        let (found, left_out) = walk::walk(&self.root, &self.limits)?;
        let before = self.records.len();
        let mut known: HashMap<String, FileRecord> = std::mem::take(&mut self.records)
            .into_iter()
            .map(|record| (record.path.clone(), record))
            .collect();
        let (mut records, mut open) = (Vec::with_capacity(found.len()), Vec::new());
        for file in found {
            match known.remove(&file.path) {
                Some(record) if self.is_unchanged(&record, &file) => records.push(record),
                other => open.push((file, other)),
            }
        }
        let kept = records.len();
        let changed = !open.is_empty() || kept != before;
        let (read, parsed) = self.read_all(open)?;
        records.extend(read);
        records.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        self.records = records;
        self.last = Refresh {
            files: self.records.len(),
            parsed,
            removed: known.len(),
            left_out,
        };
        self.is_kept &= !changed;
        if !self.is_kept {
            self.save();
        }
        Ok(self.last)
    }

    /// What the last refresh came to.
    pub fn last_refresh(&self) -> Refresh {
        self.last
    }

    /// The folder that is indexed.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How many symbols are known.
    pub fn symbol_count(&self) -> usize {
        self.records.iter().map(|record| record.symbols.len()).sum()
    }

    /// The commit up to which the past is known, if any of it is.
    pub fn history_head(&self) -> Option<&str> {
        Some(self.history.head.as_str()).filter(|head| !head.is_empty())
    }

    /// Learns past commits, newest first, up to the commit `head`. With `since` they follow upon what is known already,
    /// which must end at that commit; otherwise they replace it.
    pub fn add_history(&mut self, head: &str, commits: &[PastCommit], since: Option<&str>) {
        self.stage_history(head, commits, since);
        if !self.is_kept {
            self.save();
        }
    }

    /// How many past commits are known.
    pub fn commit_count(&self) -> usize {
        self.history.files.len()
    }

    /// Learns past commits, to be kept with the next refresh.
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
        self.is_kept = false;
    }

    /// Forgets past commits: what they belong to is not there any more.
    pub(crate) fn clear_history(&mut self) {
        self.is_kept &= self.history == History::default();
        self.history = History::default();
    }

    pub(crate) fn limits(&self) -> &IndexLimits {
        &self.limits
    }

    fn is_unchanged(&self, record: &FileRecord, file: &FoundFile) -> bool {
        record.stamp == file.stamp && file.stamp.changed() < self.written
    }

    /// Reads files on every core. A file that vanished meanwhile is left out.
    fn read_all(
        &self,
        open: Vec<(FoundFile, Option<FileRecord>)>,
    ) -> Result<(Vec<FileRecord>, usize)> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.min(open.len().div_ceil(16)).max(1);
        let (next, parsed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            let mut reader = SymbolParser::new();
            let mut records = Vec::new();
            while let Some((file, before)) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
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
                    FileRecord::read(file.path.clone(), file.stamp, content, &text, &mut reader)
                });
            }
            records
        };
        let records = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut records = work();
            for other in others {
                let more = other.join();
                records.extend(more.map_err(|_| Error::Stopped("a file broke the parser".into()))?);
            }
            Ok::<_, Error>(records)
        })?;
        Ok((records, parsed.into_inner()))
    }

    /// Writes the cache. Without one the next start is slower, and nothing else.
    fn save(&mut self) {
        let newest = self.records.iter().map(|record| record.stamp.changed());
        self.written = newest.max().unwrap_or_default();
        let Some(path) = &self.cache else {
            return;
        };
        match cache::write(path, &self.records, &self.history) {
            Ok(written) => {
                self.written = written;
                self.is_kept = true;
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the index could not be kept");
            }
        }
    }
}

/// The name of a folder's cache. Clones that share the objects of one repository share its cache too: their files have
/// the same contents, and only contents are parsed.
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

/// Where a clone has the objects that it shares with another repository, if it does.
pub fn shared_objects(root: &Path) -> Option<PathBuf> {
    walk::first_line(&root.join(".git/objects/info/alternates"))
}
