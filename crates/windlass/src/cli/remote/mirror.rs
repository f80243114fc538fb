//! A machine's own bare copy of a remote, which it fetches incrementally. Clones of attempts borrow its objects.
//!
//! The branches of the remote are fetched to refs of their own. The branches of the mirror follow in one transaction, so
//! that a reader never sees half of them. A branch is ahead of the remote's if `task add` pushed commits for it that the
//! remote's branch does not have.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use windlass_core::{Clock as _, Error, ErrorCode, SystemClock};
use windlass_tasks::{Project, TaskId};

use super::git::{RemoteGit, TaskRefs};
use super::identity::roots;

/// What to fetch in addition to the branches.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) enum Results<'a> {
    /// The results of these tasks.
    Of(&'a [TaskId]),
    /// The branches of all tasks.
    All,
}

/// The mirror of a project.
#[derive(Debug, Clone)]
pub(in crate::cli) struct RemoteMirror {
    pub(super) dir: PathBuf,
    pub(super) url: String,
    pub(super) refs: TaskRefs,
    /// Whether its git commands wait for a remote that cannot be reached.
    retries: bool,
}

impl RemoteMirror {
    /// Returns the mirror of a project with a remote.
    pub(in crate::cli) fn of(project: &Project, mirrors: &Path, store: &str) -> Option<Self> {
        Some(Self {
            dir: project.mirror_in(mirrors),
            url: project.remote.clone()?,
            refs: TaskRefs {
                store: store.to_owned(),
            },
            retries: false,
        })
    }

    /// Waits for a remote that cannot be reached, as a worker does.
    pub(super) fn with_retries(self) -> Self {
        Self {
            retries: true,
            ..self
        }
    }

    /// Returns the root commits of the remote's default branch, oldest first.
    pub(in crate::cli) async fn roots_of(url: &str) -> Result<Vec<String>, Error> {
        let dir = tempfile::tempdir();
        let dir =
            dir.map_err(|error| Error::InvalidInput(format!("no temporary directory: {error}")))?;
        let git = RemoteGit::new(dir.path(), url).await?;
        git.clone_history().await?;
        Ok(roots(&dir.path().join("history")).await)
    }

    /// Returns the project with its mirror instead of a checkout.
    pub(super) fn project(&self, project: &Project) -> Project {
        Project {
            root: self.dir.clone(),
            ..project.clone()
        }
    }

    pub(super) async fn git(&self) -> Result<RemoteGit<'_>, Error> {
        let git = RemoteGit::new(&self.dir, &self.url).await?;
        Ok(git.with_retries(self.retries))
    }

    /// Brings the mirror up to date. It is created if it is missing.
    pub(in crate::cli) async fn sync(&self, results: Results<'_>) -> Result<(), Error> {
        let _lock = self.lock().await?;
        let git = self.git().await?;
        let (branch, commit) = git.head().await?;
        if !self.dir.join("HEAD").is_file() {
            let is_sha256 = commit.is_some_and(|commit| commit.len() == 64);
            let format = if is_sha256 { "sha256" } else { "sha1" };
            let format = format!("--object-format={format}");
            git.run(&["init", "--quiet", "--bare", &format, "."])
                .await?;
        }
        let targets = self.refs.target("*");
        let branches = [
            "+refs/heads/*:refs/windlass-remote/branches/*".to_owned(),
            "^refs/heads/windlass/*".to_owned(),
            "+refs/tags/*:refs/tags/*".to_owned(),
            format!("+{targets}:refs/windlass-remote/targets/*"),
        ];
        git.fetch(&branches).await?;
        // A separate fetch, because the exclusion above would apply to these refs too.
        let results = match results {
            Results::Of(tasks) => {
                let refs = tasks.iter().flat_map(|task| self.refs.of_task(*task));
                refs.collect()
            }
            Results::All => self.refs.of_all_tasks(),
        };
        if !results.is_empty() {
            git.fetch(&results).await?;
        }
        self.move_branches(&git).await?;
        if let Some(branch) = branch {
            let name = format!("refs/heads/{branch}");
            if git.local(&name).await.is_some() {
                git.run(&["symbolic-ref", "HEAD", &name]).await?;
            }
        }
        Ok(())
    }

    /// Makes the branches of the mirror those of the remote.
    async fn move_branches(&self, git: &RemoteGit<'_>) -> Result<(), Error> {
        let mut wanted = refs(git, "refs/windlass-remote/branches/").await?;
        for (branch, ahead) in refs(git, "refs/windlass-remote/targets/").await? {
            let is_ahead = match wanted.get(&branch) {
                Some(commit) => *commit != ahead && git.is_ancestor(commit, &ahead).await,
                None => true,
            };
            if is_ahead {
                wanted.insert(branch, ahead);
            }
        }
        // A branch with the name of the directory of ours would be in the way of them.
        wanted.retain(|branch, _| branch != "windlass" && !branch.starts_with("windlass/"));
        let current = refs(git, "refs/heads/").await?;
        let mut lines = String::from("start\n");
        for (branch, commit) in &wanted {
            if current.get(branch) != Some(commit) {
                lines.push_str(&format!("update refs/heads/{branch} {commit}\n"));
            }
        }
        for branch in current.keys() {
            if !wanted.contains_key(branch) && !branch.starts_with("windlass/") {
                lines.push_str(&format!("delete refs/heads/{branch}\n"));
            }
        }
        lines.push_str("prepare\ncommit\n");
        if lines.contains("refs/") {
            git.run_with(&["update-ref", "--stdin"], lines).await?;
        }
        Ok(())
    }

    /// Waits until no other process changes the mirror.
    async fn lock(&self) -> Result<File, Error> {
        let dir = self.dir.clone();
        let lock = move || {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true).mode(0o700).create(&dir)?;
            let path = dir.with_file_name(".lock");
            let file = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(path)?;
            file.lock()?;
            // `store prune --mirrors` sees when the mirror was used last.
            let now = Duration::from_millis(SystemClock::new().now().0);
            file.set_modified(UNIX_EPOCH + now)?;
            Ok::<_, std::io::Error>(file)
        };
        let locked = tokio::task::spawn_blocking(lock).await;
        let locked = locked.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        locked.map_err(|error| {
            let problem = format!("the mirror {} cannot be used: {error}", self.dir.display());
            Error::agent(ErrorCode::BackendError, problem)
        })
    }

    /// Makes sure that the mirror has a commit of a task, which may be another machine's.
    pub(super) async fn require(&self, commit: &str) -> Result<(), Error> {
        let git = self.git().await?;
        if self.dir.join("HEAD").is_file() && git.has(commit).await {
            return Ok(());
        }
        self.sync(Results::All).await
    }
}

/// Returns the commits of refs by the names after a prefix.
async fn refs(git: &RemoteGit<'_>, prefix: &str) -> Result<BTreeMap<String, String>, Error> {
    let format = "--format=%(objectname) %(refname)";
    let text = git.run(&["for-each-ref", format, prefix]).await?;
    let rows = text.lines().filter_map(|line| line.split_once(' '));
    let names = rows.filter_map(|(commit, name)| Some((name.strip_prefix(prefix)?, commit)));
    Ok(names
        .map(|(name, commit)| (name.to_owned(), commit.to_owned()))
        .collect())
}
