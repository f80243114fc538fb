//! The folder of all places: private, with names that say whose place it is, swept of what crashes left.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::task::AttemptRef;

use crate::error::{Error, Result};

/// How the name of a folder begins that is not yet held.
const UNLOCKED_PREFIX: &str = "unheld-";
/// How the name of a place that is being made begins.
const NEW_PREFIX: &str = "new-";
/// How the name of a place that is being removed begins.
const REMOVING_PREFIX: &str = "gone-";

/// Held as long as somebody works in the folder that it lies in. No clone beside it can be called so.
const LOCK_FILE: &str = ".lock";
/// Whoever takes longer to hold a folder that he has made is dead.
const LOCK_GRACE: Duration = Duration::from_secs(60);

/// The folder of all places.
#[derive(Debug, Clone)]
pub(crate) struct ClonesDir {
    path: PathBuf,
}

/// What an attempt's place is called.
pub(crate) fn clone_name(attempt: AttemptRef) -> String {
    format!("task-{}-attempt-{}", attempt.task, attempt.number)
}

/// Whose place this is.
fn parse_name(name: &str) -> Option<AttemptRef> {
    let (task, number) = name.strip_prefix("task-")?.split_once("-attempt-")?;
    Some(AttemptRef {
        task: task.parse().ok()?,
        number: number.parse().ok()?,
    })
}

impl ClonesDir {
    /// The folder at `path`, made if it is missing.
    pub(crate) fn new(path: PathBuf) -> Result<Self> {
        let mut builder = fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .map_err(|error| Error::io(&path, &error))?;
        ensure_private(&path)?;
        let path = path
            .canonicalize()
            .map_err(|error| Error::io(&path, &error))?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A new folder under a name that nobody can guess, for what will be called `name`; and what holds it, for as long as
    /// it is kept and this process lives. Before it is held it has a name that is not cleared away.
    pub(crate) fn create_temp(&self, name: &str) -> Result<(PathBuf, fs::File)> {
        let sorry = |error: io::Error| Error::io(&self.path, &error);
        let unheld = self.private(UNLOCKED_PREFIX).map_err(sorry)?;
        let file = fs::File::create(unheld.path().join(LOCK_FILE)).map_err(sorry)?;
        file.lock().map_err(sorry)?;
        let random = unheld.path().file_name().unwrap_or_default();
        let random = random.to_string_lossy();
        let random = random.strip_prefix(UNLOCKED_PREFIX).unwrap_or(&random);
        let begun = self.path.join(format!("{NEW_PREFIX}{name}.{random}"));
        fs::rename(unheld.path(), &begun).map_err(sorry)?;
        let _ = unheld.keep();
        Ok((begun, file))
    }

    /// A folder of our own with a name that begins so.
    fn private(&self, prefix: &str) -> io::Result<tempfile::TempDir> {
        tempfile::Builder::new()
            .prefix(prefix)
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(&self.path)
    }

    /// Gives a finished folder its name. What was left there by an earlier life makes room.
    pub(crate) fn rename_to(&self, begun: &Path, name: &str) -> Result<PathBuf> {
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
        let away = self
            .private(REMOVING_PREFIX)
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
    /// left of removals. Who lives was asked a moment ago: an attempt that began since then holds its place.
    pub(crate) fn remove_stale(&self, living: &[AttemptRef]) -> Result<u32> {
        let mut cleared = 0;
        let entries = fs::read_dir(&self.path).map_err(|error| Error::io(&self.path, &error))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(REMOVING_PREFIX)
                || name.starts_with(UNLOCKED_PREFIX) && self.is_old(&entry.path())
            {
                remove_all(&entry.path())?;
                continue;
            }
            let begun = name
                .strip_prefix(NEW_PREFIX)
                .and_then(|rest| rest.split('.').next());
            let Some(attempt) = parse_name(begun.unwrap_or(&name)) else {
                if begun.is_some() && !is_locked(&entry.path()) {
                    self.remove(&entry.path())?;
                }
                continue;
            };
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if living.contains(&attempt) || !is_folder || is_locked(&entry.path()) {
                continue;
            }
            self.remove(&entry.path())?;
            cleared += 1;
        }
        Ok(cleared)
    }

    /// Whether a folder was made more than a moment ago, by the clock of the disk.
    fn is_old(&self, path: &Path) -> bool {
        let when = |found: io::Result<fs::Metadata>| found.and_then(|found| found.modified());
        let now = tempfile::tempfile_in(&self.path).and_then(|file| file.metadata());
        match (when(path.symlink_metadata()), when(now)) {
            (Ok(made), Ok(now)) => now.duration_since(made).is_ok_and(|age| age > LOCK_GRACE),
            _ => false,
        }
    }
}

/// Whether somebody works in this folder.
fn is_locked(path: &Path) -> bool {
    fs::File::open(path.join(LOCK_FILE)).is_ok_and(|file| file.try_lock().is_err())
}

/// A folder that others can reach, or that leads elsewhere, is not ours alone.
fn ensure_private(path: &Path) -> Result<()> {
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
        Err(_) => make_writable(path),
    }
    fs::remove_dir_all(path).map_err(|error| Error::io(path, &error))
}

/// Makes every folder below writable for us. Links are not followed.
fn make_writable(path: &Path) {
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

    fn folder() -> (tempfile::TempDir, ClonesDir) {
        let around = tempfile::tempdir().unwrap();
        let folder = ClonesDir::new(around.path().join("state/places")).unwrap();
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
            ClonesDir::new(open)
                .unwrap_err()
                .to_string()
                .contains("chmod 700")
        );

        let link = around.path().join("link");
        symlink(folder.path(), &link).unwrap();
        assert!(
            ClonesDir::new(link)
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
        symlink(&victim, folder.path().join(clone_name(FIRST))).unwrap();
        let (begun, held) = folder.create_temp(&clone_name(FIRST)).unwrap();
        drop(held);
        let error = folder.rename_to(&begun, &clone_name(FIRST)).unwrap_err();
        assert!(error.to_string().contains("in the way"), "{error}");
        assert_eq!(folder.remove_stale(&[]).unwrap(), 1, "only what was begun");
        assert!(victim.is_dir());
    }

    #[test]
    fn only_the_dead_are_cleared_away() {
        let (_around, folder) = folder();
        let second = AttemptRef { task: 7, number: 2 };
        for attempt in [FIRST, second] {
            let (begun, _) = folder.create_temp(&clone_name(attempt)).unwrap();
            folder.rename_to(&begun, &clone_name(attempt)).unwrap();
            folder.create_temp(&clone_name(attempt)).unwrap();
        }
        fs::create_dir(folder.path().join("gone-x")).unwrap();
        fs::create_dir(folder.path().join("something-else")).unwrap();
        assert_eq!(folder.remove_stale(&[second]).unwrap(), 2);
        let mut left: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left.len(), 3, "{left:?}");
        assert_eq!(left[1..], ["something-else", "task-7-attempt-2"]);
    }

    #[test]
    fn p2_a_place_that_somebody_works_in_stays_whatever_the_store_said() {
        let (_around, folder) = folder();
        let (begun, held) = folder.create_temp(&clone_name(FIRST)).unwrap();
        assert_eq!(folder.remove_stale(&[]).unwrap(), 0);
        let place = folder.rename_to(&begun, &clone_name(FIRST)).unwrap();
        assert_eq!(folder.remove_stale(&[]).unwrap(), 0);
        assert!(place.is_dir());
        drop(held);
        assert_eq!(folder.remove_stale(&[]).unwrap(), 1);
        // Somebody is just about to hold what he has made, or died at that.
        let unheld = folder.path().join("unheld-x");
        fs::create_dir(&unheld).unwrap();
        folder.remove_stale(&[]).unwrap();
        assert!(unheld.is_dir());
        let long_ago = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
        let opened = fs::File::open(&unheld).unwrap();
        opened.set_times(long_ago).unwrap();
        folder.remove_stale(&[]).unwrap();
        assert!(!unheld.exists());
    }

    #[test]
    fn what_an_agent_made_read_only_is_removed_too() {
        let (_around, folder) = folder();
        let (place, _held) = folder.create_temp(&clone_name(FIRST)).unwrap();
        fs::create_dir_all(place.join("a/b")).unwrap();
        fs::write(place.join("a/b/file"), "x").unwrap();
        for path in ["a/b", "a"] {
            fs::set_permissions(place.join(path), fs::Permissions::from_mode(0o500)).unwrap();
        }
        folder.remove(&place).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
