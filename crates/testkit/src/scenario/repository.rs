//! The repository of a scenario: checked out of a bundle, and compared by its tree.

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use windlass_sandbox::{CommandSpec, Host, Profile, Sandbox};

/// The branch of a bundle that is checked out.
const BRANCH: &str = "main";
/// The repository that the agent cannot reach.
const GIT_DIR: &str = "git";
/// Time limit of one git command.
const DEADLINE: Duration = Duration::from_secs(60);

/// What is known of the repository, where the agent cannot change it. The agent may change the workspace with its `.git`, so
/// the `.git` of the workspace is never read.
#[derive(Debug)]
pub(super) struct ScenarioRepository {
    dir: TempDir,
    sandbox: Sandbox,
}

impl ScenarioRepository {
    /// Checks out the bundle in an empty directory.
    pub(super) async fn check_out(bundle: &str, root: &Path) -> Result<Self, String> {
        let sandbox = Sandbox::detect(Host::current()).await;
        let sandbox = sandbox.map_err(|error| error.to_string())?;
        let created = tempfile::Builder::new().prefix("scenario-git-").tempdir();
        let dir = created.map_err(|error| error.to_string())?;
        let repository = Self { dir, sandbox };
        for (name, options) in [(GIT_DIR, &["--bare"][..]), ("workspace", &[][..])] {
            let clone = ["clone", "--quiet", "--branch", BRANCH];
            let files = ["--", bundle, name];
            let args: Vec<&str> = clone.iter().chain(options).chain(&files).copied().collect();
            repository.git(Path::new(bundle), &args).await?;
        }
        let checked_out = repository.dir.path().join("workspace");
        std::fs::rename(checked_out, root).map_err(|error| error.to_string())?;
        Ok(repository)
    }

    /// Returns the id of the tree of the files in the workspace.
    pub(super) async fn tree(&self, root: &Path) -> Result<String, String> {
        let git_dir = format!("--git-dir={GIT_DIR}");
        let work_tree = format!("--work-tree={}", root.display());
        // Files that are tracked and ignored stay in the tree.
        let steps: [&[&str]; 3] = [&["read-tree", BRANCH], &["add", "--all"], &["write-tree"]];
        let mut tree = String::new();
        for step in steps {
            let place = [git_dir.as_str(), work_tree.as_str()];
            let args: Vec<&str> = place.iter().chain(step).copied().collect();
            tree = self.git(root, &args).await?;
        }
        Ok(tree)
    }

    /// Returns the output of a git command that may read this path.
    async fn git(&self, readable: &Path, args: &[&str]) -> Result<String, String> {
        let profile = Profile::tool().read(readable);
        let spec = CommandSpec::new("git", self.dir.path(), profile)
            .args(["-c", "core.hooksPath=/dev/null"])
            .args(args.iter().copied())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .deadline(DEADLINE);
        let output = self.sandbox.run(spec).await;
        let output = output.map_err(|error| format!("git: {error}"))?;
        if output.exit.success() {
            Ok(output.stdout.text().trim_end().to_owned())
        } else {
            Err(format!("git: {}", output.stderr.text().trim()))
        }
    }
}
