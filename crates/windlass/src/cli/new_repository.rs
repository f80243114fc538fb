//! Repositories that Windlass creates: for the demo, for evaluations and for scenarios.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_sandbox::{CommandSpec, Profile, Sandbox};

use super::exit::CliError;
use crate::git_history::GitHistory;

/// Time limit of one git command.
const DEADLINE: Duration = Duration::from_secs(60);

/// Git in a new repository: the subdirectory `name` of `parent`. Git runs in the parent directory, because the sandbox
/// forbids creating a repository in the working directory itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewGit<'a> {
    pub(super) sandbox: &'a Sandbox,
    pub(super) parent: &'a Path,
    pub(super) name: &'a str,
    /// The objects of another repository, which can be used too.
    pub(super) objects: Option<&'a Path>,
}

impl NewGit<'_> {
    pub(super) async fn init(&self) -> Result<(), CliError> {
        self.run(&["init", "--quiet", "--initial-branch=main"])
            .await
    }

    /// Commits all files.
    pub(super) async fn commit_all(&self, message: &str) -> Result<(), CliError> {
        self.run(&["add", "--all", "--force"]).await?;
        self.commit(message).await
    }

    /// Commits the index.
    pub(super) async fn commit(&self, message: &str) -> Result<(), CliError> {
        let message = format!("--message={message}");
        self.run(&[
            "-c",
            "user.name=Windlass",
            "-c",
            "user.email=windlass@localhost",
            "commit",
            "--quiet",
            "--allow-empty",
            &message,
        ])
        .await
    }

    /// Runs a git command.
    pub(super) async fn run(&self, args: &[&str]) -> Result<(), CliError> {
        let mut profile = Profile::tool();
        if let Some(objects) = self.objects {
            profile = profile.read(objects);
        }
        let mut spec = CommandSpec::new("git", self.parent, profile)
            .args(["-C", self.name, "-c", "core.hooksPath=/dev/null"])
            .args(args.iter().copied())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .deadline(DEADLINE);
        if let Some(objects) = self.objects {
            spec = spec.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
        }
        let output = self.sandbox.run(spec).await;
        let output = output.map_err(|error| CliError::failed(format!("git: {error}")))?;
        if output.exit.success() {
            return Ok(());
        }
        let stderr = output.stderr.text();
        let command = args
            .iter()
            .find(|arg| arg.starts_with(|c: char| c.is_ascii_lowercase()) && !arg.contains('='));
        Err(CliError::failed(format!(
            "git {}: {}",
            command.unwrap_or(&""),
            stderr.trim()
        )))
    }
}

/// Returns the directory of the objects of a repository.
pub(super) async fn objects_dir(sandbox: &Sandbox, root: &Path) -> Result<PathBuf, CliError> {
    let args = [
        "rev-parse",
        "--path-format=absolute",
        "--git-path",
        "objects",
    ];
    let found = GitHistory::new(sandbox.clone()).run(root, &args).await;
    match found {
        Some(path) => Ok(PathBuf::from(path.trim_end_matches('\n'))),
        None => Err(CliError::failed(format!(
            "git cannot read {}",
            root.display()
        ))),
    }
}
