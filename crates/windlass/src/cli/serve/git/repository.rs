//! A repository of the server: its creation, and its locks.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_server::HostOpsError;
use windlass_tasks::Project;

use super::{GitRepositories, internal};
use crate::config::private_dir::PrivateDir;

/// How old a lock of a killed git process is at least. Younger ones may belong to a process that is being killed.
const MIN_LOCK_AGE: Duration = Duration::from_secs(5);
/// How much of the list of packed refs is read. It has about 70 bytes for each.
const MAX_READ_BYTES: u64 = 64 << 20;
/// How deep names of refs are searched for locks.
const MAX_DEPTH: u32 = 40;

/// A repository of the server.
#[derive(Debug, Clone)]
pub(super) struct ServedRepository {
    pub(super) dir: PathBuf,
}

/// Held during a push: the files of pushes that are not held any more belong to killed ones.
#[derive(Debug)]
pub(super) struct PushLock(#[expect(dead_code, reason = "it is held, not read")] File);

impl GitRepositories {
    /// Returns the repository of a project. It is created empty when it is asked for first.
    pub(super) async fn repository(
        &self,
        project: &Project,
    ) -> Result<ServedRepository, HostOpsError> {
        let dir = self.dir.join(format!("{}.git", project.id));
        let repository = ServedRepository { dir };
        if repository.dir.join("HEAD").is_file() {
            return Ok(repository);
        }
        let parent = self.dir.clone();
        let locked = tokio::task::spawn_blocking(move || PrivateDir::lock(&parent)).await;
        let _lock = locked.map_err(internal)?.map_err(internal)?;
        if repository.dir.join("HEAD").is_file() {
            return Ok(repository);
        }
        // Complete or absent, also if this process is killed.
        let new = tempfile::Builder::new()
            .prefix(".new-")
            .tempdir_in(&self.dir)
            .map_err(internal)?;
        let is_sha256 = project
            .root_commit
            .as_ref()
            .is_some_and(|root| root.len() == 64);
        let format = if is_sha256 { "sha256" } else { "sha1" };
        let git_dir = new.path().join("git");
        fs::create_dir(&git_dir).map_err(internal)?;
        let format = format!("--object-format={format}");
        let args = [
            "init",
            "--quiet",
            "--bare",
            "--template=",
            "--initial-branch=main",
            &format,
        ];
        self.run_git(&git_dir, &args).await?;
        fs::rename(&git_dir, &repository.dir).map_err(internal)?;
        Ok(repository)
    }
}

impl ServedRepository {
    /// Marks that a push runs. If no other one does, the locks that killed ones have left are removed first: git would never move
    /// these refs again.
    pub(super) async fn lock_for_push(&self) -> Result<PushLock, HostOpsError> {
        let dir = self.dir.clone();
        let locked = tokio::task::spawn_blocking(move || {
            let file = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(dir.join("windlass-push.lock"))?;
            if file.try_lock().is_ok() {
                remove_stale(&dir)?;
                file.unlock()?;
            }
            file.lock_shared()?;
            Ok::<_, io::Error>(PushLock(file))
        });
        locked.await.map_err(internal)?.map_err(internal)
    }

    /// Returns `true` if the branch that HEAD names exists.
    pub(super) fn has_head(&self) -> bool {
        let read = |name: &str| read_start(&self.dir.join(name)).unwrap_or_default();
        let head = read("HEAD");
        let Some(branch) = head.trim().strip_prefix("ref: ") else {
            return true;
        };
        let packed = format!(" {branch}");
        self.dir.join(branch).is_file()
            || read("packed-refs")
                .lines()
                .any(|line| line.ends_with(&packed))
    }

    /// Returns `true` if repacking is worth it, by the rule of git: about 6,700 loose objects, or 50 packs.
    pub(super) fn is_fragmented(&self) -> bool {
        let count = |dir: &str, extension: &str| {
            let entries = fs::read_dir(self.dir.join(dir))
                .into_iter()
                .flatten()
                .flatten();
            let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            names.filter(|name| name.ends_with(extension)).count()
        };
        count("objects/17", "") > 26 || count("objects/pack", ".pack") > 50
    }
}

/// Reads the beginning of a file of git.
fn read_start(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(MAX_READ_BYTES)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// Removes what killed pushes have left: locks, and objects that were not complete.
fn remove_stale(dir: &Path) -> io::Result<()> {
    let mut stale = vec![dir.join("packed-refs.lock"), dir.join("HEAD.lock")];
    find_locks(&dir.join("refs"), MAX_DEPTH, &mut stale)?;
    for lock in stale {
        if let Some(age) = age(&lock) {
            std::thread::sleep(MIN_LOCK_AGE.saturating_sub(age));
            ignore_missing(fs::remove_file(&lock))?;
        }
    }
    for entry in fs::read_dir(dir.join("objects"))?.flatten() {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b"tmp_objdir-") {
            ignore_missing(fs::remove_dir_all(entry.path()))?;
        }
    }
    Ok(())
}

fn find_locks(dir: &Path, depth: u32, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)?.flatten() {
        let kind = entry.file_type()?;
        if kind.is_dir() && depth > 0 {
            find_locks(&entry.path(), depth - 1, found)?;
        } else if entry.path().extension().is_some_and(|end| end == "lock") {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// Returns the age of a file, which may be wrong if the clock was changed.
fn age(path: &Path) -> Option<Duration> {
    let modified = fs::metadata(path).ok()?.modified().ok()?;
    Some(modified.elapsed().unwrap_or_default())
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[tokio::test]
    async fn locks_of_killed_pushes_are_removed_unless_a_push_runs() {
        let dir = tempfile::tempdir().unwrap();
        let repository = ServedRepository {
            dir: dir.path().to_owned(),
        };
        let refs = dir.path().join("refs/heads/windlass/s");
        fs::create_dir_all(&refs).unwrap();
        let incoming = dir.path().join("objects/tmp_objdir-incoming-x");
        fs::create_dir_all(incoming.join("pack")).unwrap();
        let lock = refs.join("task-1.lock");
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let leave = || {
            let file = File::create(&lock).unwrap();
            file.set_modified(old).unwrap();
        };
        leave();
        let first = repository.lock_for_push().await.unwrap();
        assert!(!lock.exists() && !incoming.exists());
        leave();
        let second = repository.lock_for_push().await.unwrap();
        assert!(lock.exists(), "the first push may have it");
        drop((first, second));
        repository.lock_for_push().await.unwrap();
        assert!(!lock.exists());
    }

    #[test]
    fn head_without_its_branch_is_recognized() {
        let dir = tempfile::tempdir().unwrap();
        let repository = ServedRepository {
            dir: dir.path().to_owned(),
        };
        fs::write(dir.path().join("HEAD"), "ref: refs/heads/main\n").unwrap();
        assert!(!repository.has_head());
        let packed = dir.path().join("packed-refs");
        fs::write(&packed, "1234 refs/heads/xmain\n").unwrap();
        assert!(!repository.has_head());
        fs::write(&packed, "1234 refs/heads/main\n").unwrap();
        assert!(repository.has_head());
    }
}
