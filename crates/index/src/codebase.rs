//! The index of one directory.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use crate::cache::BlockStore;
use crate::head::IndexHead;
use crate::history::{History, PastCommit};
use crate::record::{FileEntry, FileParser, FileRecord};
use crate::walk::{self, FoundFile, IndexLimits};
use crate::{Result, cache, read};

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
    head: IndexHead,
    blocks: BlockStore,
    /// The decoded blocks. An update does not need them.
    data: OnceLock<IndexData>,
    /// When the cache was written. A file that changed later may have changed again with the same stamp.
    written: (i64, i64),
    last: Refresh,
    /// The cache is up to date.
    is_saved: bool,
}

/// What a query needs.
#[derive(Debug, Default)]
pub(crate) struct IndexData {
    /// Sorted by path.
    pub(crate) records: Vec<FileRecord>,
    pub(crate) history: History,
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
        let mut index = Self {
            root: root.to_owned(),
            cache,
            limits,
            head: IndexHead::default(),
            blocks: BlockStore::default(),
            data: OnceLock::new(),
            written: (0, 0),
            last: Refresh::default(),
            is_saved: true,
        };
        if let Some(cached) = index.cache.as_deref().and_then(cache::open) {
            index.head = cached.head;
            index.blocks = cached.blocks;
            index.written = cached.written;
        }
        index
    }

    /// Updates the index. Only files with changed metadata are read, and only those with new content are
    /// parsed.
    pub fn refresh(&mut self) -> Result<Refresh> {
        let (found, skipped) = walk::walk(&self.root, &self.limits)?;
        let before = self.head.files.len();
        // Both lists are sorted by path.
        let mut known = std::mem::take(&mut self.head.files).into_iter().peekable();
        let (mut files, mut changed_files) = (Vec::with_capacity(found.len()), Vec::new());
        let mut removed = 0;
        for file in found {
            while known.next_if(|entry| entry.path < file.path).is_some() {
                removed += 1;
            }
            match known.next_if(|entry| entry.path == file.path) {
                Some(entry) if self.is_unchanged(&entry, &file) => files.push(entry),
                other => changed_files.push((file, other)),
            }
        }
        removed += known.count();
        let changed = !changed_files.is_empty() || files.len() != before;
        let read = read::read_files(&self.root, &self.limits, changed_files)?;
        let parsed = read.iter().filter(|(_, block)| block.is_some()).count();
        for (mut entry, block) in read {
            if let Some(block) = block {
                entry.block = self.blocks.push(&block);
            }
            files.push(entry);
        }
        files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        self.head.files = files;
        self.last = Refresh {
            files: self.head.files.len(),
            parsed,
            removed,
            skipped,
        };
        if changed {
            self.data.take();
            self.is_saved = false;
        }
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
        let symbols = self.head.files.iter().map(|entry| entry.symbols as usize);
        symbols.sum()
    }

    /// Returns the newest known commit, if any.
    pub fn history_head(&self) -> Option<&str> {
        Some(self.head.commit.as_str()).filter(|commit| !commit.is_empty())
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
        self.head.commits
    }

    /// Like [`add_history`](Self::add_history), but the cache is written by the next refresh.
    pub(crate) fn stage_history(
        &mut self,
        head: &str,
        commits: &[PastCommit],
        since: Option<&str>,
    ) {
        let is_extended = since == Some(self.head.commit.as_str());
        if is_extended && head == self.head.commit {
            return;
        }
        let before = is_extended.then(|| self.read_history());
        let history = History::new(commits, before.as_ref());
        self.head.commits = history.files.len();
        self.set_history(head, &history.encode());
    }

    /// Removes the known history, because the repository has none any more.
    pub(crate) fn clear_history(&mut self) {
        if !self.head.commit.is_empty() {
            self.head.commits = 0;
            self.set_history("", &History::default().encode());
        }
    }

    fn set_history(&mut self, commit: &str, block: &[u8]) {
        self.head.commit = commit.to_owned();
        self.head.history = self.blocks.push(block);
        self.data.take();
        self.is_saved = false;
    }

    /// Returns the data of all files, which is read on first use. Where the cache is corrupted, files are read again.
    pub(crate) fn data(&self) -> &IndexData {
        self.data.get_or_init(|| {
            let data = self.blocks.read();
            let record = |entry: &FileEntry| {
                let block = entry.block.bytes(&data);
                let cached = block.and_then(|block| FileRecord::decode(entry.path.clone(), block));
                cached.unwrap_or_else(|| {
                    let text =
                        walk::read(&self.root, &entry.path, &self.limits).unwrap_or_default();
                    FileRecord::read(entry.path.clone(), &text, &mut FileParser::new())
                })
            };
            IndexData {
                records: self.head.files.iter().map(record).collect(),
                history: self.read_history(),
            }
        })
    }

    fn read_history(&self) -> History {
        let block = self.blocks.read_one(&self.head.history);
        let history = block.and_then(|block| History::decode(&block));
        history.unwrap_or_default()
    }

    pub(crate) fn limits(&self) -> &IndexLimits {
        &self.limits
    }

    fn is_unchanged(&self, entry: &FileEntry, file: &FoundFile) -> bool {
        entry.stamp == file.stamp && file.stamp.changed() < self.written
    }

    /// Writes the cache. If that fails, only the next start is slower.
    fn save(&mut self) {
        let newest = self.head.files.iter().map(|entry| entry.stamp.changed());
        self.written = newest.max().unwrap_or_default();
        self.head.remove_unused(&mut self.blocks);
        let Some(path) = &self.cache else {
            return;
        };
        match self.blocks.write(path, &self.head) {
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
