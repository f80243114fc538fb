//! What the process tree uses: memory, space on disk and CPU time.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{StatVfs, statfs, statvfs};

use super::tree::Process;

/// The kernel's unit of allocated space in a file's metadata.
const BLOCK_BYTES: u64 = 512;
/// The type of a file system in memory.
const TMPFS_MAGIC: i64 = 0x0102_1994;
/// `/proc/PID/smaps_rollup` has about 25 lines.
const MAX_ROLLUP_BYTES: u64 = 16 << 10;

/// Returns the resident memory of all processes, in which shared memory counts several times.
pub(super) fn resident_bytes(processes: &[Process]) -> u64 {
    let pages: u64 = processes.iter().map(|process| process.resident_pages).sum();
    pages.saturating_mul(rustix::param::page_size() as u64)
}

/// Returns the memory of all processes, in which shared memory counts once, and of files
/// in memory. Content that the kernel can read again from a file does not count.
pub(super) fn exact_memory_bytes(processes: &[Process], in_memory_files: u64) -> u64 {
    let (mut own, mut shared) = (0, 0);
    for process in processes {
        let text = read_rollup(process.pid).unwrap_or_default();
        own += rollup_bytes(&text, "Pss_Anon:") + rollup_bytes(&text, "SwapPss:");
        shared += rollup_bytes(&text, "Pss_Shmem:");
    }
    // A mapped file in memory is in both numbers.
    own + shared.max(in_memory_files)
}

fn read_rollup(pid: i32) -> io::Result<String> {
    let mut text = String::new();
    let file = File::open(format!("/proc/{pid}/smaps_rollup"))?;
    file.take(MAX_ROLLUP_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

fn rollup_bytes(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() << 10
}

/// The space of open files that have no name any more, or never had one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UnnamedFiles {
    pub(super) memory_bytes: u64,
    pub(super) disk_bytes: u64,
}

impl UnnamedFiles {
    /// Finds the unnamed files of these processes. Files on the given devices are skipped.
    pub(super) fn find(processes: &[Process], skipped_devices: &BTreeSet<u64>) -> Self {
        let mut seen = BTreeSet::new();
        let mut total = Self::default();
        for process in processes {
            let fds = fs::read_dir(format!("/proc/{}/fd", process.pid));
            for fd in fds.into_iter().flatten().flatten() {
                let Ok(found) = fs::metadata(fd.path()) else {
                    continue;
                };
                let counts = found.is_file()
                    && found.nlink() == 0
                    && !skipped_devices.contains(&found.dev())
                    && seen.insert((found.dev(), found.ino()));
                if counts {
                    total.add(&fd.path(), allocated_bytes(&found));
                }
            }
        }
        total
    }

    fn add(&mut self, file: &Path, bytes: u64) {
        let is_in_memory = statfs(file).is_ok_and(|system| system.f_type == TMPFS_MAGIC);
        let total = if is_in_memory {
            &mut self.memory_bytes
        } else {
            &mut self.disk_bytes
        };
        *total = total.saturating_add(bytes);
    }
}

fn allocated_bytes(file: &Metadata) -> u64 {
    file.blocks().saturating_mul(BLOCK_BYTES)
}

/// Returns the used space of a file system.
pub(super) fn used_bytes(system: &StatVfs) -> u64 {
    let blocks = system.f_blocks.saturating_sub(system.f_bfree);
    blocks.saturating_mul(system.f_frsize)
}

/// The directories that the tree can write to, and how full their file systems were at the start.
pub(super) struct WrittenDirs {
    dirs: Vec<PathBuf>,
    start: SystemTime,
    /// Used bytes at the start, by device.
    used: Vec<(PathBuf, u64)>,
}

impl WrittenDirs {
    pub(super) fn new(dirs: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut dirs: Vec<PathBuf> = dirs.into_iter().collect();
        // A directory sorts before its content, which needs no separate walk.
        dirs.sort();
        dirs.dedup_by(|below, above| below.starts_with(above));
        let mut devices = BTreeSet::new();
        let mut used = Vec::new();
        for dir in &dirs {
            let is_new = fs::metadata(dir).is_ok_and(|found| devices.insert(found.dev()));
            if let (true, Ok(system)) = (is_new, statvfs(dir)) {
                used.push((dir.clone(), used_bytes(&system)));
            }
        }
        Self {
            dirs,
            start: now(),
            used,
        }
    }

    /// Returns by how much the file systems have become fuller. Other programs write to them too.
    pub(super) fn growth_bytes(&self) -> u64 {
        let growth = |(dir, before): &(PathBuf, u64)| {
            let now = statvfs(dir).map_or(0, |system| used_bytes(&system));
            now.saturating_sub(*before)
        };
        self.used.iter().map(growth).sum()
    }

    /// Returns the space of the files that were changed since the start. The time of a change is
    /// the kernel's; a process cannot set it. Returns `u64::MAX` if a directory cannot be read: its
    /// content may be anything.
    pub(super) fn changed_bytes(&self) -> u64 {
        let mut total: u64 = 0;
        let mut dirs = self.dirs.clone();
        while let Some(dir) = dirs.pop() {
            match self.read_dir(&dir, &mut dirs) {
                Ok(bytes) => total = total.saturating_add(bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return u64::MAX,
            }
        }
        total
    }

    fn read_dir(&self, dir: &Path, dirs: &mut Vec<PathBuf>) -> io::Result<u64> {
        let found = fs::symlink_metadata(dir)?;
        if found.is_file() {
            return Ok(self.changed(&found));
        }
        let mut total: u64 = 0;
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            // A file may have vanished since.
            let Ok(found) = entry.metadata() else {
                continue;
            };
            if found.is_dir() {
                dirs.push(entry.path());
            } else {
                total = total.saturating_add(self.changed(&found));
            }
        }
        Ok(total)
    }

    fn changed(&self, file: &Metadata) -> u64 {
        let start = self.start.duration_since(SystemTime::UNIX_EPOCH);
        let is_changed = start.is_ok_and(|start| file.ctime() >= start.as_secs() as i64);
        if is_changed { allocated_bytes(file) } else { 0 }
    }
}

/// Returns the time that file systems stamp files with.
#[expect(
    clippy::disallowed_methods,
    reason = "the time is compared with that of files, which no `Clock` decides"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_changed_since_the_start_count() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("below")).unwrap();
        fs::write(dir.path().join("old"), [1; 100_000]).unwrap();
        let mut written = WrittenDirs::new([dir.path().join("below"), dir.path().to_owned()]);
        assert_eq!(written.dirs, [dir.path()], "a directory is walked once");
        written.start = now() + std::time::Duration::from_secs(3600);
        assert_eq!(written.changed_bytes(), 0);
        written.start = SystemTime::UNIX_EPOCH;
        fs::write(dir.path().join("below/new"), [1; 50_000]).unwrap();
        let bytes = written.changed_bytes();
        assert!((150_000..200_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn rollup_is_parsed() {
        let text = "1-2 ---p 0 00:00 0 [rollup]\nRss: 900 kB\nPss_Anon:      12 kB\n";
        assert_eq!(rollup_bytes(text, "Pss_Anon:"), 12 << 10);
        assert_eq!(rollup_bytes(text, "SwapPss:"), 0);
    }
}
