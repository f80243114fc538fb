//! The tests of a base commit, run once and cached on disk.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};
use windlass_tasks::{Baseline, WorkingCopy};

use super::Judge;
use super::obstacle::obstacle;
use crate::blocking;
use crate::clone::{Checkout, CheckoutSource};
use crate::error::{Error, Result};
use crate::last_use::mark_used;
use crate::setup::Source;

/// How long a baseline is stored after its last use.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Maximum number of stored baselines.
const MAX_STORED: usize = 200;
/// Maximum size of a stored baseline.
const MAX_BYTES: u64 = 64 << 20;

impl Judge {
    /// Tests the base of a working copy, unless a stored result describes the same files, command and set-up.
    pub(super) async fn test_base(
        &self,
        copy: &dyn WorkingCopy,
        command: &[String],
    ) -> Result<Baseline> {
        let source = CheckoutSource::attempt(copy.root())?;
        let base = copy.base();
        let tree = self.tree(&source, base).await?;
        let entry = self.baselines.entry(&key(self, &tree, command)).await?;
        if let Some(stored) = entry.read() {
            return Ok(stored);
        }
        let checkout = Checkout::create(&self.clones, &source, base, &tree).await?;
        let result = self.run_in(&checkout, Source::Base(base), command).await?;
        let baseline = Baseline {
            obstacle: obstacle(&checkout.work, &result, &self.tests.settings),
            setup: self.tests.settings.setup.clone().unwrap_or_default(),
            projects: self.projects(&checkout.work, command),
            result,
        };
        // What keeps tests from running may be fixed outside the repository, so it is not cached.
        if baseline.obstacle.is_none() {
            entry.write(&baseline)?;
        }
        Ok(baseline)
    }

    /// Returns the tree of a commit.
    async fn tree(&self, source: &CheckoutSource, commit: &str) -> Result<String> {
        let git = &self.clones.git;
        if let Some(tree) = git.known().tree(commit) {
            return Ok(tree);
        }
        let name = format!("{commit}^{{tree}}");
        let output = source.git.command(git).run(&["rev-parse", &name]).await?;
        let tree = output.text();
        git.known().add_tree(commit, &tree);
        Ok(tree)
    }
}

/// Returns the name of what a baseline depends on.
fn key(judge: &Judge, tree: &str, command: &[String]) -> String {
    let settings = &judge.tests.settings;
    let mut hash = Sha256::new();
    let parts = [
        vec![env!("CARGO_PKG_VERSION").to_owned(), tree.to_owned()],
        command.to_vec(),
        settings.setup.clone().unwrap_or_default(),
        vec![settings.network.to_string()],
    ];
    for part in parts {
        for text in part {
            hash.update(text.len().to_le_bytes());
            hash.update(text.as_bytes());
        }
        hash.update(u64::MAX.to_le_bytes());
    }
    let hash = hash.finalize();
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The stored baselines.
#[derive(Debug, Clone)]
pub(super) struct BaselineStore {
    dir: PathBuf,
}

impl BaselineStore {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Waits until no other attempt makes the same baseline, and returns its entry.
    async fn entry(&self, key: &str) -> Result<BaselineEntry> {
        let (dir, key) = (self.dir.clone(), key.to_owned());
        blocking(move || {
            let mut builder = fs::DirBuilder::new();
            let created = builder.recursive(true).mode(0o700).create(&dir);
            created.map_err(|error| Error::io(&dir, &error))?;
            prune(&dir);
            let lock_path = dir.join(format!("{key}.lock"));
            let lock = File::create(&lock_path).map_err(|error| Error::io(&lock_path, &error))?;
            lock.lock().map_err(|error| Error::io(&lock_path, &error))?;
            Ok(BaselineEntry {
                path: dir.join(format!("{key}.json")),
                _lock: lock,
            })
        })
        .await
    }
}

/// One baseline on disk, locked.
struct BaselineEntry {
    path: PathBuf,
    _lock: File,
}

impl BaselineEntry {
    /// Returns the stored baseline. A file that cannot be used counts as missing.
    fn read(&self) -> Option<Baseline> {
        let file = File::open(&self.path).ok()?;
        if file.metadata().ok()?.len() > MAX_BYTES {
            return None;
        }
        mark_used(&self.path);
        serde_json::from_reader(std::io::BufReader::new(file)).ok()
    }

    /// Stores a baseline, completely or not at all.
    fn write(&self, baseline: &Baseline) -> Result<()> {
        let to_error = |error: std::io::Error| Error::io(&self.path, &error);
        let dir = self.path.parent().unwrap_or(&self.path);
        let text = serde_json::to_vec(baseline).map_err(|error| to_error(error.into()))?;
        let mut file = tempfile::NamedTempFile::new_in(dir).map_err(to_error)?;
        file.write_all(&text).map_err(to_error)?;
        file.persist(&self.path)
            .map_err(|error| to_error(error.error))?;
        Ok(())
    }
}

/// Removes old baselines, and the oldest if there are too many. Locks stay: a process may hold one.
fn prune(dir: &std::path::Path) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut stored: Vec<(SystemTime, PathBuf)> = entries
        .filter(|entry| entry.path().extension().is_some_and(|ext| ext == "json"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    stored.sort();
    let surplus = stored.len().saturating_sub(MAX_STORED);
    for (index, (modified, path)) in stored.iter().enumerate() {
        let is_old = modified.elapsed().is_ok_and(|age| age > MAX_AGE);
        if is_old || index < surplus {
            let _ = fs::remove_file(path);
        }
    }
}
