//! The working directory of a request.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// How often removing a temporary directory is retried: a process that is exiting may still write to it.
const MAX_REMOVE_RETRIES: usize = 5;

/// The working directory of one request.
#[derive(Debug)]
pub(crate) enum RequestDir {
    /// A configured directory, which is not removed.
    Configured(PathBuf),
    /// A temporary directory: an empty git repository, removed afterwards.
    Temporary(TempDir),
}

impl RequestDir {
    /// Returns the configured directory, or creates a temporary one in `parent`.
    pub(crate) fn open(configured: Option<&Path>, parent: &Path) -> io::Result<Self> {
        if let Some(dir) = configured {
            return Ok(Self::Configured(dir.to_owned()));
        }
        fs::create_dir_all(parent)?;
        let dir = tempfile::Builder::new()
            .prefix("turn-")
            .tempdir_in(parent)?;
        make_repository(dir.path())?;
        Ok(Self::Temporary(dir))
    }

    pub(crate) fn root(&self) -> &Path {
        match self {
            Self::Configured(dir) => dir,
            Self::Temporary(dir) => dir.path(),
        }
    }

    /// Removes the directory if it is temporary. A full directory takes some time.
    pub(crate) async fn close(self) {
        let Self::Temporary(dir) = self else {
            return;
        };
        let removed = tokio::task::spawn_blocking(move || remove(&dir)).await;
        if let Ok(Err(error)) = removed {
            tracing::warn!(%error, "cannot remove request directory");
        }
    }
}

fn remove(dir: &TempDir) -> io::Result<()> {
    let mut last = Ok(());
    for _ in 0..MAX_REMOVE_RETRIES {
        last = match fs::remove_dir_all(dir.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        if last.is_ok() {
            break;
        }
        std::thread::yield_now();
    }
    last
}

/// Creates an empty git repository, because many agents refuse to work outside of one.
fn make_repository(root: &Path) -> io::Result<()> {
    let git = root.join(".git");
    for dir in ["objects/info", "objects/pack", "refs/heads", "refs/tags"] {
        fs::create_dir_all(git.join(dir))?;
    }
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
    fs::write(
        git.join("config"),
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn temporary_dir_is_a_repository_and_is_removed() {
        let parent = TempDir::new().unwrap();
        let dir = RequestDir::open(None, &parent.path().join("parent")).unwrap();
        let root = dir.root().to_owned();
        assert!(root.join(".git/HEAD").is_file());
        fs::write(root.join("left.txt"), "behind").unwrap();
        dir.close().await;
        assert!(!root.exists());
        assert_eq!(
            fs::read_dir(parent.path().join("parent")).unwrap().count(),
            0
        );
    }

    #[tokio::test]
    async fn configured_dir_is_kept() {
        let configured = TempDir::new().unwrap();
        let dir = RequestDir::open(Some(configured.path()), Path::new("/nowhere")).unwrap();
        assert_eq!(dir.root(), configured.path());
        dir.close().await;
        assert!(configured.path().exists());
    }
}
