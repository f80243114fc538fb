//! The repositories of the tasks: one commit each, without the history that contains the solution.

use std::path::{Path, PathBuf};

use windlass_sandbox::Sandbox;

use super::suite::EvalTask;
use crate::cli::exit::CliError;
use crate::cli::new_repository::{self, NewGit};

/// Returns the repository of a task in this directory, and creates it if it is missing. `source` is the repository
/// that has the commits of the task.
pub(super) async fn create(
    sandbox: &Sandbox,
    parent: &Path,
    task: &EvalTask,
    source: Option<&Path>,
) -> Result<PathBuf, CliError> {
    let root = parent.join(&task.name);
    if root.exists() {
        return Ok(root);
    }
    let failed = |error: std::io::Error| CliError::failed(format!("{}: {error}", parent.display()));
    // Made under another name first: an interrupted one is made again.
    let making = parent.join("new");
    if making.exists() {
        std::fs::remove_dir_all(&making).map_err(failed)?;
    }
    std::fs::create_dir_all(&making).map_err(failed)?;
    for (path, text) in &task.files {
        let path = making.join(path);
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).map_err(failed)?;
        }
        std::fs::write(path, text).map_err(failed)?;
    }
    let mut git = NewGit {
        sandbox,
        parent,
        name: "new",
        objects: None,
    };
    git.init().await?;
    let objects;
    if let Some(base) = &task.base {
        let Some(source) = source else {
            return Err(CliError::usage(format!(
                "task {:?} has a base: run the command in the repository that contains it",
                task.name
            )));
        };
        objects = new_repository::objects_dir(sandbox, source).await?;
        git.objects = Some(&objects);
        check_out(&git, task, base).await?;
    }
    git.commit_all("Begin").await?;
    if git.objects.is_some() {
        // Copies what the commit needs: the other repository may be deleted.
        git.run(&["repack", "-a", "-d", "-q"]).await?;
    }
    std::fs::rename(&making, &root).map_err(failed)?;
    Ok(root)
}

/// Writes the files of the base, and the tests of the later commit over them.
async fn check_out(git: &NewGit<'_>, task: &EvalTask, base: &str) -> Result<(), CliError> {
    git.run(&["read-tree", "-u", "--reset", base]).await?;
    if let Some(commit) = &task.tests_from {
        let mut args = vec!["--literal-pathspecs", "checkout", commit.as_str(), "--"];
        args.extend(task.test_files.iter().map(String::as_str));
        git.run(&args).await?;
    }
    Ok(())
}
