//! Starts the command: sets the limits, applies the sandbox, then executes the program.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, getpid, set_child_subreaper, set_dumpable_behavior,
    setrlimit, setsid,
};

use super::network;
use crate::init_protocol::{InitFds, InitRequest, KillScope};
use crate::{confine, keyring};

/// The kernel does not reuse process IDs below this once its counter has wrapped.
const RESERVED_PIDS: u64 = 300;

/// The first file descriptor after standard input, output and error.
const FIRST_OTHER_FD: i32 = 3;

/// How many processes the kernel allows above the limit, so that the watchdog sees the limit
/// exceeded and reports it.
const SPARE_PROCESSES: u64 = 64;

/// Detaches this process from the terminal and protects it from the command it will start.
pub(super) fn harden() {
    // These calls fail only where there is nothing to protect from: the process is already a
    // session leader, or the kernel is old.
    let _ = setsid();
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Starts the command, or returns a short reason why it could not.
pub(super) fn start(mut request: InitRequest, fds: InitFds) -> Result<Pid, String> {
    limit(&request)?;
    if let Some(ports) = &request.listen {
        network::prepare(ports, fds.network)?;
    }
    if request.scope == KillScope::Descendants {
        // Orphans of the tree become children of this process instead of the system's init, where
        // they could no longer be tracked.
        set_child_subreaper(Some(getpid()))
            .map_err(|error| format!("cannot become subreaper: {error}"))?;
    }
    // Landlock and seccomp restrict the calling thread and the processes it starts. A separate
    // thread applies them and starts the command, so that the rest of the init process stays
    // unrestricted.
    let thread = std::thread::spawn(move || {
        // This process could not kill a process that gained privileges.
        rustix::thread::set_no_new_privs(true)
            .map_err(|error| format!("cannot set no_new_privs: {error}"))?;
        keyring::replace_session_keyring();
        // Files that the caller of Windlass left open must not reach the command.
        close_fds::set_fds_cloexec_threadsafe(FIRST_OTHER_FD, &[]);
        let _files = open_data(&mut request)
            .map_err(|error| format!("cannot pass data to the program: {error}"))?;
        if let Some(confinement) = &request.confinement {
            confine::apply(confinement)?;
        }
        let output = [fds.stdout, fds.stderr];
        spawn(&request, fds.stdin, output)
    });
    thread
        .join()
        .map_err(|_| "the thread that starts the command panicked".to_owned())?
}

/// Opens the request's data as files that the program inherits, and puts the numbers of their
/// descriptors into its arguments.
fn open_data(request: &mut InitRequest) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    for (index, content) in &request.data {
        let mut file = File::from(memfd_create("windlass", MemfdFlags::empty())?);
        file.write_all(content)?;
        file.rewind()?;
        if let Some(argument) = request.argv.get_mut(*index) {
            *argument = OsString::from(file.as_raw_fd().to_string());
        }
        files.push(file);
    }
    Ok(files)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox is the crate that starts processes"
)]
fn spawn(
    request: &InitRequest,
    stdin: Option<OwnedFd>,
    output: [Option<OwnedFd>; 2],
) -> Result<Pid, String> {
    let stdio = |fd: Option<OwnedFd>| fd.map_or_else(Stdio::null, Stdio::from);
    let [stdout, stderr] = output.map(stdio);
    let (program, args) = request.argv.split_first().ok_or("no program was given")?;
    let child = Command::new(program)
        .args(args)
        .env_clear()
        .envs(request.variables.iter().map(|(name, value)| (name, value)))
        .current_dir(&request.cwd)
        .stdin(stdio(stdin))
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    Ok(Pid::from_child(&child))
}

fn limit(request: &InitRequest) -> Result<(), String> {
    // A core file would bypass every other limit.
    lower_rlimit(Resource::Core, 0)?;
    let limits = &request.limits;
    lower_rlimit(Resource::Fsize, limits.file_bytes)?;
    if request.scope == KillScope::Namespace {
        // Here the limit counts processes per namespace and user; elsewhere it would also count the
        // user's other processes.
        let processes = limits.processes.saturating_add(SPARE_PROCESSES);
        lower_rlimit(Resource::Nproc, processes)?;
        // Shared memory that no process has attached would not be measured.
        let pages = limits.memory_bytes / rustix::param::page_size() as u64;
        let _ = std::fs::write("/proc/sys/kernel/shmall", pages.to_string());
        // Root is exempt from that limit, so the namespace's process IDs are limited as well.
        if namespaces_count_pids() {
            let highest = processes.saturating_add(RESERVED_PIDS).to_string();
            let _ = std::fs::write("/proc/sys/kernel/pid_max", highest);
        }
    }
    Ok(())
}

/// Returns `true` if `pid_max` is per namespace (since Linux 6.14); before, it applied to the whole
/// machine.
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
    setrlimit(resource, limits).map_err(|error| format!("cannot set a resource limit: {error}"))
}
