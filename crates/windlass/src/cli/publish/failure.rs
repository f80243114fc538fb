//! Why a push failed, as one sentence with the next step.

use std::time::Duration;

use windlass_core::escape_line;
use windlass_tasks::TaskId;

/// Maximum length of the words of a server or a program in a sentence.
const MAX_WORDS: usize = 600;

/// Why a push failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum PushFailure {
    /// The repository has no such remote.
    NoRemote,
    /// The repository has no such branch.
    NoBranch(String),
    /// A hook or a rule of the remote rejected the commit, with these words.
    Rejected(String),
    /// The remote has commits that we did not push.
    Ahead,
    /// The remote does not accept the credentials.
    Authentication(String),
    /// The remote cannot be reached.
    Unreachable(String),
    /// There is no repository at the address. It may be on a disk that is not mounted for a moment.
    Missing(String),
    /// It took too long.
    TimedOut(Duration),
    /// The command for pull requests failed.
    Command { program: String, words: String },
    /// The command for pull requests cannot be started.
    NotStarted { program: String, words: String },
    /// Anything else.
    Other(String),
}

/// Words of git and ssh for one kind of failure.
const AUTHENTICATION: &[&str] = &[
    "permission denied",
    "authentication failed",
    "could not read username",
    "could not read password",
    "terminal prompts disabled",
    "host key verification failed",
    "invalid username or",
    "returned error: 401",
    "returned error: 403",
];
const UNREACHABLE: &[&str] = &[
    "could not resolve host",
    "connection refused",
    "connection timed out",
    "connection reset",
    "connection closed",
    "network is unreachable",
    "no route to host",
    "failed to connect",
    "unable to connect",
    "unable to access",
    "the remote end hung up",
    "early eof",
    "returned error: 5",
];

const MISSING: &[&str] = &["does not appear to be a git repository"];

impl PushFailure {
    /// Reads the output of git.
    pub(in crate::cli) fn parse(stdout: &str, stderr: &str) -> Self {
        let status = stdout.lines().find(|line| line.starts_with('!'));
        let status = status.unwrap_or_default().to_ascii_lowercase();
        let ahead = [
            "stale info",
            "fetch first",
            "non-fast-forward",
            "needs force",
        ];
        if ahead.iter().any(|words| status.contains(words)) {
            return Self::Ahead;
        }
        if status.contains("[remote rejected]") {
            let words = remote_words(stderr);
            let why = status.rsplit_once('(').map_or("", |(_, why)| why);
            let why = why.trim_end().trim_end_matches(')').to_owned();
            return Self::Rejected(if words.is_empty() { why } else { words });
        }
        let lower = stderr.to_ascii_lowercase();
        let says = |list: &[&str]| list.iter().any(|words| lower.contains(words));
        let words = without_credentials(&own_words(stderr));
        if says(AUTHENTICATION) {
            Self::Authentication(words)
        } else if says(UNREACHABLE) {
            Self::Unreachable(words)
        } else if says(MISSING) {
            Self::Missing(words)
        } else {
            Self::Other(words)
        }
    }

    /// Returns `true` if the same push may succeed later, without a person.
    pub(in crate::cli) fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_) | Self::TimedOut(_) | Self::Command { .. }
        )
    }

    /// Describes the failure, for callers that know the next step.
    pub(in crate::cli) fn reason(&self, remote: &str) -> String {
        let text = match self {
            Self::NoRemote => format!("{remote} is not a remote"),
            Self::NoBranch(branch) => format!("there is no branch {branch}"),
            Self::Rejected(words) => format!("{remote} rejected the push: {words}"),
            Self::Ahead => format!("{remote} has other commits there, and they are kept"),
            Self::Authentication(words) => {
                format!("{remote} did not accept the credentials of this machine: {words}")
            }
            Self::Unreachable(words) => format!("{remote} cannot be reached: {words}"),
            Self::TimedOut(after) => {
                format!("{remote} did not answer within {} s", after.as_secs())
            }
            Self::Command { words, .. }
            | Self::NotStarted { words, .. }
            | Self::Missing(words)
            | Self::Other(words) => {
                format!("git failed with {remote}: {words}")
            }
        };
        escape_line(&text).into_owned()
    }

    /// Describes the failure and the next step.
    pub(super) fn sentence(&self, remote: &str, task: TaskId) -> String {
        let again = format!("run windlass task push {task} --remote {remote}");
        let text = match self {
            Self::NoRemote => format!(
                "this repository has no remote {remote}: run git remote add {remote} URL, then {again}"
            ),
            Self::NoBranch(branch) => {
                format!("this repository has no branch {branch}: run windlass task retry {task}")
            }
            Self::Rejected(words) => {
                format!("{remote} rejected the push: {words}; when that is solved, {again}")
            }
            Self::Ahead => format!(
                "{remote} has commits on this branch that were not pushed from here, and they are kept: delete or rename \
                the branch there, then {again}"
            ),
            Self::Authentication(words) => format!(
                "{remote} did not accept your credentials: {words}; log in with git or load your ssh key, then {again}"
            ),
            Self::Unreachable(words) => {
                format!("{remote} cannot be reached: {words}; it is tried again, or {again}")
            }
            Self::TimedOut(after) => format!(
                "{remote} did not answer within {} s; it is tried again, or {again}",
                after.as_secs()
            ),
            Self::Command { program, words } => format!(
                "the branch is on {remote}, but {program} opened no pull request: {words}; it is tried again, or {again}"
            ),
            Self::NotStarted { program, words } => format!(
                "the branch is on {remote}, but {program} cannot be started: {words}; install it or change \
                publish.command, then {again}"
            ),
            Self::Missing(words) | Self::Other(words) => {
                format!("the push to {remote} failed: {words}; when that is solved, {again}")
            }
        };
        escape_line(&text).into_owned()
    }
}

/// Returns what the server printed.
fn remote_words(stderr: &str) -> String {
    let lines = stderr
        .lines()
        .filter_map(|line| line.strip_prefix("remote:"));
    joined(lines)
}

/// Returns what git and ssh printed, without hints.
fn own_words(stderr: &str) -> String {
    let lines = stderr.lines().map(|line| {
        let line = line.strip_prefix("fatal: ").unwrap_or(line);
        line.strip_prefix("error: ").unwrap_or(line)
    });
    let is_noise = |line: &&str| {
        line.starts_with("hint:")
            || line.starts_with("Please make sure you have the correct access rights")
            || line.starts_with("and the repository exists")
            || line.starts_with("Could not read from remote repository")
            || line.starts_with("failed to push some refs")
    };
    let words = joined(lines.filter(|line| !is_noise(line)));
    if words.is_empty() {
        "git gave no reason".to_owned()
    } else {
        words
    }
}

/// Joins lines that say something, up to the maximum length.
pub(super) fn joined<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines = lines.map(str::trim).filter(|line| !line.is_empty());
    let text = lines.take(20).collect::<Vec<_>>().join("; ");
    let text: String = text.chars().take(MAX_WORDS).collect();
    text.trim_end_matches(['.', ';', ' ']).to_owned()
}

/// Returns the first line of a text.
pub(super) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim()
}

/// Removes the name and the password from addresses.
pub(super) fn without_credentials(text: &str) -> String {
    let mut parts = text.split("://");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        clean.push_str("://");
        let host_end = part.find(['/', ' ', '\'', '"']).unwrap_or(part.len());
        let host = part[..host_end].rsplit('@').next().unwrap_or_default();
        clean.push_str(host);
        clean.push_str(&part[host_end..]);
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_git_are_recognized() {
        let rejected = PushFailure::parse(
            "To /r\n!\tc:refs/heads/x\t[remote rejected] (pre-receive hook declined)\nDone\n",
            "remote: no pushes on Friday        \nerror: failed to push some refs to '/r'\n",
        );
        assert_eq!(
            rejected,
            PushFailure::Rejected("no pushes on Friday".into())
        );
        let silent = PushFailure::parse("!\ta:b\t[remote rejected] (hook declined)\n", "");
        assert_eq!(silent, PushFailure::Rejected("hook declined".into()));
        for why in ["stale info", "fetch first", "non-fast-forward"] {
            let ahead = PushFailure::parse(&format!("!\ta:b\t[rejected] ({why})\n"), "");
            assert_eq!(ahead, PushFailure::Ahead);
        }
        let parse = |stderr: &str| PushFailure::parse("", stderr);
        let denied = "git@host: Permission denied (publickey).\nfatal: Could not read from remote repository.\n";
        assert_eq!(
            parse(denied),
            PushFailure::Authentication("git@host: Permission denied (publickey)".into())
        );
        let no_user = "fatal: could not read Username for 'https://h': terminal prompts disabled";
        assert!(matches!(parse(no_user), PushFailure::Authentication(_)));
        let refused = "fatal: unable to access 'https://me:key@h/r/': Failed to connect to h";
        let PushFailure::Unreachable(words) = parse(refused) else {
            panic!("not recognized");
        };
        assert!(
            words.contains("https://h/r/") && !words.contains("key"),
            "{words}"
        );
        let missing = "fatal: '/r' does not appear to be a git repository\nfatal: Could not read from remote repository.\n";
        assert!(matches!(parse(missing), PushFailure::Missing(_)));
        assert!(matches!(
            parse("fatal: no such thing"),
            PushFailure::Other(_)
        ));
        assert!(matches!(parse(""), PushFailure::Other(_)));
    }

    #[test]
    fn sentences_say_what_to_do_and_hide_control_characters() {
        let rejected = PushFailure::Rejected("\u{1b}[31mno\u{7}".into());
        let text = rejected.sentence("origin", TaskId::from(7));
        assert!(text.contains("run windlass task push 7"), "{text}");
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{7}'),
            "{text}"
        );
    }
}
