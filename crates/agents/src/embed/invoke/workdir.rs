//! Validation of working directories.

use std::path::{Path, PathBuf};

/// Expands `~` and checks that the path exists, is a directory and is in a git work tree.
///
/// A work tree is recognized by its `.git`, which may be a file, as in a linked work tree or a submodule.
pub fn validate_workdir(path: &Path, home: &Path) -> Result<PathBuf, String> {
    let path = match path.strip_prefix("~") {
        Ok(rest) => home.join(rest),
        Err(_) => path.to_owned(),
    };
    let shown = path.display();
    let metadata = path.metadata().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("the working directory {shown} does not exist: create it, or use another")
        }
        _ => format!("the working directory {shown} cannot be used: {error}"),
    })?;
    if !metadata.is_dir() {
        return Err(format!(
            "the working directory {shown} is not a directory: use its parent"
        ));
    }
    let absolute = std::path::absolute(&path)
        .map_err(|error| format!("the working directory {shown} cannot be used: {error}"))?;
    let in_git = absolute
        .ancestors()
        .any(|above| above.join(".git").exists());
    if !in_git {
        return Err(format!(
            "{shown} is not in a git work tree: run `git init` there, or use another directory"
        ));
    }
    Ok(absolute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_in_a_work_tree_are_accepted() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for dir in ["repo/.git", "repo/src", "linked"] {
            std::fs::create_dir_all(at(dir)).unwrap();
        }
        std::fs::write(at("linked/.git"), "gitdir: elsewhere").unwrap();
        std::fs::write(at("file"), "").unwrap();
        let check = |path: &str| validate_workdir(Path::new(path), home.path());

        assert_eq!(check("~/repo"), Ok(at("repo")));
        assert_eq!(check("~/repo/src"), Ok(at("repo/src")));
        assert_eq!(check("~/linked"), Ok(at("linked")));
        assert!(check("~/nowhere").unwrap_err().contains("does not exist"));
        assert!(check("~/file").unwrap_err().contains("not a directory"));
        // Any other directory may be inside a repository.
        assert!(check("/").unwrap_err().contains("git init"));
        assert!(check("~other/repo").unwrap_err().contains("does not exist"));
    }
}
