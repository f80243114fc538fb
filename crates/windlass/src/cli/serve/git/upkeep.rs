//! What follows a push: a branch for HEAD, and repacking.

use std::time::Duration;

use windlass_sandbox::{CommandSpec, Profile};
use windlass_server::HostOpsError;

use super::backend::with_settings;
use super::repository::ServedRepository;
use super::{GitRepositories, internal};

/// Time limits: of a short command, and of repacking.
const SHORT: Duration = Duration::from_secs(60);
const REPACK: Duration = Duration::from_secs(60 * 60);
/// The usual names of the main branch.
const USUAL: [&str; 2] = ["main", "master"];

impl GitRepositories {
    /// Completes a push that has ended. Its errors are of no interest to the client.
    pub(super) async fn after_push(self, repository: ServedRepository) {
        let result = async {
            if !repository.has_head() {
                self.choose_head(&repository).await?;
            }
            if !repository.is_fragmented() {
                return Ok(());
            }
            let Ok(_one) = self.upkeep.try_lock() else {
                return Ok(());
            };
            let _lock = repository.lock_for_push().await?;
            self.run(&repository.dir, &["gc", "--auto", "--quiet"], REPACK)
                .await
                .map(drop)
        };
        if let Err(error) = result.await {
            let dir = repository.dir.display();
            tracing::warn!(%error, %dir, "the repository could not be maintained");
        }
    }

    /// Lets HEAD name a branch that exists, so that a clone has files: the first one that was pushed.
    async fn choose_head(&self, repository: &ServedRepository) -> Result<(), HostOpsError> {
        let list = [
            "for-each-ref",
            "--format=%(refname:lstrip=2)",
            "refs/heads/",
        ];
        let list = self.run_git(&repository.dir, &list).await?;
        let branches: Vec<&str> = list
            .lines()
            .filter(|branch| !branch.starts_with("windlass/"))
            .collect();
        let usual = USUAL.into_iter().find(|usual| branches.contains(usual));
        let Some(branch) = usual.or(branches.first().copied()) else {
            return Ok(());
        };
        let name = format!("refs/heads/{branch}");
        let args = ["symbolic-ref", "HEAD", &name];
        self.run_git(&repository.dir, &args).await.map(drop)
    }

    /// Runs git in a repository, and returns its output.
    pub(super) async fn run_git(
        &self,
        dir: &std::path::Path,
        args: &[&str],
    ) -> Result<String, HostOpsError> {
        self.run(dir, args, SHORT).await
    }

    async fn run(
        &self,
        dir: &std::path::Path,
        args: &[&str],
        deadline: Duration,
    ) -> Result<String, HostOpsError> {
        let mut git_dir = std::ffi::OsString::from("--git-dir=");
        git_dir.push(dir);
        let profile = Profile::tool().programs_only().write(dir);
        let spec = CommandSpec::new("git", "/", profile);
        let spec = with_settings(spec).arg(git_dir).args(args.iter().copied());
        let output = self.sandbox.run(spec.deadline(deadline)).await;
        let output = output.map_err(internal)?;
        if output.exit.success() {
            return Ok(output.stdout.text());
        }
        let what = args.first().copied().unwrap_or_default();
        let why = output.stderr.text();
        Err(HostOpsError::Internal(format!(
            "git {what} failed: {}",
            why.trim()
        )))
    }
}
