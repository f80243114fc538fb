//! The directory of all clones: private, with names that identify the attempt. Stale clones are
//! removed.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
use windlass_tasks::AttemptRef;

use crate::error::{Error, Result};

/// Prefix of the name of a directory that is not locked yet.
const UNLOCKED_PREFIX: &str = "unlocked-";
/// Prefix of the name of a clone that is being created.
const NEW_PREFIX: &str = "new-";
/// Prefix of the name of a clone that is being removed.
const REMOVING_PREFIX: &str = "removing-";

/// Locked while a process uses the directory that contains it. No clone can have this name.
const LOCK_FILE: &str = ".lock";
/// A process that has not locked its new directory after this time is considered dead.
const LOCK_GRACE: Duration = Duration::from_secs(60);

/// The directory of all clones.
#[derive(Debug, Clone)]
pub(crate) struct ClonesDir {
    path: PathBuf,
}

/// Returns the directory name for an attempt's clone.
pub(crate) fn clone_name(attempt: AttemptRef) -> String {
    format!("task-{}-attempt-{}", attempt.task, attempt.number)
}

/// Parses the attempt from a directory name.
fn parse_name(name: &str) -> Option<AttemptRef> {
    let (task, number) = name.strip_prefix("task-")?.split_once("-attempt-")?;
    Some(AttemptRef {
        task: task.parse().ok()?,
        number: number.parse().ok()?,
    })
}

impl ClonesDir {
    /// Opens the directory at `path`, and creates it if it is missing.
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
        // Only makes file access faster, and many file systems do not have it.
        let _ = spread(&path);
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a directory with an unpredictable name, for a clone that will be named `name`. Also
    /// returns the lock, which is held until the file is dropped or this process ends. Until it is
    /// locked, the directory has a name that is not removed as stale.
    pub(crate) fn create_temp(&self, name: &str) -> Result<(PathBuf, fs::File)> {
        let to_error = |error: io::Error| Error::io(&self.path, &error);
        let unlocked = self.private(UNLOCKED_PREFIX).map_err(to_error)?;
        let file = fs::File::create(unlocked.path().join(LOCK_FILE)).map_err(to_error)?;
        file.lock().map_err(to_error)?;
        let random = unlocked.path().file_name().unwrap_or_default();
        let random = random.to_string_lossy();
        let random = random.strip_prefix(UNLOCKED_PREFIX).unwrap_or(&random);
        let temp_dir = self.path.join(format!("{NEW_PREFIX}{name}.{random}"));
        fs::rename(unlocked.path(), &temp_dir).map_err(to_error)?;
        let _ = unlocked.keep();
        Ok((temp_dir, file))
    }

    /// Creates a private directory with a name that starts with `prefix`.
    fn private(&self, prefix: &str) -> io::Result<tempfile::TempDir> {
        tempfile::Builder::new()
            .prefix(prefix)
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(&self.path)
    }

    /// Renames a finished directory to its final name. A directory left over from an earlier run is
    /// replaced.
    pub(crate) fn rename_to(&self, temp_dir: &Path, name: &str) -> Result<PathBuf> {
        let target = self.path.join(name);
        match target.symlink_metadata() {
            Ok(found) if found.is_dir() => self.remove(&target)?,
            Ok(_) => {
                return Err(Error::Path {
                    path: target,
                    problem: "exists and is not a Windlass directory: remove it".into(),
                });
            }
            Err(_) => {}
        }
        fs::rename(temp_dir, &target).map_err(|error| Error::io(&target, &error))?;
        Ok(target)
    }

    /// Removes a clone. It is renamed first, so that a partly removed clone is never taken for a
    /// complete one.
    pub(crate) fn remove(&self, clone: &Path) -> Result<()> {
        let trash = self
            .private(REMOVING_PREFIX)
            .map_err(|error| Error::io(&self.path, &error))?
            .keep();
        match fs::rename(clone, trash.join("clone")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(clone, &error)),
            Ok(()) => {}
        }
        remove_all(&trash)
    }

    /// Removes the clones that a dead process did not complete, and the rest of interrupted
    /// removals. Returns the attempts of the complete clones.
    pub(crate) fn clean_up(&self) -> Result<Vec<AttemptRef>> {
        let mut attempts = Vec::new();
        let entries = fs::read_dir(&self.path).map_err(|error| Error::io(&self.path, &error))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(REMOVING_PREFIX)
                || name.starts_with(UNLOCKED_PREFIX) && self.is_old(&entry.path(), LOCK_GRACE)
            {
                remove_all(&entry.path())?;
            } else if name.starts_with(NEW_PREFIX) {
                if lock(&entry.path()).is_some() {
                    self.remove(&entry.path())?;
                }
            } else if let Some(attempt) = parse_name(&name)
                && entry.file_type().is_ok_and(|kind| kind.is_dir())
            {
                attempts.push(attempt);
            }
        }
        Ok(attempts)
    }

    /// Locks the clone of an attempt, unless a process uses it. The lock is held until the file is
    /// dropped.
    pub(super) fn lock(&self, attempt: AttemptRef) -> Option<(PathBuf, fs::File)> {
        let path = self.path.join(clone_name(attempt));
        let lock = lock(&path)?;
        Some((path, lock))
    }

    /// Returns `true` if a directory was created before this time, by the clock of the file system.
    pub(super) fn is_old(&self, path: &Path, age: Duration) -> bool {
        let when = |found: io::Result<fs::Metadata>| found.and_then(|found| found.modified());
        let now = tempfile::tempfile_in(&self.path).and_then(|file| file.metadata());
        match (when(path.symlink_metadata()), when(now)) {
            (Ok(created), Ok(now)) => now.duration_since(created).is_ok_and(|passed| passed > age),
            _ => false,
        }
    }
}

/// Makes ext4 put each directory that is created in `dir` into another part of the disk.
///
/// For minutes, ext4 does not use the inode of a deleted file again, and for each new file it looks at all of these inodes in
/// that part. Clones are deleted with all their files, so each one would make the next one slower.
fn spread(dir: &Path) -> io::Result<()> {
    let dir = fs::File::open(dir)?;
    let flags = ioctl_getflags(&dir)?;
    if !flags.contains(IFlags::TOPDIR) {
        ioctl_setflags(&dir, flags | IFlags::TOPDIR)?;
    }
    Ok(())
}

/// Locks a directory, unless a process uses it.
fn lock(path: &Path) -> Option<fs::File> {
    let file = fs::File::open(path.join(LOCK_FILE)).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// Returns an error if the directory is a link or is accessible to other users.
fn ensure_private(path: &Path) -> Result<()> {
    let found = path
        .symlink_metadata()
        .map_err(|error| Error::io(path, &error))?;
    let problem = if !found.is_dir() {
        "is a link, not a directory: remove it, or use another"
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        "belongs to another user: use another directory"
    } else if found.mode() & 0o077 != 0 {
        "is accessible to other users: run `chmod 700` on it, or use another directory"
    } else {
        return Ok(());
    };
    Err(Error::Path {
        path: path.to_owned(),
        problem: problem.into(),
    })
}

/// Removes a tree, even if directories in it are read-only.
fn remove_all(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(_) => make_writable(path),
    }
    fs::remove_dir_all(path).map_err(|error| Error::io(path, &error))
}

/// Makes every directory below writable. Links are not followed.
fn make_writable(path: &Path) {
    let mut pending = vec![path.to_owned()];
    while let Some(dir) = pending.pop() {
        let _ = fs::set_permissions(&dir, fs::Permissions::from_mode(0o700));
        let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
        let dirs = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        pending.extend(dirs.map(|entry| entry.path()));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use windlass_tasks::TaskId;

    use super::*;

    fn clones_dir() -> (tempfile::TempDir, ClonesDir) {
        let parent = tempfile::tempdir().unwrap();
        let dir = ClonesDir::new(parent.path().join("state/clones")).unwrap();
        (parent, dir)
    }

    fn first() -> AttemptRef {
        AttemptRef {
            task: TaskId::from(7),
            number: 1,
        }
    }

    #[test]
    fn clones_are_spread_over_the_disk_where_the_file_system_can_do_that() {
        let (_parent, clones) = clones_dir();
        let dir = fs::File::open(clones.path()).unwrap();
        let is_spread = ioctl_getflags(&dir).is_ok_and(|flags| flags.contains(IFlags::TOPDIR));
        assert_eq!(is_spread, spread(clones.path()).is_ok());
    }

    #[test]
    fn p27_clones_dir_must_be_private() {
        let (parent, clones) = clones_dir();
        assert_eq!(clones.path().metadata().unwrap().mode() & 0o777, 0o700);

        let open = parent.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(
            ClonesDir::new(open)
                .unwrap_err()
                .to_string()
                .contains("chmod 700")
        );

        let link = parent.path().join("link");
        symlink(clones.path(), &link).unwrap();
        assert!(
            ClonesDir::new(link)
                .unwrap_err()
                .to_string()
                .contains("is a link")
        );
    }

    #[test]
    fn p27_planted_link_is_rejected_and_not_followed() {
        let (parent, clones) = clones_dir();
        let victim = parent.path().join("victim");
        fs::create_dir(&victim).unwrap();
        symlink(&victim, clones.path().join(clone_name(first()))).unwrap();
        let (temp_dir, lock) = clones.create_temp(&clone_name(first())).unwrap();
        drop(lock);
        let error = clones
            .rename_to(&temp_dir, &clone_name(first()))
            .unwrap_err();
        assert!(
            error.to_string().contains("not a Windlass directory"),
            "{error}"
        );
        assert_eq!(clones.clean_up().unwrap(), [], "only the unfinished clone");
        assert!(!temp_dir.exists());
        assert!(clones.lock(first()).is_none());
        assert!(victim.is_dir());
    }

    #[test]
    fn complete_clones_are_found_and_unfinished_ones_removed() {
        let (_parent, clones) = clones_dir();
        let second = AttemptRef {
            task: TaskId::from(7),
            number: 2,
        };
        for attempt in [first(), second] {
            let (temp_dir, _) = clones.create_temp(&clone_name(attempt)).unwrap();
            clones.rename_to(&temp_dir, &clone_name(attempt)).unwrap();
        }
        let (unfinished, lock) = clones.create_temp(&clone_name(first())).unwrap();
        drop(lock);
        fs::create_dir(clones.path().join("removing-x")).unwrap();
        fs::create_dir(clones.path().join("something-else")).unwrap();
        let mut found = clones.clean_up().unwrap();
        found.sort_by_key(|attempt| attempt.number);
        assert_eq!(found, [first(), second]);
        assert!(!unfinished.exists());
        let mut left: Vec<String> = fs::read_dir(clones.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let expected = ["something-else", "task-7-attempt-1", "task-7-attempt-2"];
        assert_eq!(left, expected);
    }

    #[test]
    fn p2_clone_in_use_is_not_stale() {
        let (_parent, clones) = clones_dir();
        let (temp_dir, lock) = clones.create_temp(&clone_name(first())).unwrap();
        clones.clean_up().unwrap();
        assert!(temp_dir.is_dir());
        clones.rename_to(&temp_dir, &clone_name(first())).unwrap();
        assert!(clones.lock(first()).is_none());
        drop(lock);
        let held = clones.lock(first()).unwrap();
        assert!(clones.lock(first()).is_none(), "one process at a time");
        drop(held);
        // A process may be about to lock the directory it created, or have died before that.
        let unlocked = clones.path().join("unlocked-x");
        fs::create_dir(&unlocked).unwrap();
        clones.clean_up().unwrap();
        assert!(unlocked.is_dir());
        let long_ago = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
        let file = fs::File::open(&unlocked).unwrap();
        file.set_times(long_ago).unwrap();
        clones.clean_up().unwrap();
        assert!(!unlocked.exists());
    }

    #[test]
    fn read_only_directories_are_removed() {
        let (_parent, clones) = clones_dir();
        let (clone, _lock) = clones.create_temp(&clone_name(first())).unwrap();
        fs::create_dir_all(clone.join("a/b")).unwrap();
        fs::write(clone.join("a/b/file"), "x").unwrap();
        for path in ["a/b", "a"] {
            fs::set_permissions(clone.join(path), fs::Permissions::from_mode(0o500)).unwrap();
        }
        clones.remove(&clone).unwrap();
        assert_eq!(fs::read_dir(clones.path()).unwrap().count(), 0);
    }
}
