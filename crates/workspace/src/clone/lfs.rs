//! Files stored with Git LFS. A clone gets their content from the user's own LFS objects; changes to
//! them are not part of a change.

use std::fs;
use std::path::{Path, PathBuf};

use super::Clones;
use crate::error::{Error, Result};
use crate::git::{PrivateGitDir, Repository, small_file};

/// The first line of a pointer file.
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n";
/// Maximum size of a pointer file.
const MAX_POINTER_BYTES: u64 = 1024;

/// Replaces pointer files in the clone at `work` by their content, and makes git ignore that they
/// differ.
pub(super) async fn populate(
    clones: &Clones,
    repository: &Repository,
    git_dirs: [&PrivateGitDir; 2],
    work: &Path,
) -> Result<()> {
    let objects = repository.common.join("lfs/objects");
    let attributes = small_file(&work.join(".gitattributes")).unwrap_or_default();
    if !attributes.contains("filter=lfs") && !objects.is_dir() {
        return Ok(());
    }
    let mut replaced = String::new();
    for path in pointers(work) {
        if replace(repository, &objects, work, &path)? {
            let name = path.strip_prefix(work).unwrap_or(&path);
            let name = name.to_str().ok_or_else(|| {
                let problem = format!("`{}` is stored with Git LFS: rename it", name.display());
                Error::repository(&repository.root, problem)
            })?;
            replaced.push_str(name);
            replaced.push('\0');
        }
    }
    if !replaced.is_empty() {
        for git in git_dirs {
            let command = git.command_in(&clones.git, work).input(replaced.clone());
            let args = ["update-index", "--skip-worktree", "-z", "--stdin"];
            command.run(&args).await?;
        }
    }
    Ok(())
}

/// Replaces one pointer. One that the user's checkout has, too, stays as it is.
fn replace(repository: &Repository, objects: &Path, work: &Path, path: &Path) -> Result<bool> {
    let text = small_file(path).unwrap_or_default();
    let id = text
        .lines()
        .find_map(|line| line.strip_prefix("oid sha256:"));
    let is_hash = |id: &&str| id.len() == 64 && id.chars().all(|c| c.is_ascii_hexdigit());
    let Some(id) = id.filter(is_hash) else {
        return Ok(false);
    };
    let object = objects.join(&id[..2]).join(&id[2..4]).join(id);
    let name = path.strip_prefix(work).unwrap_or(path);
    if object.symlink_metadata().is_ok_and(|found| found.is_file()) {
        let mode = path.metadata().map(|found| found.permissions());
        let copied = fs::remove_file(path).and_then(|()| fs::copy(&object, path));
        let copied = copied.and_then(|_| fs::set_permissions(path, mode?));
        copied.map_err(|error| Error::io(path, &error))?;
        return Ok(true);
    }
    if repository.bare || small_file(&repository.root.join(name)) == Some(text.clone()) {
        return Ok(false);
    }
    let problem = format!(
        "`{}` is stored with Git LFS and is not downloaded: run `git lfs pull`",
        name.display()
    );
    Err(Error::repository(&repository.root, problem))
}

/// Returns all pointer files below a directory.
fn pointers(work: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![work.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() && entry.file_name() != ".git" {
                pending.push(path);
            } else if metadata.is_file() && metadata.len() <= MAX_POINTER_BYTES {
                let text = small_file(&path).unwrap_or_default();
                if text.starts_with(POINTER) {
                    found.push(path);
                }
            }
        }
    }
    found
}
