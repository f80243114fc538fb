//! Starts the command: limits first, then walls, then the program.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, getpid, set_child_subreaper, set_dumpable_behavior,
    setrlimit, setsid,
};

use crate::confine;
use crate::init_protocol::{InitRequest, KillScope};

/// Numbers below this are never used again once the kernel's counter of process ids has wrapped.
const RESERVED_PIDS: u64 = 300;

/// Puts this process out of reach of the terminal and of the command it will start.
pub(super) fn harden() {
    // Each of these can only fail where there is nothing to protect from: already a leader, or an
    // old kernel.
    let _ = setsid();
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Starts the command, or says in one phrase why not.
pub(super) fn start(orders: InitRequest, stdin: Option<OwnedFd>) -> Result<Pid, String> {
    limit(&orders)?;
    if orders.scope == KillScope::Descendants {
        // Orphans of the tree come to us and not to the system's init, where we would lose sight of
        // them.
        set_child_subreaper(Some(getpid()))
            .map_err(|error| format!("cannot adopt orphans: {error}"))?;
    }
    // Landlock and seccomp bind the thread that asks for them and what it starts, so a thread that
    // asks for them and then only starts the command leaves the rest of the init program free to do
    // its work.
    let thread = std::thread::spawn(move || {
        // What gained privileges could not be killed by us.
        rustix::thread::set_no_new_privs(true)
            .map_err(|error| format!("cannot give up privileges: {error}"))?;
        if let Some(walls) = &orders.walls {
            confine::apply(walls)?;
        }
        spawn(&orders, stdin)
    });
    thread
        .join()
        .map_err(|_| "the starting thread panicked".to_owned())?
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that starts a process"
)]
fn spawn(orders: &InitRequest, stdin: Option<OwnedFd>) -> Result<Pid, String> {
    let (program, args) = orders.argv.split_first().ok_or("no program was given")?;
    let child = Command::new(program)
        .args(args)
        .env_clear()
        .envs(orders.variables.iter().map(|(name, value)| (name, value)))
        .current_dir(&orders.cwd)
        .stdin(stdin.map_or_else(Stdio::null, Stdio::from))
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    Ok(Pid::from_child(&child))
}

fn limit(orders: &InitRequest) -> Result<(), String> {
    // A core file would be written outside of every other limit.
    lower_rlimit(Resource::Core, 0)?;
    if let Some(bytes) = orders.file_bytes {
        lower_rlimit(Resource::Fsize, bytes)?;
    }
    if orders.scope == KillScope::Namespace {
        // Counted per namespace and user there; elsewhere it would count the user's other processes
        // too.
        lower_rlimit(Resource::Nproc, orders.processes)?;
        // Root is exempt from that limit, so the namespace's own supply of ids is cut as well.
        if namespaces_count_pids() {
            let highest = orders.processes.saturating_add(RESERVED_PIDS).to_string();
            let _ = std::fs::write("/proc/sys/kernel/pid_max", highest);
        }
    }
    Ok(())
}

/// Whether `pid_max` belongs to the namespace (since Linux 6.14); before that it is the whole
/// machine's.
fn namespaces_count_pids() -> bool {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|part| part.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(14))
}

fn lower_rlimit(resource: Resource, wanted: u64) -> Result<(), String> {
    let allowed = rustix::process::getrlimit(resource).maximum;
    let limit = Some(allowed.map_or(wanted, |allowed| allowed.min(wanted)));
    let limits = Rlimit {
        current: limit,
        maximum: limit,
    };
    setrlimit(resource, limits).map_err(|error| format!("cannot set a limit: {error}"))
}
