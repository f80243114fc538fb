//! Waits for the end of the command or of the parent, whichever comes first.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use rustix::stdio::stdin;

use super::cleanup::SharedWorkingDir;
use super::record::Record;
use super::{start, tree};
use crate::init_protocol::{self, Cleanup, InitReport, InitRequest, KillScope};

/// What a shell says of a command that SIGKILL ended.
const KILLED: i32 = 137;

/// The life of the init program.
pub(super) fn main() -> ! {
    start::harden();
    let (orders, stdin) = match init_protocol::receive(stdin()) {
        Ok(Some(received)) => received,
        Ok(None) => exit(KILLED),
        Err(error) => {
            report(&InitReport::Failed(format!(
                "orders not understood: {error}: was the program replaced while running?"
            )));
            exit(KILLED)
        }
    };
    let ending = Arc::new(Termination::new(&orders));
    let child = match start::start(orders, stdin) {
        Ok(child) => child,
        Err(problem) => ending.end(InitReport::Failed(problem)),
    };
    let watcher = Arc::clone(&ending);
    std::thread::spawn(move || watch_parent(child, &watcher));
    ending.end(InitReport::Ended(reap_until_exit(child)))
}

/// Passes gentle stops on; when the parent has gone, ends everything.
fn watch_parent(child: Pid, ending: &Termination) -> ! {
    let mut byte = [0];
    loop {
        match rustix::io::read(stdin(), &mut byte) {
            Ok(count) if count > 0 => ending.terminate(child),
            Err(Errno::INTR) => {}
            Ok(_) | Err(_) => ending.end(InitReport::Ended(KILLED)),
        }
    }
}

/// Collects every process that ends here, orphans too, until `child` is among them.
fn reap_until_exit(child: Pid) -> i32 {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => return code(status),
            Ok(_) | Err(Errno::INTR) => {}
            // Somebody else has collected it: there is no child left to wait for.
            Err(_) => return KILLED,
        }
    }
}

fn code(status: WaitStatus) -> i32 {
    let signalled = || status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or_else(signalled).unwrap_or(KILLED)
}

/// The end, which happens once whoever asks for it first.
struct Termination {
    scope: KillScope,
    working_dir: SharedWorkingDir,
    cleanup: Cleanup,
    record: Option<Record>,
    once: Mutex<()>,
}

impl Termination {
    fn new(orders: &InitRequest) -> Self {
        let cleanup = orders.cleanup.clone();
        let working_dir = SharedWorkingDir::lock(cleanup.working_dir.as_deref());
        let record = orders.record.as_deref().map(Path::new);
        let record = record.and_then(|path| Record::write(path, &cleanup).ok());
        working_dir.prepare(&cleanup);
        Self {
            scope: orders.scope,
            working_dir,
            cleanup,
            record,
            once: Mutex::new(()),
        }
    }

    /// SIGTERM for all but bubblewrap itself, which would die of it and take the others along at
    /// once.
    fn terminate(&self, child: Pid) {
        let members = tree::live_processes(self.scope).into_iter();
        for pid in members.filter(|&pid| self.scope == KillScope::Descendants || pid != child) {
            // It may have ended by itself in the meantime.
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Ends the tree, clears up, says why, exits.
    fn end(&self, last_words: InitReport) -> ! {
        let _once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        if self.scope == KillScope::Descendants || !self.cleanup.items.is_empty() {
            tree::kill_all(self.scope);
        }
        let is_clean = self.working_dir.clean_up(&self.cleanup);
        // Otherwise another process uses the folder. If it is not one of ours, the next start of a
        // sandbox removes the mount points.
        if let Some(record) = self.record.as_ref().filter(|_| is_clean) {
            record.remove();
        }
        report(&last_words);
        exit(match last_words {
            InitReport::Ended(code) => code,
            InitReport::Failed(_) => KILLED,
        })
    }
}

fn report(words: &InitReport) {
    if let Ok(words) = serde_json::to_vec(words) {
        // If the parent has gone there is nobody to tell.
        let _ = rustix::net::send(stdin(), &words, rustix::net::SendFlags::NOSIGNAL);
    }
}

#[expect(
    clippy::exit,
    reason = "the init program is a program of its own, and its exit is what ends the namespace"
)]
fn exit(code: i32) -> ! {
    std::process::exit(code)
}
