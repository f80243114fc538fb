//! Files of submodules. A clone gets them from the user's own checkouts of the submodules; it has
//! no git directory for them, so that an agent can read the files and not change the submodule.

use std::path::Path;

use super::Clones;
use crate::error::{Error, Result};
use crate::git::{GITLINK_MODE, PrivateGitDir, Repository};

/// Maximum number of submodules, also of submodules.
const MAX_SUBMODULES: usize = 1_000;

/// Checks out the submodules of the commit in `private_git` into the clone at `work`.
pub(super) async fn populate(
    clones: &Clones,
    repository: &Repository,
    private_git: &PrivateGitDir,
    work: &Path,
    meta: &Path,
) -> Result<()> {
    if !work.join(".gitmodules").is_file() {
        return Ok(());
    }
    let mut number = 0;
    let mut pending = vec![(String::new(), repository.clone(), private_git.clone())];
    while let Some((dir, parent, git)) = pending.pop() {
        for (path, commit) in gitlinks(clones, &git).await? {
            number += 1;
            if number > MAX_SUBMODULES {
                let problem = format!("has more than {MAX_SUBMODULES} submodules");
                return Err(Error::repository(&repository.root, problem));
            }
            let name = if dir.is_empty() {
                path.clone()
            } else {
                format!("{dir}/{path}")
            };
            let missing = || {
                let problem = format!(
                    "its submodule `{name}` is not checked out at {commit}: run `git submodule \
                     update --init --recursive`"
                );
                Error::repository(&repository.root, problem)
            };
            let submodule = find(&parent, &path).ok_or_else(missing)?;
            let format = if commit.len() == 64 { "sha256" } else { "sha1" };
            let git_dir = meta.join(format!("submodule-{number}"));
            let cwd = work.parent().unwrap_or(work);
            let git = PrivateGitDir::create(&git_dir, cwd, &submodule, format)?;
            let target = work.join(&name);
            if !target.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                return Err(missing());
            }
            let command = git.command_in(&clones.git, &target);
            let output = command
                .output(&["read-tree", "--reset", "-u", &commit])
                .await?;
            output.check().map_err(|_| missing())?;
            pending.push((name, submodule, git));
        }
    }
    Ok(())
}

/// Returns the paths and commits of the submodules in an index.
async fn gitlinks(clones: &Clones, git: &PrivateGitDir) -> Result<Vec<(String, String)>> {
    let command = git.command(&clones.git).run(&["ls-files", "-s", "-z"]);
    let lines = command.await?.nul_separated()?;
    let rows = lines.iter().filter_map(|line| {
        let (head, path) = line.split_once('\t')?;
        let mut fields = head.split(' ');
        let commit = (fields.next()? == GITLINK_MODE).then(|| fields.next())??;
        Some((path.to_owned(), commit.to_owned()))
    });
    Ok(rows.collect())
}

/// Finds the user's checkout of a submodule. It must be at this path itself, not behind a link, and
/// have its git directory in that of the repository or in its own directory.
fn find(parent: &Repository, path: &str) -> Option<Repository> {
    let submodule = Repository::find(&parent.root.join(path)).ok()?;
    let is_in_place = submodule.root == parent.root.join(path);
    let is_own = submodule.common.starts_with(&parent.common)
        || submodule.common.starts_with(&submodule.root);
    (is_in_place && is_own && !parent.bare).then_some(submodule)
}
