//! Finds the processes of the tree through `/proc`, and kills them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};
use windlass_core::Backoff;

use crate::init_protocol::KillScope;

/// Delays before the next pass. They grow, because many trees may be ending concurrently on a busy
/// machine.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(32));
/// Maximum number of passes: about five seconds in total.
const MAX_PASSES: u32 = 160;

/// Returns every process of the tree except this one.
pub(super) fn members(scope: KillScope) -> Vec<Process> {
    let own = getpid().as_raw_nonzero().get();
    let mut others = processes();
    others.retain(|process| process.pid != own);
    if scope == KillScope::Descendants {
        let descendants: BTreeSet<i32> = descendants(own, &others).into_iter().collect();
        others.retain(|process| descendants.contains(&process.pid));
    }
    others
}

/// Returns every process of the tree that can still be killed.
pub(super) fn live_processes(scope: KillScope) -> Vec<Pid> {
    let live = members(scope).into_iter().filter(|process| !process.zombie);
    live.filter_map(|process| Pid::from_raw(process.pid))
        .collect()
}

/// Returns the CPU time of these processes and of all that have ended, in clock ticks.
pub(super) fn cpu_ticks(processes: &[Process]) -> u64 {
    let ended = read(OsStr::new("self")).map_or(0, |own| own.children_ticks);
    let running = processes
        .iter()
        .map(|process| process.own_ticks + process.children_ticks);
    running.fold(ended, u64::saturating_add)
}

/// Kills processes until none is left. Returns `false` if one cannot be killed.
///
/// A process that was sent SIGKILL cannot fork again, and its children become children of this
/// process, so each pass leaves fewer. Reading `/proc` is not atomic and may miss a process if its
/// parent ends at that time, so the loop ends only when this process has no child left.
pub(super) fn kill_all(scope: KillScope) -> bool {
    for pass in 0..MAX_PASSES {
        if !has_children() {
            return true;
        }
        for pid in live_processes(scope) {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(BACKOFF.delay(pass));
    }
    !has_children()
}

/// Reaps the children that exited, and returns `true` if others are left.
fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// One process, as `/proc/PID/stat` shows it.
#[derive(Debug, Default)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    zombie: bool,
    own_ticks: u64,
    /// The CPU time of children that have ended.
    children_ticks: u64,
    pub(super) threads: u64,
    pub(super) resident_pages: u64,
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| read(&entry.file_name()))
        .collect()
}

fn read(name: &OsStr) -> Option<Process> {
    let pid = name.to_str()?.parse().unwrap_or_default();
    let stat = fs::read(Path::new("/proc").join(name).join("stat")).ok()?;
    parse(pid, &stat)
}

/// Parses `pid (name) state parent …`. The name may contain any characters, including parentheses
/// and spaces.
fn parse(pid: i32, stat: &[u8]) -> Option<Process> {
    let after_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
    let mut fields = std::str::from_utf8(&stat[after_name..])
        .ok()?
        .split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    // The numbers that follow the parent, with their indexes in `proc_pid_stat(5)` minus 5.
    let numbers: Vec<u64> = fields
        .map(|field| field.parse().unwrap_or_default())
        .collect();
    let number = |index: usize| numbers.get(index).copied().unwrap_or_default();
    Some(Process {
        pid,
        parent,
        zombie: matches!(state, "Z" | "X"),
        own_ticks: number(9) + number(10),
        children_ticks: number(11) + number(12),
        threads: number(15),
        resident_pages: number(19),
    })
}

fn descendants(root: i32, all: &[Process]) -> Vec<i32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(
            all.iter()
                .filter(|process| process.parent == parent)
                .map(|process| process.pid),
        );
        next += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p5_process_name_cannot_confuse_the_parser() {
        let stat = b"7 (a) S 1 (b) ) S 42 7 7 0 -1 0 0 0 0 0 10 20 30 40 20 0 3 0 99 4096 17 0";
        let process = parse(7, stat).unwrap();
        assert_eq!((process.parent, process.zombie), (42, false));
        assert_eq!((process.own_ticks, process.children_ticks), (30, 70));
        assert_eq!((process.threads, process.resident_pages), (3, 17));
    }

    #[test]
    fn p5_grandchildren_are_found_through_a_zombie() {
        let all = [(2, 1, false), (3, 2, true), (4, 3, false), (9, 8, false)].map(
            |(pid, parent, zombie)| Process {
                pid,
                parent,
                zombie,
                ..Process::default()
            },
        );
        assert_eq!(descendants(1, &all), [2, 3, 4]);
    }
}
