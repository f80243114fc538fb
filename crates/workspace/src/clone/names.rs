//! Names of files that differ only in case.

use std::collections::HashMap;
use std::path::Path;

use super::Clones;
use crate::error::{Error, Result};
use crate::git::{PrivateGitDir, Repository};

/// Returns an error if the commit has names that the file system of the clone cannot store next to
/// each other. `meta` contains a directory `git`.
pub(super) async fn check(
    clones: &Clones,
    repository: &Repository,
    git: &PrivateGitDir,
    meta: &Path,
) -> Result<()> {
    let ignores_case = meta.join("GIT").exists();
    if !ignores_case {
        return Ok(());
    }
    let command = git.command(&clones.git).run(&["ls-files", "-z"]);
    let paths = command.await?.nul_separated()?;
    let Some((first, second)) = collision(&paths) else {
        return Ok(());
    };
    let problem = format!(
        "`{first}` and `{second}` differ only in case, and the file system of {} cannot store \
         both: rename one, or use another state directory",
        meta.display()
    );
    Err(Error::repository(&repository.root, problem))
}

/// Returns two paths that differ only in case, also in the names of directories.
fn collision(paths: &[String]) -> Option<(&str, &str)> {
    let mut seen: HashMap<String, &str> = HashMap::new();
    for path in paths {
        let ends = path.match_indices('/').map(|(at, _)| at);
        for end in ends.chain([path.len()]) {
            let part = &path[..end];
            let other = *seen.entry(part.to_lowercase()).or_insert(part);
            if other != part {
                return Some((other, part));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collisions_are_found_in_files_and_directories() {
        for (paths, expected) in [
            (vec!["a/b", "a/c", "A.txt"], None),
            (
                vec!["README", "src/x", "readme"],
                Some(("README", "readme")),
            ),
            (vec!["Src/a", "src/b"], Some(("Src", "src"))),
        ] {
            let paths: Vec<String> = paths.into_iter().map(str::to_owned).collect();
            assert_eq!(collision(&paths), expected);
        }
    }
}
