//! Git commands that talk to a remote, and the refs that take part.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use windlass_core::{Error, ErrorCode};
use windlass_tasks::TaskId;

use super::super::publish::{PushFailure, UserGit};
use super::url::check_url;

/// Time limits: of a command on this machine, and of fetching a whole history.
const LOCAL: Duration = Duration::from_secs(60);
const FETCH: Duration = Duration::from_secs(30 * 60);
/// Pauses before the retries of a worker, if the remote cannot be reached.
const PAUSES: [Duration; 8] = [
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(9),
    Duration::from_secs(27),
    Duration::from_secs(60),
    Duration::from_secs(60),
    Duration::from_secs(60),
    Duration::from_secs(60),
];

/// Maximum number of retries of a worker if there is no repository at the address, which may be wrong.
const MISSING_RETRIES: usize = 4;

/// The user's git, in one repository with one remote.
#[derive(Debug)]
pub(super) struct RemoteGit<'a> {
    git: UserGit<'a>,
    dir: &'a Path,
    url: &'a str,
    retries: bool,
}

impl<'a> RemoteGit<'a> {
    /// Checks the address again: the store may have been written by another program.
    pub(super) async fn new(dir: &'a Path, url: &'a str) -> Result<Self, Error> {
        check_url(url).map_err(Error::InvalidInput)?;
        Ok(Self {
            git: UserGit::without_hooks(dir).await,
            dir,
            url,
            retries: false,
        })
    }

    /// Retries for about five minutes if the remote cannot be reached, for callers that no person waits for.
    pub(super) fn with_retries(mut self, retries: bool) -> Self {
        self.retries = retries;
        self
    }

    /// Fetches these refs. Refs of their destinations that the remote does not have any more are deleted.
    pub(super) async fn fetch(&self, refspecs: &[String]) -> Result<(), Error> {
        let options = [
            "fetch",
            "--quiet",
            "--prune",
            "--no-tags",
            "--no-write-fetch-head",
        ];
        let mut args: Vec<&str> = options.to_vec();
        args.extend(["--end-of-options", self.url]);
        args.extend(refspecs.iter().map(String::as_str));
        self.ask(&args).await.map(drop)
    }

    /// Clones the commits of the default branch, without files where the remote can leave them out, as `history`.
    pub(super) async fn clone_history(&self) -> Result<(), Error> {
        let options = ["clone", "--quiet", "--bare", "--single-branch", "--no-tags"];
        let mut args: Vec<&str> = options.to_vec();
        args.extend(["--filter=tree:0", "--", self.url, "history"]);
        self.ask(&args).await.map(drop)
    }

    /// Runs a command that talks to the remote, and returns its output.
    async fn ask(&self, args: &[&str]) -> Result<String, Error> {
        let mut tries = self.tries();
        loop {
            let failure = match self.git.run(FETCH, args).await {
                Ok(output) if output.exit.success() => return Ok(output.stdout.text()),
                Ok(output) => PushFailure::parse("", &output.stderr.text()),
                Err(failure) => failure,
            };
            tries.pause(self, failure).await?;
        }
    }

    /// Returns the commit of a ref of the remote.
    pub(super) async fn commit(&self, reference: &str) -> Result<Option<String>, Error> {
        let mut tries = self.tries();
        loop {
            match self.git.remote_commit(self.url, reference).await {
                Ok(commit) => return Ok(commit),
                Err(failure) => tries.pause(self, failure).await?,
            }
        }
    }

    /// Returns the branch that the remote's HEAD points to, and the commit.
    pub(super) async fn head(&self) -> Result<(Option<String>, Option<String>), Error> {
        let text = self
            .ask(&["ls-remote", "--symref", "--", self.url, "HEAD"])
            .await?;
        let mut head = (None, None);
        for (value, name) in text.lines().filter_map(|line| line.split_once('\t')) {
            match value.strip_prefix("ref: refs/heads/") {
                Some(branch) if name == "HEAD" => head.0 = Some(branch.to_owned()),
                None if name == "HEAD" => head.1 = Some(value.to_owned()),
                _ => {}
            }
        }
        Ok(head)
    }

    /// Returns the refs of the remote that match a pattern, with their commits.
    pub(super) async fn list(&self, pattern: &str) -> Result<BTreeMap<String, String>, Error> {
        let args = ["ls-remote", "--refs", "--", self.url, pattern];
        let text = self.ask(&args).await?;
        let rows = text.lines().filter_map(|line| line.split_once('\t'));
        Ok(rows
            .map(|(commit, name)| (name.to_owned(), commit.to_owned()))
            .collect())
    }

    /// Deletes refs of the remote that still have these commits. Others stay: the caller lists them again.
    pub(super) async fn delete_remote(&self, refs: &[(&str, &str)]) -> Result<(), Error> {
        let leases = refs.iter();
        let leases = leases.map(|(name, commit)| format!("--force-with-lease={name}:{commit}"));
        let leases: Vec<String> = leases.collect();
        let names: Vec<String> = refs.iter().map(|(name, _)| format!(":{name}")).collect();
        let mut args = vec!["push", "--porcelain", "--no-follow-tags"];
        args.extend(leases.iter().map(String::as_str));
        args.extend(["--", self.url]);
        args.extend(names.iter().map(String::as_str));
        let pushed = self.git.run(FETCH, &args).await;
        let failure = match pushed {
            Ok(output) if output.exit.success() => return Ok(()),
            Ok(output) => PushFailure::parse(&output.stdout.text(), &output.stderr.text()),
            Err(failure) => failure,
        };
        match failure {
            PushFailure::Ahead => Ok(()),
            failure => Err(self.error(&failure)),
        }
    }

    /// Moves a ref of the remote from the commit `lease` to `commit`; an empty lease means that it must not exist. If
    /// the answer is lost, the next try finds the ref as it is.
    pub(super) async fn push(
        &self,
        commit: &str,
        reference: &str,
        lease: &str,
    ) -> Result<Result<(), PushFailure>, Error> {
        let mut tries = self.tries();
        loop {
            let pushed = self
                .git
                .push(self.url, reference, commit, Some(lease))
                .await;
            match pushed {
                Err(failure) if failure.may_pass() || tries.max(&failure) > 0 => {
                    tries.pause(self, failure).await?;
                }
                Err(PushFailure::Ahead) if tries.count > 0 => {
                    let there = self.commit(reference).await?;
                    let is_ours = there.as_deref() == Some(commit);
                    return Ok(if is_ours {
                        Ok(())
                    } else {
                        Err(PushFailure::Ahead)
                    });
                }
                pushed => return Ok(pushed),
            }
        }
    }

    /// Returns an error with the reason of a failure.
    pub(super) fn error(&self, failure: &PushFailure) -> Error {
        // Another machine may have space: git names the file that it could not write, but not why.
        if let PushFailure::Other(_) = failure
            && let Some(full) = windlass_workspace::Error::of_full_disk(self.dir)
        {
            return full.into();
        }
        let reason = failure.reason(self.url);
        if failure.may_pass() {
            return Error::agent(ErrorCode::BackendError, reason);
        }
        Error::InvalidInput(reason)
    }

    /// Runs a command on this machine, and returns its output, or `None` if it fails or prints nothing.
    pub(super) async fn text(&self, args: &[&str]) -> Option<String> {
        self.git.text(args).await
    }

    /// Runs a command on this machine that must succeed.
    pub(super) async fn run(&self, args: &[&str]) -> Result<String, Error> {
        self.run_with(args, String::new()).await
    }

    /// Runs a command with this input.
    pub(super) async fn run_with(&self, args: &[&str], input: String) -> Result<String, Error> {
        let output = self.git.run_with(LOCAL, args, input.into_bytes()).await;
        let output = output.map_err(|failure| self.error(&failure))?;
        if output.exit.success() {
            return Ok(output.stdout.text());
        }
        let failure = PushFailure::parse("", &output.stderr.text());
        Err(self.error(&failure))
    }

    /// Returns `true` if the repository on this machine has the commit.
    pub(super) async fn has(&self, commit: &str) -> bool {
        let name = format!("{commit}^{{commit}}");
        let args = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &name,
        ];
        is_hash(commit) && self.text(&args).await.is_some()
    }

    /// Returns the commit of a ref on this machine.
    pub(super) async fn local(&self, reference: &str) -> Option<String> {
        let name = format!("{reference}^{{commit}}");
        self.text(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &name,
        ])
        .await
    }

    /// Returns `true` if the repository has both commits, and one is an ancestor of the other.
    pub(super) async fn is_ancestor(&self, ancestor: &str, commit: &str) -> bool {
        let args = ["merge-base", "--is-ancestor", ancestor, commit];
        let output = self.git.run(LOCAL, &args).await;
        output.is_ok_and(|output| output.exit.success())
    }

    fn tries(&self) -> Tries {
        Tries {
            count: 0,
            retries: self.retries,
        }
    }
}

/// The tries of one operation.
struct Tries {
    count: usize,
    retries: bool,
}

impl Tries {
    /// Returns how often an operation with this failure is retried.
    fn max(&self, failure: &PushFailure) -> usize {
        match failure {
            _ if !self.retries => 0,
            PushFailure::Missing(_) => MISSING_RETRIES,
            failure if failure.may_pass() => PAUSES.len(),
            _ => 0,
        }
    }

    /// Waits before the next try, or returns the error if there is none.
    async fn pause(&mut self, git: &RemoteGit<'_>, failure: PushFailure) -> Result<(), Error> {
        if self.count >= self.max(&failure) {
            return Err(git.error(&failure));
        }
        tokio::time::sleep(PAUSES[self.count]).await;
        self.count += 1;
        Ok(())
    }
}

/// Returns `true` if a text is the hash of an object.
pub(super) fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.chars().all(|c| c.is_ascii_hexdigit())
}

/// The names of refs for the tasks of one store.
#[derive(Debug, Clone)]
pub(super) struct TaskRefs {
    pub(super) store: String,
}

impl TaskRefs {
    /// Returns the ref with the commits that the remote's own branch does not have.
    pub(super) fn target(&self, branch: &str) -> String {
        format!("refs/windlass/{}/target/{branch}", self.store)
    }

    /// Returns what to fetch for a task: its branch and its kept changes. A name that is not there is no error.
    pub(super) fn of_task(&self, task: TaskId) -> Vec<String> {
        let store = &self.store;
        let branch = format!("windlass/{store}/task-{task}");
        let kept = format!("refs/windlass/{store}/task-{task}");
        vec![
            format!("+refs/heads/{branch}*:refs/windlass-remote/heads/{branch}*"),
            format!("+{kept}/*:refs/windlass-remote/kept/{store}/task-{task}/*"),
        ]
    }

    /// Returns what to fetch for all tasks.
    pub(super) fn of_all_tasks(&self) -> Vec<String> {
        let store = &self.store;
        vec![format!(
            "+refs/heads/windlass/{store}/*:refs/windlass-remote/heads/windlass/{store}/*"
        )]
    }
}
