//! Reads a repository's commit history from git, for ranking. Git runs in the sandbox, and the repository's own
//! settings cannot choose which programs it starts.

use std::path::Path;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use windlass_index::{HistorySource, LOG_OPTIONS, NewHistory, parse_log};
use windlass_sandbox::{CommandSpec, ProcessLimits, Profile, Sandbox};

/// Time limit of one git command.
const DEADLINE: Duration = Duration::from_secs(20);
/// Maximum number of bytes read from git's output.
const MAX_OUTPUT_BYTES: usize = 64 << 20;
/// If the log is too long or too slow, it is read again with this part of the commits.
const FEWER_COMMITS: usize = 8;

/// A source of past commits that reads them from git.
#[derive(Debug, Clone)]
pub(crate) struct GitHistory {
    sandbox: Sandbox,
}

impl GitHistory {
    pub(crate) fn new(sandbox: Sandbox) -> Self {
        Self { sandbox }
    }

    async fn read(&self, root: &Path, known: Option<&str>, commits: usize) -> Option<NewHistory> {
        let head = match windlass_workspace::head_commit(root) {
            Some(head) => head,
            None => self.run(root, &["rev-parse", "--verify", "HEAD"]).await?,
        };
        let head = head.trim().to_owned();
        let since = match known {
            Some(known) if known == head => {
                return Some(NewHistory {
                    commits: Vec::new(),
                    since: Some(known.to_owned()),
                    head,
                });
            }
            // If the known commit is not an ancestor of HEAD, the history was rewritten and is read in full.
            Some(known) => {
                let args = ["merge-base", "--is-ancestor", known, &head];
                let is_ancestor = self.run(root, &args).await.is_some();
                is_ancestor.then(|| known.to_owned())
            }
            None => None,
        };
        let range = match &since {
            Some(since) => format!("{since}..{head}"),
            None => head.clone(),
        };
        let log = match self.log(root, commits, &range).await {
            Some(log) => log,
            None => self.log(root, commits / FEWER_COMMITS, &range).await?,
        };
        Some(NewHistory {
            commits: parse_log(&log),
            head,
            since,
        })
    }

    async fn log(&self, root: &Path, commits: usize, range: &str) -> Option<String> {
        let count = format!("-n{commits}");
        let mut log = vec!["log", &count];
        log.extend(LOG_OPTIONS);
        log.push(range);
        self.run(root, &log).await
    }

    /// Runs git and returns its output, or `None` if it fails or its output is truncated.
    pub(crate) async fn run(&self, root: &Path, args: &[&str]) -> Option<String> {
        let limits = ProcessLimits {
            deadline: DEADLINE,
            output_bytes: MAX_OUTPUT_BYTES,
            ..ProcessLimits::default()
        };
        // A clone may have its objects in another directory, which the sandbox would hide.
        let mut profile = Profile::tool();
        if let Some(objects) = windlass_index::shared_objects(root) {
            profile = profile.read(objects);
        }
        let spec = CommandSpec::new("git", root, profile)
            .args([
                "-c",
                "core.fsmonitor=false",
                "-c",
                "core.hooksPath=/dev/null",
            ])
            .args(args.iter().copied())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .limits(limits);
        let output = self.sandbox.run(spec).await.ok()?;
        let is_complete = output.exit.success() && !output.stdout.is_truncated();
        is_complete.then(|| output.stdout.text())
    }
}

impl HistorySource for GitHistory {
    fn history<'a>(
        &'a self,
        root: &'a Path,
        known: Option<&'a str>,
        commits: usize,
    ) -> BoxFuture<'a, Option<NewHistory>> {
        self.read(root, known, commits).boxed()
    }
}
