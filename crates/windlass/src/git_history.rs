//! Reads a repository's commit history from git, for ranking. Git runs in the sandbox, and the repository's own
//! settings cannot choose which programs it starts.

use std::path::Path;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use windlass_index::{HistorySource, NewHistory, PastCommit};
use windlass_sandbox::{CommandSpec, ProcessLimits, Profile, Sandbox};

/// Time limit of one git command.
const DEADLINE: Duration = Duration::from_secs(20);
/// Maximum number of bytes read from git's output.
const MAX_OUTPUT_BYTES: usize = 32 << 20;
/// Marks in git's output: before a commit, and after its message.
const COMMIT: char = '\u{1}';
const MESSAGE_END: char = '\u{2}';

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
            commits: parse(&self.run(root, &log).await?),
            head,
            since,
        })
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

/// Parses the commits in git's output: a mark, the message, a mark, then the paths, each followed by a NUL.
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
    fn log_is_parsed_into_messages_and_paths() {
        let log = "\u{1}One\n\nWhy.\n\u{2}\0\na.rs\0src/b c.rs\0\0\u{1}Empty\n\u{2}\0";
        let commits = parse(log);
        assert_eq!(commits[0].message, "One\n\nWhy.\n");
        assert_eq!(commits[0].files, ["a.rs", "src/b c.rs"]);
        assert_eq!(commits[1].files, Vec::<String>::new());
        assert_eq!(parse("no commit at all"), []);
    }
}
