//! The processes of the tree, found through `/proc`, and their end.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

use crate::init_protocol::KillScope;

/// How long to wait before looking again; it doubles, as many trees may be ending at once on a busy
/// machine.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(32);
/// How often to look: about five seconds in all.
const PASSES: u32 = 160;

/// Every living process of the tree but this one.
pub(super) fn live_processes(scope: KillScope) -> Vec<Pid> {
    let own = getpid().as_raw_nonzero().get();
    let mut others = processes();
    others.retain(|process| process.pid != own);
    let mut members: Vec<i32> = match scope {
        KillScope::Namespace => others.iter().map(|process| process.pid).collect(),
        KillScope::Descendants => descendants(own, &others),
    };
    // A zombie counts while looking for its children, and is past killing.
    members.retain(|pid| {
        others
            .iter()
            .any(|process| process.pid == *pid && !process.zombie)
    });
    members.into_iter().filter_map(Pid::from_raw).collect()
}

/// Kills until nothing is left.
///
/// A process that was sent SIGKILL cannot fork again, and its children become ours, so each pass
/// leaves fewer. A look through `/proc` is not made at one instant and may miss a process whose
/// parent dies meanwhile; that we have no child left is what counts.
pub(super) fn kill_all(scope: KillScope) {
    let mut pause = FIRST_PAUSE;
    for _ in 0..PASSES {
        if !has_children() {
            return;
        }
        for pid in live_processes(scope) {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Collects the dead, and says whether there are others.
fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

struct Process {
    pid: i32,
    parent: i32,
    zombie: bool,
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| read(&entry.file_name()))
        .collect()
}

fn read(name: &OsStr) -> Option<Process> {
    let pid = name.to_str()?.parse().ok()?;
    let stat = fs::read(Path::new("/proc").join(name).join("stat")).ok()?;
    parse(pid, &stat)
}

/// Reads `pid (name) state parent …`; the name may hold anything, parentheses and spaces too.
fn parse(pid: i32, stat: &[u8]) -> Option<Process> {
    let after_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
    let mut fields = std::str::from_utf8(&stat[after_name..])
        .ok()?
        .split_ascii_whitespace();
    let state = fields.next()?;
    Some(Process {
        pid,
        parent: fields.next()?.parse().ok()?,
        zombie: matches!(state, "Z" | "X"),
    })
}

fn descendants(root: i32, all: &[Process]) -> Vec<i32> {
    let mut found = vec![root];
    let mut looked_at = 0;
    while let Some(&parent) = found.get(looked_at) {
        found.extend(
            all.iter()
                .filter(|process| process.parent == parent)
                .map(|process| process.pid),
        );
        looked_at += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p5_a_name_cannot_hide_a_process() {
        let process = parse(7, b"7 (a) S 1 (b) ) S 42 7 7 0 -1").unwrap();
        assert_eq!((process.parent, process.zombie), (42, false));
    }

    #[test]
    fn p5_grandchildren_are_found_through_a_zombie() {
        let all = [(2, 1, false), (3, 2, true), (4, 3, false), (9, 8, false)].map(
            |(pid, parent, zombie)| Process {
                pid,
                parent,
                zombie,
            },
        );
        assert_eq!(descendants(1, &all), [2, 3, 4]);
    }
}
