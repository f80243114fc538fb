//! Snapshots of a directory that a person works in, to show and to undo what an agent changed there.
//!
//! A snapshot is a tree in a private git directory, outside the directory. The user's index, `HEAD`, refs and stash
//! are not touched. Untracked files are part of a snapshot, ignored ones are not. Contents are stored byte for byte,
//! without filters and conversions.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use windlass_sandbox::Sandbox;

use crate::blocking;
use crate::change::{DIFF_FLAGS, differences, truncate_middle};
use crate::diff::MAX_DIFF_BYTES;
use crate::error::{Error, Result};
use crate::git::{Git, GitCommand, PrivateGitDir, Repository, is_hash};
use crate::paths::Root;

/// Maximum size of a file that is part of snapshots.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// Maximum size of all files that one snapshot adds.
const MAX_ADDED_BYTES: u64 = 1 << 30;
/// Maximum size of the stored snapshots of a directory. Beyond it they are all removed.
const MAX_STORED_BYTES: u64 = 2 << 30;
/// Maximum size of git's list of changed files.
const MAX_LIST_BYTES: usize = 32 << 20;

/// Takes and restores snapshots of one directory.
#[derive(Debug)]
pub struct DirSnapshots {
    git: Git,
    private: PrivateGitDir,
    /// The work tree: the repository that contains the directory, or the directory itself.
    root: PathBuf,
    /// The directory in the work tree; empty if it is the same.
    prefix: String,
    /// Where our git directory is.
    store: PathBuf,
    /// Held, shared, as long as the stored snapshots are needed.
    _in_use: File,
}

/// The files at one point in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The tree, by which it is found again.
    pub tree: String,
    /// Files that are not part of it because they are too large or cannot be read, sorted.
    pub skipped: Vec<String>,
}

/// The result of undoing a change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Restored {
    /// These files are as they were before.
    Files(Vec<String>),
    /// These files were changed again since. Nothing was restored.
    ChangedSince(Vec<String>),
}

impl DirSnapshots {
    /// Opens the snapshots of `dir` that are stored in `store`, a directory for these alone.
    pub async fn open(sandbox: Sandbox, store: &Path, dir: &Path) -> Result<Self> {
        let dir = dir.canonicalize().map_err(|error| Error::io(dir, &error))?;
        let repository = dir
            .ancestors()
            .find(|above| above.join(".git").exists())
            .and_then(|root| Repository::find(root).ok())
            .filter(|repository| !repository.bare);
        let root = repository
            .as_ref()
            .map_or_else(|| dir.clone(), |repository| repository.root.clone());
        let prefix = dir.strip_prefix(&root).unwrap_or(Path::new(""));
        let prefix = prefix.to_str().ok_or_else(|| Error::Path {
            path: dir.clone(),
            problem: "its name is not UTF-8: snapshots need one that is".to_owned(),
        })?;
        let in_use = open_store(store)?;
        let git_dir = store.join("git");
        let git = Git::new(sandbox, store.to_owned());
        let head = match &repository {
            Some(repository) => repository.head(&git).await.ok(),
            None => None,
        };
        // A repository with another kind of hash shares nothing.
        let head = head.filter(|(format, _)| format == "sha1");
        let shared = match &repository {
            Some(repository) if head.is_some() => repository.objects(),
            _ => Vec::new(),
        };
        let this = Self {
            private: PrivateGitDir::at(&git_dir, store, shared.clone()),
            git,
            root,
            prefix: prefix.to_owned(),
            store: store.to_owned(),
            _in_use: in_use,
        };
        let _lock = this.lock().await?;
        if !git_dir.join("HEAD").exists() {
            // What a killed process may have left is incomplete.
            let _ = fs::remove_dir_all(&git_dir);
            PrivateGitDir::create_sharing(&git_dir, store, shared)?;
            this.private.keep_bytes()?;
        }
        let more = repository.as_ref().and_then(Repository::exclude);
        this.private.exclude(&more.unwrap_or_default())?;
        if !this.private.index().exists()
            && let Some((_, head)) = &head
        {
            this.private
                .command(&this.git)
                .run(&["read-tree", head])
                .await?;
            // Compares all files once, so that only those that differ are stored.
            let args = ["update-index", "-q", "--refresh"];
            this.in_work_tree().output(&args).await?;
        }
        if this.is_ignored().await? {
            return Err(Error::Path {
                path: dir,
                problem: "git ignores it, so changes of files there cannot be seen".to_owned(),
            });
        }
        Ok(this)
    }

    /// Returns `true` if git ignores the directory and stores no file of it: then a snapshot of it is always empty.
    async fn is_ignored(&self) -> Result<bool> {
        let (index, dir) = (self.private.index(), format!("{}/", self.prefix));
        let flags = ["--others", "--ignored", "--exclude-standard", "--directory"];
        let is_above = |path: &String| path.ends_with('/') && dir.starts_with(path.as_str());
        Ok(!self.prefix.is_empty()
            && self.list(&index, &flags).await?.iter().any(is_above)
            && self.list(&index, &["--cached"]).await?.is_empty())
    }

    /// Takes a snapshot of the current files.
    pub async fn take(&self) -> Result<Snapshot> {
        let _lock = self.lock().await?;
        self.take_locked().await
    }

    /// Returns what differs between two snapshots as a unified diff. A long diff is truncated.
    pub async fn diff(&self, old: &str, new: &str) -> Result<String> {
        self.check_trees(&[old, new]).await?;
        let mut args = vec!["diff-tree", "-p", "-r"];
        args.extend(DIFF_FLAGS);
        args.extend([old, new]);
        let command = self.private.command(&self.git).max_output(MAX_DIFF_BYTES);
        let diff = command.run(&args).await?.stdout.text();
        Ok(truncate_middle(&diff, MAX_DIFF_BYTES))
    }

    /// Returns the files that differ between two snapshots, sorted.
    pub async fn changed_files(&self, old: &str, new: &str) -> Result<Vec<String>> {
        self.check_trees(&[old, new]).await?;
        let diffs = differences(&self.git, &self.private, old, new).await?;
        Ok(diffs.into_iter().map(|diff| diff.path).collect())
    }

    /// Makes the files that changed between two snapshots as they were in the first. Files that did not change between
    /// them stay as they are now. If one of the changed files is not as it was in the second snapshot, nothing is
    /// restored.
    pub async fn restore(&self, before: &str, after: &str) -> Result<Restored> {
        self.check_trees(&[before, after]).await?;
        let _lock = self.lock().await?;
        let now = self.take_locked().await?;
        let changed = differences(&self.git, &self.private, before, after).await?;
        let since = differences(&self.git, &self.private, after, &now.tree).await?;
        let paths: BTreeSet<&str> = changed.iter().map(|diff| diff.path.as_str()).collect();
        let again: Vec<String> = since
            .into_iter()
            .map(|diff| diff.path)
            .filter(|path| paths.contains(path.as_str()))
            .collect();
        if !again.is_empty() {
            return Ok(Restored::ChangedSince(again));
        }
        let (added, others): (Vec<_>, Vec<_>) = changed.iter().partition(|diff| diff.kind == 'A');
        let added: Vec<&str> = added.iter().map(|diff| diff.path.as_str()).collect();
        let is_rules = |path: &&str| path.rsplit('/').next() == Some(".gitignore");
        let (rules, added): (Vec<&str>, Vec<&str>) = added.into_iter().partition(is_rules);
        self.delete(&rules)?;
        let index = self.store.join("restore-index");
        let _ = fs::remove_file(&index);
        let private = || self.private.command(&self.git).index(&index);
        private().run(&["read-tree", before]).await?;
        if !others.is_empty() {
            let list: String = others
                .iter()
                .map(|diff| format!("{}\0", diff.path))
                .collect();
            self.in_work_tree()
                .write(&self.root)
                .index(&index)
                .input(list)
                .run(&["checkout-index", "-f", "-z", "--stdin"])
                .await?;
        }
        // A file that the agent only made visible, by a change of the ignore rules, is the user's.
        let visible: BTreeSet<String> = self
            .list(&index, &["--others", "--exclude-standard"])
            .await?
            .into_iter()
            .collect();
        let created: Vec<&str> = added
            .into_iter()
            .filter(|path| visible.contains(*path))
            .collect();
        self.delete(&created)?;
        let _ = fs::remove_file(&index);
        Ok(Restored::Files(
            changed.into_iter().map(|diff| diff.path).collect(),
        ))
    }

    async fn take_locked(&self) -> Result<Snapshot> {
        let index = self.private.index();
        let args = ["--others", "--modified", "--deleted", "--exclude-standard"];
        let listed: BTreeSet<String> = self.list(&index, &args).await?.into_iter().collect();
        let mut skipped = Vec::new();
        let mut list = String::new();
        let mut removed = String::new();
        let mut bytes = 0;
        for path in listed {
            let full = self.root.join(&path);
            let found = fs::symlink_metadata(&full);
            if found.is_err() || self.is_beyond_link(&path) {
                // Mode 0 removes an entry.
                removed.push_str(&format!("0 {}\t{path}\0", "0".repeat(40)));
                continue;
            }
            match found {
                // Another repository, or a submodule: its content is not part of the directory.
                Ok(found) if found.is_dir() => continue,
                Ok(found) if found.is_file() => {
                    if found.len() > MAX_FILE_BYTES || File::open(&full).is_err() {
                        skipped.push(path);
                        continue;
                    }
                    bytes += found.len();
                }
                _ => {}
            }
            list.push_str(&path);
            list.push('\0');
        }
        if bytes > MAX_ADDED_BYTES {
            let problem = format!(
                "has {} MB that git does not store or ignore: add large files to .gitignore",
                bytes >> 20
            );
            return Err(Error::Path {
                path: self.root.join(&self.prefix),
                problem,
            });
        }
        if !removed.is_empty() {
            let command = self.private.command(&self.git).input(removed);
            command.run(&["update-index", "-z", "--index-info"]).await?;
        }
        if !list.is_empty() {
            let args = [
                "update-index",
                "--add",
                "--remove",
                "--replace",
                "-z",
                "--stdin",
            ];
            self.in_work_tree().input(list).run(&args).await?;
        }
        let tree = self.private.command(&self.git).run(&["write-tree"]).await?;
        Ok(Snapshot {
            tree: tree.text(),
            skipped,
        })
    }

    /// Returns `true` if a directory of this path is a link, so that it is the path of another file.
    fn is_beyond_link(&self, path: &str) -> bool {
        let above = Path::new(path).ancestors().skip(1);
        let mut above = above.filter(|dir| !dir.as_os_str().is_empty());
        above.any(|dir| self.root.join(dir).is_symlink())
    }

    /// Lists files of the directory with `git ls-files`.
    async fn list(&self, index: &Path, flags: &[&str]) -> Result<Vec<String>> {
        let mut args = vec!["ls-files", "-z"];
        args.extend(flags);
        if !self.prefix.is_empty() {
            args.extend(["--", &self.prefix]);
        }
        let command = self.in_work_tree().index(index).max_output(MAX_LIST_BYTES);
        command.run(&args).await?.nul_separated()
    }

    /// Creates a sandboxed command that reads the work tree.
    fn in_work_tree(&self) -> GitCommand<'_> {
        self.private
            .command_in(&self.git, &self.root)
            .read([&self.root])
    }

    /// Deletes these files, and the directories that are empty then.
    fn delete(&self, paths: &[&str]) -> Result<()> {
        let root = Root::open(&self.root)?;
        for path in paths {
            match root.delete(path) {
                Err(error) if error.is_not_found() => {}
                other => other?,
            }
            let full = self.root.join(path);
            let inside = self.root.join(&self.prefix);
            let above = full.ancestors().skip(1);
            for dir in above.take_while(|dir| *dir != inside && dir.starts_with(&inside)) {
                // Fails unless the directory is empty.
                if fs::remove_dir(dir).is_err() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns an error unless these are stored snapshots.
    async fn check_trees(&self, trees: &[&str]) -> Result<()> {
        for tree in trees {
            let name = format!("{tree}^{{tree}}");
            let command = self.private.command(&self.git);
            let exists =
                is_hash(tree) && command.output(&["cat-file", "-e", &name]).await?.code == 0;
            if !exists {
                return Err(Error::Path {
                    path: self.store.clone(),
                    problem: "the files before this change are no longer stored".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Waits until no other process uses our git directory.
    async fn lock(&self) -> Result<File> {
        let path = self.store.join("lock");
        let index = self.private.index();
        blocking(move || {
            let lock = open_lock(&path)?;
            lock.lock().map_err(|error| Error::io(&path, &error))?;
            // Left by a killed git command.
            let _ = fs::remove_file(index.with_extension("lock"));
            Ok(lock)
        })
        .await
    }
}

/// Creates the directory of the snapshots if it is missing, and empties it if it is too large and not in use.
fn open_store(store: &Path) -> Result<File> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(store)
        .map_err(|error| Error::io(store, &error))?;
    let path = store.join("in-use");
    let file = open_lock(&path)?;
    if file.try_lock().is_ok() {
        let git_dir = store.join("git");
        if stored_bytes(&git_dir.join("objects")) > MAX_STORED_BYTES {
            fs::remove_dir_all(&git_dir).map_err(|error| Error::io(&git_dir, &error))?;
        }
        file.unlock().map_err(|error| Error::io(&path, &error))?;
    }
    file.lock_shared()
        .map_err(|error| Error::io(&path, &error))?;
    Ok(file)
}

fn open_lock(path: &Path) -> Result<File> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    options.open(path).map_err(|error| Error::io(path, &error))
}

/// Returns the size of the files two levels below a directory of objects.
fn stored_bytes(objects: &Path) -> u64 {
    let entries = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten();
    entries(objects)
        .flat_map(|dir| entries(&dir.path()))
        .filter_map(|entry| entry.metadata().ok())
        .map(|found| found.len())
        .sum()
}
