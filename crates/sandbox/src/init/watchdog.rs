//! Compares what the process tree uses with its limits.
//!
//! The kernel limits the size of a file and of a directory in memory. Everything else is
//! measured, often while the tree works and rarely while it waits.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::statvfs;
use rustix::process::Pid;

use super::tree::{self, Process};
use super::usage::{self, UnnamedFiles, WrittenDirs};
use crate::init_protocol::{InitRequest, KillScope};
use crate::limits::{Resource, ResourceLimits};

/// The time between two measurements of a tree that works, and of one that waits.
const MIN_INTERVAL: Duration = Duration::from_millis(200);
const MAX_INTERVAL: Duration = Duration::from_secs(1);
/// Walking through the files may take one part in this many of the time.
const WALK_SHARE: u32 = 20;

/// Measures one tree.
pub(super) struct Watchdog {
    limits: ResourceLimits,
    scope: KillScope,
    /// Directories in memory, as the command sees them.
    private_dirs: Vec<PathBuf>,
    written: WrittenDirs,
    /// When the files may be walked through again.
    next_walk: Instant,
}

impl Watchdog {
    /// Creates the watchdog of a tree that is about to start.
    pub(super) fn new(request: &InitRequest) -> Self {
        Self {
            limits: request.limits,
            scope: request.scope,
            private_dirs: request.private_dirs.iter().map(PathBuf::from).collect(),
            written: WrittenDirs::new(request.written_dirs.iter().map(PathBuf::from)),
            next_walk: now(),
        }
    }

    /// Returns when the tree of `child` has exceeded a limit.
    pub(super) fn wait(mut self, child: Pid) -> Resource {
        let (mut interval, mut last_ticks) = (MIN_INTERVAL, 0);
        loop {
            std::thread::sleep(interval);
            let processes = tree::members(self.scope);
            let ticks = tree::cpu_ticks(&processes);
            if let Some(resource) = self.exceeded(&processes, ticks, child) {
                return resource;
            }
            interval = if ticks == last_ticks {
                (interval * 2).min(MAX_INTERVAL)
            } else {
                MIN_INTERVAL
            };
            last_ticks = ticks;
        }
    }

    fn exceeded(&mut self, processes: &[Process], ticks: u64, child: Pid) -> Option<Resource> {
        let limits = self.limits;
        let threads: u64 = processes.iter().map(|process| process.threads).sum();
        if threads > limits.processes {
            return Some(Resource::Processes);
        }
        let per_second = rustix::param::clock_ticks_per_second().max(1);
        if Duration::from_secs(ticks / per_second) >= limits.cpu_time {
            return Some(Resource::CpuTime);
        }
        let (private, devices) = self.private_bytes(processes, child);
        let unnamed = UnnamedFiles::find(processes, &devices);
        let in_memory = private.saturating_add(unnamed.memory_bytes);
        let memory = usage::resident_bytes(processes).saturating_add(in_memory);
        if memory >= limits.memory_bytes
            && usage::exact_memory_bytes(processes, in_memory) >= limits.memory_bytes
        {
            return Some(Resource::Memory);
        }
        let known = in_memory.saturating_add(unnamed.disk_bytes);
        self.exceeds_disk(known).then_some(Resource::Disk)
    }

    /// Returns the size of the content of the private directories, and their devices.
    fn private_bytes(&self, processes: &[Process], child: Pid) -> (u64, BTreeSet<u64>) {
        let (mut total, mut devices) = (0, BTreeSet::new());
        // Bubblewrap stays outside and has the command as its only child.
        let bubblewrap = child.as_raw_nonzero().get();
        let Some(command) = processes.iter().find(|one| one.parent == bubblewrap) else {
            return (total, devices);
        };
        let root = PathBuf::from(format!("/proc/{}/root", command.pid));
        for dir in &self.private_dirs {
            let dir = root.join(dir.strip_prefix("/").unwrap_or(dir));
            let (Ok(system), Ok(found)) = (statvfs(&dir), dir.metadata()) else {
                continue;
            };
            // Until bubblewrap has mounted its directory, another one has this path.
            let size = system.f_blocks.saturating_mul(system.f_frsize);
            let is_ours = size.abs_diff(self.limits.private_dir_bytes()) < system.f_frsize;
            if is_ours && devices.insert(found.dev()) {
                total += usage::used_bytes(&system);
            }
        }
        (total, devices)
    }

    /// Returns `true` if the tree has written too much: the known bytes and the files in its
    /// directories. These are only walked through if the file systems have become fuller by the
    /// limit.
    fn exceeds_disk(&mut self, known: u64) -> bool {
        let limit = self.limits.disk_bytes;
        if known >= limit {
            return true;
        }
        let growth = self.written.growth_bytes().saturating_add(known);
        let start = now();
        if growth < limit || start < self.next_walk {
            return false;
        }
        let changed = self.written.changed_bytes();
        self.next_walk = start + start.elapsed() * WALK_SHARE;
        changed.saturating_add(known) >= limit
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the init process has no `Clock`; the time only limits how often directories are walked"
)]
fn now() -> Instant {
    Instant::now()
}
