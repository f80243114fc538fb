//! Waits until the command exits or the parent is gone, whichever comes first.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use rustix::stdio::stdin;

use super::cleanup::SharedWorkingDir;
use super::record::CleanupRecord;
use super::watchdog::Watchdog;
use super::{start, tree};
use crate::init_protocol::{self, CleanupPlan, InitReport, InitRequest, KillScope};
use crate::limits::Resource;

/// Exit code that a shell reports for a command killed by SIGKILL.
const KILLED: i32 = 137;
/// Exit code of a command that wrote more to a file than its limit.
const FILE_TOO_LARGE: i32 = 128 + Signal::XFSZ.as_raw();

/// Runs the init process.
pub(super) fn main() -> ! {
    start::harden();
    let (request, fds) = match init_protocol::receive(stdin()) {
        Ok(Some(received)) => received,
        Ok(None) => exit(KILLED),
        Err(error) => {
            let problem =
                format!("invalid request: {error}: was the program replaced while running?");
            report(&InitReport::Failed(problem), true);
            exit(KILLED)
        }
    };
    let termination = Arc::new(Termination::new(&request));
    let watchdog = Watchdog::new(&request);
    let child = match start::start(request, fds) {
        Ok(child) => child,
        Err(problem) => termination.end(InitReport::Failed(problem)),
    };
    let watcher = Arc::clone(&termination);
    std::thread::spawn(move || watch_parent(child, &watcher));
    let limiter = Arc::clone(&termination);
    std::thread::spawn(move || limiter.end(InitReport::Exceeded(watchdog.wait(child))));
    termination.end(match reap_until_exit(child) {
        FILE_TOO_LARGE => InitReport::Exceeded(Resource::FileSize),
        code => InitReport::Ended(code),
    })
}

/// Forwards stop requests to the tree, and kills everything once the parent is gone.
fn watch_parent(child: Pid, termination: &Termination) -> ! {
    let mut byte = [0];
    loop {
        match rustix::io::read(stdin(), &mut byte) {
            Ok(count) if count > 0 => termination.terminate(child),
            Err(Errno::INTR) => {}
            Ok(_) | Err(_) => termination.end(InitReport::Ended(KILLED)),
        }
    }
}

/// Reaps every child that exits, including orphans, until `child` exits.
fn reap_until_exit(child: Pid) -> i32 {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => return code(status),
            Ok(_) | Err(Errno::INTR) => {}
            // The child was reaped elsewhere: there is no child left to wait for.
            Err(_) => return KILLED,
        }
    }
}

fn code(status: WaitStatus) -> i32 {
    let signalled = || status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or_else(signalled).unwrap_or(KILLED)
}

/// The end of the process tree. It happens once, for the first caller.
struct Termination {
    scope: KillScope,
    working_dir: SharedWorkingDir,
    cleanup: CleanupPlan,
    record: Option<CleanupRecord>,
    once: Mutex<()>,
}

impl Termination {
    fn new(request: &InitRequest) -> Self {
        let cleanup = request.cleanup.clone();
        let working_dir = SharedWorkingDir::lock(cleanup.working_dir.as_deref());
        let record = request.record.as_deref().map(Path::new);
        let record = record.and_then(|path| CleanupRecord::write(path, &cleanup).ok());
        working_dir.prepare(&cleanup);
        Self {
            scope: request.scope,
            working_dir,
            cleanup,
            record,
            once: Mutex::new(()),
        }
    }

    /// Sends SIGTERM to every process except bubblewrap: without it the kernel kills the others
    /// immediately.
    fn terminate(&self, child: Pid) {
        let members = tree::live_processes(self.scope).into_iter();
        for pid in members.filter(|&pid| self.scope == KillScope::Descendants || pid != child) {
            // The process may have exited on its own.
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Kills the tree, cleans up, reports the outcome and exits.
    fn end(&self, outcome: InitReport) -> ! {
        let _once = self.once.lock();
        // The exit of process 1 would also end the others, but only after the report.
        let is_gone = tree::kill_all(self.scope);
        let is_clean = self.working_dir.clean_up(&self.cleanup);
        self.working_dir.unlock();
        match &self.record {
            Some(record) if is_clean => record.remove(),
            // Another process uses the directory. If that is not a sandbox, the next start of a sandbox removes the mount points.
            Some(record) => record.leave(),
            None => {}
        }
        report(&outcome, is_gone);
        exit(match outcome {
            InitReport::Ended(code) => code,
            InitReport::Failed(_) | InitReport::Exceeded(_) => KILLED,
        })
    }
}

fn report(outcome: &InitReport, is_tree_gone: bool) {
    if let Ok(line) = outcome.encode(is_tree_gone) {
        // If the parent is gone, there is no receiver for the report.
        let _ = rustix::net::send(stdin(), &line, rustix::net::SendFlags::NOSIGNAL);
    }
}

#[expect(
    clippy::exit,
    reason = "the init process is a separate process, and its exit ends the namespace"
)]
fn exit(code: i32) -> ! {
    std::process::exit(code)
}
