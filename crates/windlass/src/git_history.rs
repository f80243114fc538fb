//! What git knows of a repository's past, for ranking. Git runs behind walls, and the repository's own settings have
//! no say in what it starts.

use std::path::Path;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use windlass_index::{HistorySource, NewHistory, PastCommit};
use windlass_sandbox::{CommandSpec, ProcessLimits, Profile, Sandbox};

/// A history that takes longer is not worth waiting for.
const DEADLINE: Duration = Duration::from_secs(20);
/// The most of git's answer that is read.
const MAX_OUTPUT_BYTES: usize = 32 << 20;
/// Marks in git's answer: before a commit, and after its message.
const COMMIT: char = '\u{1}';
const MESSAGE_END: char = '\u{2}';

/// Past commits, from git.
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
            None => self.git(root, &["rev-parse", "--verify", "HEAD"]).await?,
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
            // What is not behind us is another past.
            Some(known) => {
                let order = ["merge-base", "--is-ancestor", known, &head];
                let behind = self.git(root, &order).await.is_some();
                behind.then(|| known.to_owned())
            }
            None => None,
        };
        let range = match &since {
            Some(since) => format!("{since}..{head}"),
            None => head.clone(),
        };
        let count = format!("-n{commits}");
        let format = format!("--format={COMMIT}%B{MESSAGE_END}");
        let log = [
            "log",
            "-z",
            "--no-merges",
            "--no-renames",
            "--no-show-signature",
            "--name-only",
            "--relative",
            &count,
            &format,
            &range,
        ];
        Some(NewHistory {
            commits: parse(&self.git(root, &log).await?),
            head,
            since,
        })
    }

    /// What git says, if it ends well.
    async fn git(&self, root: &Path, args: &[&str]) -> Option<String> {
        let limits = ProcessLimits {
            deadline: DEADLINE,
            output_bytes: MAX_OUTPUT_BYTES,
            ..ProcessLimits::default()
        };
        // A clone may have its objects elsewhere, in a place that is hidden otherwise.
        let mut walls = Profile::tool();
        if let Some(objects) = windlass_index::shared_objects(root) {
            walls = walls.read(objects);
        }
        let spec = CommandSpec::new("git", root, walls)
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
        let whole = output.exit.success() && !output.stdout.is_truncated();
        whole.then(|| output.stdout.text())
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

/// The commits in git's answer: a mark, the message, a mark, the paths with a NUL after each.
fn parse(log: &str) -> Vec<PastCommit> {
    let commit = |text: &str| {
        let (message, files) = text.split_once(MESSAGE_END)?;
        let files = files.split('\0').map(|path| path.trim_matches('\n'));
        Some(PastCommit {
            message: message.to_owned(),
            files: files
                .filter(|path| !path.is_empty())
                .map(str::to_owned)
                .collect(),
        })
    };
    log.split(COMMIT).skip(1).filter_map(commit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_messages_with_paths() {
        let log = "\u{1}One\n\nWhy.\n\u{2}\0\na.rs\0src/b c.rs\0\0\u{1}Empty\n\u{2}\0";
        let commits = parse(log);
        assert_eq!(commits[0].message, "One\n\nWhy.\n");
        assert_eq!(commits[0].files, ["a.rs", "src/b c.rs"]);
        assert_eq!(commits[1].files, Vec::<String>::new());
        assert_eq!(parse("no commit at all"), []);
    }
}
