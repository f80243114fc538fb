//! The folder of all places: private, with names that say whose place it is, swept of what crashes left.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use windlass_core::task::AttemptRef;

use super::scratch::is_abandoned;
use crate::error::{Error, Result};

/// How the name of a place that is being made begins.
const BEGUN: &str = "new-";
/// How the name of a place that is being removed begins.
const GONE: &str = "gone-";

/// The folder of all places.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    path: PathBuf,
}

/// What an attempt's place is called.
pub(crate) fn name(attempt: AttemptRef) -> String {
    format!("task-{}-attempt-{}", attempt.task, attempt.number)
}

/// Whose place this is.
fn whose(name: &str) -> Option<AttemptRef> {
    let (task, number) = name.strip_prefix("task-")?.split_once("-attempt-")?;
    Some(AttemptRef {
        task: task.parse().ok()?,
        number: number.parse().ok()?,
    })
}

impl Folder {
    /// The folder at `path`, made if it is missing.
    pub(crate) fn new(path: PathBuf) -> Result<Self> {
        let mut builder = fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .map_err(|error| Error::io(&path, &error))?;
        refuse_shared(&path)?;
        let path = path
            .canonicalize()
            .map_err(|error| Error::io(&path, &error))?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A new folder under a name that nobody can guess, for what will be called `name`.
    pub(crate) fn begin(&self, name: &str) -> Result<PathBuf> {
        let made = tempfile::Builder::new()
            .prefix(&format!("{BEGUN}{name}."))
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(&self.path)
            .map_err(|error| Error::io(&self.path, &error))?;
        Ok(made.keep())
    }

    /// Gives a finished folder its name. What was left there by an earlier life makes room.
    pub(crate) fn settle(&self, begun: &Path, name: &str) -> Result<PathBuf> {
        let target = self.path.join(name);
        match target.symlink_metadata() {
            Ok(found) if found.is_dir() => self.remove(&target)?,
            Ok(_) => {
                return Err(Error::Path {
                    path: target,
                    problem: "is in the way and not a folder of ours: remove it".into(),
                });
            }
            Err(_) => {}
        }
        fs::rename(begun, &target).map_err(|error| Error::io(&target, &error))?;
        Ok(target)
    }

    /// Removes a place. It loses its name first, so that nobody takes half of it for a whole one.
    pub(crate) fn remove(&self, place: &Path) -> Result<()> {
        let away = tempfile::Builder::new()
            .prefix(GONE)
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(&self.path)
            .map_err(|error| Error::io(&self.path, &error))?
            .keep();
        match fs::rename(place, away.join("place")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(place, &error)),
            Ok(()) => {}
        }
        remove_all(&away)
    }

    /// Removes every place, begun or finished, of attempts that are not among the living, and what is
    /// left of removals.
    pub(crate) fn clear(&self, living: &[AttemptRef]) -> Result<u32> {
        let mut cleared = 0;
        let entries = fs::read_dir(&self.path).map_err(|error| Error::io(&self.path, &error))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(GONE) {
                remove_all(&entry.path())?;
                continue;
            }
            let begun = name
                .strip_prefix(BEGUN)
                .and_then(|rest| rest.split('.').next());
            let Some(attempt) = whose(begun.unwrap_or(&name)) else {
                if begun.is_some() && is_abandoned(&entry.path()) {
                    self.remove(&entry.path())?;
                }
                continue;
            };
            if living.contains(&attempt) || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            self.remove(&entry.path())?;
            cleared += 1;
        }
        Ok(cleared)
    }
}

/// A folder that others can reach, or that leads elsewhere, is not ours alone.
fn refuse_shared(path: &Path) -> Result<()> {
    let found = path
        .symlink_metadata()
        .map_err(|error| Error::io(path, &error))?;
    let problem = if !found.is_dir() {
        "is a link, not a folder: remove it, or name another"
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        "belongs to another user: name another folder"
    } else if found.mode() & 0o077 != 0 {
        "is open to others: run `chmod 700` on it, or name another folder"
    } else {
        return Ok(());
    };
    Err(Error::Path {
        path: path.to_owned(),
        problem: problem.into(),
    })
}

/// Removes a tree, also where somebody has made folders in it read-only.
fn remove_all(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(_) => open_up(path),
    }
    fs::remove_dir_all(path).map_err(|error| Error::io(path, &error))
}

/// Makes every folder below writable for us. Links are not followed.
fn open_up(path: &Path) {
    let mut waiting = vec![path.to_owned()];
    while let Some(folder) = waiting.pop() {
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o700));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        waiting.extend(folders.map(|entry| entry.path()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn folder() -> (tempfile::TempDir, Folder) {
        let around = tempfile::tempdir().unwrap();
        let folder = Folder::new(around.path().join("state/places")).unwrap();
        (around, folder)
    }

    const FIRST: AttemptRef = AttemptRef { task: 7, number: 1 };

    #[test]
    fn p27_the_folder_is_ours_alone() {
        let (around, folder) = folder();
        assert_eq!(folder.path().metadata().unwrap().mode() & 0o777, 0o700);

        let open = around.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(
            Folder::new(open)
                .unwrap_err()
                .to_string()
                .contains("chmod 700")
        );

        let link = around.path().join("link");
        symlink(folder.path(), &link).unwrap();
        assert!(
            Folder::new(link)
                .unwrap_err()
                .to_string()
                .contains("is a link")
        );
    }

    #[test]
    fn p27_a_planted_link_is_refused_and_not_followed() {
        let (around, folder) = folder();
        let victim = around.path().join("victim");
        fs::create_dir(&victim).unwrap();
        symlink(&victim, folder.path().join(name(FIRST))).unwrap();
        let begun = folder.begin(&name(FIRST)).unwrap();
        let error = folder.settle(&begun, &name(FIRST)).unwrap_err();
        assert!(error.to_string().contains("in the way"), "{error}");
        assert_eq!(folder.clear(&[]).unwrap(), 1, "only what was begun");
        assert!(victim.is_dir());
    }

    #[test]
    fn only_the_dead_are_cleared_away() {
        let (_around, folder) = folder();
        let second = AttemptRef { task: 7, number: 2 };
        for attempt in [FIRST, second] {
            let begun = folder.begin(&name(attempt)).unwrap();
            folder.settle(&begun, &name(attempt)).unwrap();
            folder.begin(&name(attempt)).unwrap();
        }
        fs::create_dir(folder.path().join("gone-x")).unwrap();
        fs::create_dir(folder.path().join("something-else")).unwrap();
        assert_eq!(folder.clear(&[second]).unwrap(), 2);
        let mut left: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left.len(), 3, "{left:?}");
        assert_eq!(left[1..], ["something-else", "task-7-attempt-2"]);
    }

    #[test]
    fn what_an_agent_made_read_only_is_removed_too() {
        let (_around, folder) = folder();
        let place = folder.begin(&name(FIRST)).unwrap();
        fs::create_dir_all(place.join("a/b")).unwrap();
        fs::write(place.join("a/b/file"), "x").unwrap();
        for path in ["a/b", "a"] {
            fs::set_permissions(place.join(path), fs::Permissions::from_mode(0o500)).unwrap();
        }
        folder.remove(&place).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
