//! Files that the user's checkout has and its commits do not, such as `.env.test`: copied into
//! every clone, and never part of a change.

use std::path::Path;

use super::meta::meta_path;
use crate::error::{Error, Result};
use crate::git::{PrivateGitDir, Repository, small_file, write};
use crate::paths::Root;

/// Maximum number of files.
const MAX_FILES: usize = 100;
/// Maximum size of a file.
const MAX_BYTES: u64 = 1 << 20;

/// The list of copied files, next to the clone.
const LIST: &str = "copied";

/// Copies these files from the user's checkout into the clone at `work`.
pub(super) fn copy_files(
    repository: &Repository,
    files: &[String],
    work: &Path,
    git_dirs: &[&PrivateGitDir],
) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    if files.len() > MAX_FILES {
        let problem = format!("`workspace.copy` lists more than {MAX_FILES} files");
        return Err(Error::repository(&repository.root, problem));
    }
    if repository.bare {
        let problem = "is bare, so `workspace.copy` has no files to copy: use a checkout";
        return Err(Error::repository(&repository.root, problem));
    }
    let (from, to) = (Root::open(&repository.root)?, Root::open(work)?);
    for file in files {
        let refuse = |problem: String| {
            let problem = format!("`workspace.copy` names `{file}`, which {problem}");
            Error::repository(&repository.root, problem)
        };
        if file
            .split('/')
            .any(|name| name.eq_ignore_ascii_case(".git"))
        {
            return Err(refuse("belongs to git".into()));
        }
        let content = from.read(file, MAX_BYTES);
        let content = content.map_err(|error| refuse(format!("cannot be copied: {error}")))?;
        if work.join(file).symlink_metadata().is_ok() {
            let problem = "git tracks: it is in every clone, so remove it from the list";
            return Err(refuse(problem.into()));
        }
        to.write(file, &content)?;
    }
    for git in git_dirs {
        git.exclude_paths(files)?;
    }
    match meta_path(work, LIST) {
        Some(list) => write(&list, &files.join("\n")),
        None => Ok(()),
    }
}

/// Returns the files that were copied into the clone at `root`.
pub(crate) fn copied_files(root: &Path) -> Vec<String> {
    let list = meta_path(root, LIST).and_then(|list| small_file(&list));
    list.unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}
