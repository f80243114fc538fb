//! Where an agent works on a request.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// How often an own folder is removed in vain: a process that is just dying may still write into it.
const MAX_REMOVE_RETRIES: usize = 5;

/// A folder for one request.
#[derive(Debug)]
pub(super) enum RequestDir {
    /// Somebody's, which stays.
    Configured(PathBuf),
    /// The request's own: empty, a git repository, gone afterwards.
    Temporary(TempDir),
}

impl RequestDir {
    /// The folder that is given, or an own one inside `rooms`.
    pub(super) fn open(given: Option<&Path>, rooms: &Path) -> io::Result<Self> {
        if let Some(folder) = given {
            return Ok(Self::Configured(folder.to_owned()));
        }
        fs::create_dir_all(rooms)?;
        let own = tempfile::Builder::new().prefix("turn-").tempdir_in(rooms)?;
        make_repository(own.path())?;
        Ok(Self::Temporary(own))
    }

    pub(super) fn root(&self) -> &Path {
        match self {
            Self::Configured(folder) => folder,
            Self::Temporary(folder) => folder.path(),
        }
    }

    /// Removes it if it is the request's own. A full one takes its time.
    pub(super) async fn close(self) {
        let Self::Temporary(folder) = self else {
            return;
        };
        let removed = tokio::task::spawn_blocking(move || remove(&folder)).await;
        if let Ok(Err(error)) = removed {
            tracing::warn!(%error, "the folder of a request could not be removed");
        }
    }
}

fn remove(folder: &TempDir) -> io::Result<()> {
    let mut last = Ok(());
    for _ in 0..MAX_REMOVE_RETRIES {
        last = match fs::remove_dir_all(folder.path()) {
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

/// Many agents refuse to work where there is no repository. This is all that an empty one consists of.
fn make_repository(root: &Path) -> io::Result<()> {
    let git = root.join(".git");
    for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags"] {
        fs::create_dir_all(git.join(folder))?;
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
    async fn an_own_place_is_a_repository_and_is_gone_afterwards() {
        let rooms = TempDir::new().unwrap();
        let place = RequestDir::open(None, &rooms.path().join("rooms")).unwrap();
        let root = place.root().to_owned();
        assert!(root.join(".git/HEAD").is_file());
        fs::write(root.join("left.txt"), "behind").unwrap();
        place.close().await;
        assert!(!root.exists());
        assert_eq!(fs::read_dir(rooms.path().join("rooms")).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_given_place_stays() {
        let given = TempDir::new().unwrap();
        let place = RequestDir::open(Some(given.path()), Path::new("/nowhere")).unwrap();
        assert_eq!(place.root(), given.path());
        place.close().await;
        assert!(given.path().exists());
    }
}
