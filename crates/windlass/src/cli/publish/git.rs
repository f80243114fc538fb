//! The user's git: its configuration, hooks, credential helpers and ssh.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use windlass_sandbox::{ExitReason, Output};
use windlass_tasks::Task;

use super::failure::{PushFailure, first_line};
use crate::user_program::{UserProgram, run_as_user};

/// Time limits: of a command on this machine, of asking the remote, and of a push with its hooks.
const LOCAL: Duration = Duration::from_secs(30);
const ASK: Duration = Duration::from_secs(60);
const PUSH: Duration = Duration::from_secs(5 * 60);

/// The branch that a pull request is for if nothing says otherwise.
const DEFAULT_BASE: &str = "main";

/// Variables that replace those of the user. No person answers a prompt, and a hook of git sets some of them
/// for its own repository.
const VARIABLES: &[(&str, Option<&str>)] = &[
    ("GIT_TERMINAL_PROMPT", Some("0")),
    ("SSH_ASKPASS_REQUIRE", Some("never")),
    ("SSH_ASKPASS", None),
    ("GCM_INTERACTIVE", Some("never")),
    ("LC_ALL", Some("C")),
    ("GIT_DIR", None),
    ("GIT_WORK_TREE", None),
    ("GIT_INDEX_FILE", None),
    ("GIT_OBJECT_DIRECTORY", None),
    ("GIT_ALTERNATE_OBJECT_DIRECTORIES", None),
    ("GIT_COMMON_DIR", None),
    ("GIT_NAMESPACE", None),
    ("GIT_PREFIX", None),
];

/// Runs git in the user's repository.
#[derive(Debug)]
pub(in crate::cli) struct UserGit<'a> {
    root: &'a Path,
    variables: Vec<(&'static str, Option<OsString>)>,
    /// Options before every command.
    options: &'static [&'static str],
}

/// Options for commands that exchange the commits of tasks: without hooks, and without background processes that would
/// outlive us.
const QUIET_OPTIONS: &[&str] = &[
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "gc.autoDetach=false",
    "-c",
    "maintenance.autoDetach=false",
    "-c",
    "fetch.recurseSubmodules=false",
];

/// The transports of git itself. No other program is started because an address says so.
const TRANSPORTS: &str = "file:git:http:https:ssh";

impl<'a> UserGit<'a> {
    /// Uses the user's git for commits of tasks: without hooks, and with the transports of git alone.
    pub(in crate::cli) async fn without_hooks(root: &'a Path) -> Self {
        let mut git = Self::new(root).await;
        git.options = QUIET_OPTIONS;
        git.variables
            .push(("GIT_ALLOW_PROTOCOL", Some(TRANSPORTS.into())));
        git
    }

    pub(super) async fn new(root: &'a Path) -> Self {
        let variables = VARIABLES.iter();
        let variables = variables.map(|(name, value)| (*name, value.map(OsString::from)));
        let mut git = Self {
            root,
            variables: variables.collect(),
            options: &[],
        };
        let own = std::env::var("GIT_SSH_COMMAND").ok();
        let own = match own.filter(|command| !command.is_empty()) {
            None if std::env::var_os("GIT_SSH").is_none() => {
                let configured = git.text(&["config", "--get", "core.sshCommand"]).await;
                Some(configured.unwrap_or_else(|| "ssh".to_owned()))
            }
            own => own,
        };
        let own = own.as_deref().and_then(without_prompts);
        git.variables
            .extend(own.map(|command| ("GIT_SSH_COMMAND", Some(command.into()))));
        git
    }

    pub(in crate::cli) async fn run(
        &self,
        deadline: Duration,
        args: &[&str],
    ) -> Result<Output, PushFailure> {
        self.run_with(deadline, args, Vec::new()).await
    }

    /// Runs git with this input.
    pub(in crate::cli) async fn run_with(
        &self,
        deadline: Duration,
        args: &[&str],
        input: Vec<u8>,
    ) -> Result<Output, PushFailure> {
        let args = self.options.iter().chain(args);
        let program = UserProgram {
            program: "git".into(),
            args: args.map(OsString::from).collect(),
            cwd: self.root,
            variables: &self.variables,
            input,
            deadline,
        };
        let output = run_as_user(program).await.map_err(PushFailure::Other)?;
        if output.exit.reason == ExitReason::Deadline {
            return Err(PushFailure::TimedOut(deadline));
        }
        Ok(output)
    }

    /// Returns the output of a command on this machine, or `None` if it fails or prints nothing.
    pub(in crate::cli) async fn text(&self, args: &[&str]) -> Option<String> {
        let output = self.run(LOCAL, args).await.ok()?;
        let text = output.stdout.text().trim().to_owned();
        (output.exit.success() && !text.is_empty()).then_some(text)
    }

    /// Fails unless the repository has a remote of this name. So an address can never be passed as a name.
    pub(super) async fn check_remote(&self, remote: &str) -> Result<(), PushFailure> {
        let remotes = self.text(&["remote"]).await.unwrap_or_default();
        if remotes.lines().any(|known| known == remote) {
            return Ok(());
        }
        Err(PushFailure::NoRemote)
    }

    /// Returns the commit of a ref of this repository.
    pub(super) async fn commit(&self, reference: &str) -> Result<String, PushFailure> {
        let name = format!("{reference}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", &name];
        let commit = self.text(&args).await;
        commit.ok_or_else(|| PushFailure::NoBranch(branch(reference).to_owned()))
    }

    /// Returns the commit that a ref of the remote points to, if the remote has it.
    pub(in crate::cli) async fn remote_commit(
        &self,
        remote: &str,
        reference: &str,
    ) -> Result<Option<String>, PushFailure> {
        let args = ["ls-remote", "--refs", "--", remote, reference];
        let output = self.run(ASK, &args).await?;
        if !output.exit.success() {
            return Err(PushFailure::parse("", &output.stderr.text()));
        }
        let text = output.stdout.text();
        let mut refs = text.lines().filter_map(|line| line.split_once('\t'));
        Ok(refs
            .find(|(_, name)| *name == reference)
            .map(|(commit, _)| commit.to_owned()))
    }

    /// Pushes a commit to a ref of the remote. With a lease, the ref must be at this commit, or absent if the lease is
    /// empty; without one, git accepts a fast-forward only.
    pub(in crate::cli) async fn push(
        &self,
        remote: &str,
        reference: &str,
        commit: &str,
        lease: Option<&str>,
    ) -> Result<(), PushFailure> {
        let refspec = format!("{commit}:{reference}");
        let lease = lease.map(|at| format!("--force-with-lease={reference}:{at}"));
        let mut args = vec!["push", "--porcelain", "--no-follow-tags"];
        args.push("--recurse-submodules=no");
        args.extend(lease.as_deref());
        args.extend(["--", remote, &refspec]);
        let output = self.run(PUSH, &args).await?;
        if output.exit.success() {
            return Ok(());
        }
        Err(PushFailure::parse(
            &output.stdout.text(),
            &output.stderr.text(),
        ))
    }

    /// Returns the branch that a pull request is for.
    pub(super) async fn base(&self, task: &Task, remote: &str) -> String {
        if let Some(target) = &task.target {
            return target.clone();
        }
        if let Some(head) = self
            .text(&["symbolic-ref", "--quiet", "--short", "HEAD"])
            .await
        {
            return head;
        }
        let default = format!("refs/remotes/{remote}/HEAD");
        let default = self
            .text(&["symbolic-ref", "--quiet", "--short", &default])
            .await;
        let prefix = format!("{remote}/");
        let default = default.and_then(|name| name.strip_prefix(&prefix).map(str::to_owned));
        default.unwrap_or_else(|| DEFAULT_BASE.to_owned())
    }
}

/// Returns the branch of a ref.
pub(super) fn branch(reference: &str) -> &str {
    reference.strip_prefix("refs/heads/").unwrap_or(reference)
}

/// Adds the option to ask nothing to an ssh command. Another program may not know the option, so it gets none.
fn without_prompts(command: &str) -> Option<String> {
    let program = command.split_whitespace().next()?;
    let name = Path::new(program).file_name()?;
    (name == "ssh").then(|| format!("{} -o BatchMode=yes", first_line(command)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ssh_gets_the_option_of_ssh() {
        let ssh = without_prompts("/usr/bin/ssh -i key").unwrap();
        assert_eq!(ssh, "/usr/bin/ssh -i key -o BatchMode=yes");
        assert_eq!(without_prompts("plink -batch"), None);
        assert_eq!(without_prompts(""), None);
    }
}
