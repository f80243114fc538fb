//! Translates an [`FsPolicy`] and the system call filter into arguments for bubblewrap.
//!
//! `unshare` creates a PID namespace with its own `/proc`, an IPC namespace and, unless the network is
//! open, a network namespace. The init process is process 1 in it and
//! starts bubblewrap, which applies the policy. The init process therefore stays outside the
//! sandbox it guards: sandboxed processes can neither trace nor starve it, and it need not be
//! visible to them. An agent started by an ordinary user also keeps the uncovered `/proc` that it
//! needs to create a sandbox itself.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use rustix::process::{getgid, getuid};

use crate::error::{Error, Result};
use crate::fs_policy::{Access, FsPolicy, ROOT};
use crate::limits::ResourceLimits;
use crate::network::NetworkPlan;
use crate::path_lists;
use crate::profile::ProfileKind;
use crate::protect::ProtectedPath;
use crate::seccomp::{self, CallFilter, Sockets};

/// The devices of the sandbox.
const DEVICES: &str = "/dev";
/// The processes of the sandbox.
const PROCESSES: &str = "/proc";

/// What a sandbox has of its own, whatever the rules say.
const HAS_ITS_OWN: [&str; 4] = [
    DEVICES,
    PROCESSES,
    path_lists::SHARED_MEMORY,
    path_lists::MESSAGE_QUEUES,
];

/// Maximum size of `/dev/shm`, where programs share memory.
const SHARED_MEMORY_BYTES: u64 = 512 << 20;

/// User and group ID of an agent that root starts. Several agents refuse to run as root, and the
/// kernel does not let a root process without capabilities create a sandbox itself.
const UNPRIVILEGED_UID: u32 = 1000;

/// Returns the `unshare` command line that precedes the init program.
pub(crate) fn unshare_args(unshare: &Path, has_open_network: bool) -> Vec<OsString> {
    let network = if has_open_network {
        None
    } else {
        Some("--net")
    };
    let flags = [
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "--ipc",
    ];
    std::iter::once(unshare.into())
        .chain(
            flags
                .into_iter()
                .chain(network)
                .chain(["--"])
                .map(OsString::from),
        )
        .collect()
}

/// A bubblewrap command line.
#[derive(Debug)]
pub(crate) struct BwrapArgs {
    pub(crate) args: Vec<OsString>,
    /// See [`InitRequest::data`](crate::init_protocol::InitRequest::data).
    pub(crate) data: Vec<(usize, Vec<u8>)>,
    /// The directories in memory.
    pub(crate) private_dirs: Vec<OsString>,
}

/// Returns the bubblewrap command line that precedes the command.
pub(crate) fn bwrap_args(
    bwrap: &Path,
    policy: &FsPolicy,
    protected: &[ProtectedPath],
    limits: &ResourceLimits,
    network: Option<&NetworkPlan>,
) -> Result<BwrapArgs> {
    let mut args = BwrapArgs {
        args: vec![bwrap.into()],
        data: Vec::new(),
        private_dirs: Vec::new(),
    };
    args.identity(policy);
    if policy.programs_only {
        args.needed_devices();
    } else {
        args.kernel_files(policy.kind, limits);
    }
    args.rules(policy, limits);
    args.protect(protected);
    if let Some(network) = network {
        args.name_hosts(network);
    }
    args.filter_calls(policy.kind)?;
    args.push(&[&"--chdir", &policy.cwd, &"--"]);
    Ok(args)
}

impl BwrapArgs {
    fn push(&mut self, args: &[&dyn AsRef<OsStr>]) {
        self.args.extend(
            args.iter()
                .map(|arg| AsRef::<OsStr>::as_ref(*arg).to_owned()),
        );
    }

    fn identity(&mut self, policy: &FsPolicy) {
        let as_other = policy.kind == ProfileKind::Agent && getuid().is_root();
        let (uid, gid) = if as_other {
            (UNPRIVILEGED_UID, UNPRIVILEGED_UID)
        } else {
            (getuid().as_raw(), getgid().as_raw())
        };
        self.push(&[
            &"--unshare-user",
            &"--uid",
            &uid.to_string(),
            &"--gid",
            &gid.to_string(),
        ]);
        self.push(&[&"--cap-drop", &"ALL", &"--new-session"]);
    }

    /// Adds an option with a file descriptor of this content as its argument.
    fn push_data(&mut self, option: &str, content: Vec<u8>) {
        self.push(&[&option, &""]);
        self.data.push((self.args.len() - 1, content));
    }

    /// Mounts the names of allowed hosts. A machine without this file needs none.
    fn name_hosts(&mut self, network: &NetworkPlan) {
        if let Ok(file) = Path::new("/etc/hosts").canonicalize() {
            self.push_data("--ro-bind-data", network.hosts_file().into_bytes());
            self.push(&[&file]);
        }
    }

    /// Filters system calls. Bubblewrap applies the filter last, after it has made its own calls.
    fn filter_calls(&mut self, kind: ProfileKind) -> Result<()> {
        let programs = seccomp::programs(CallFilter::from(kind), Sockets::Any);
        for program in programs.map_err(|error| Error::Filter(error.to_string()))? {
            self.push_data("--add-seccomp-fd", seccomp::encode(&program));
        }
        Ok(())
    }

    /// Mounts an empty directory in memory.
    fn private_dir(&mut self, path: &Path, limits: &ResourceLimits) {
        let bytes = if path == Path::new(path_lists::SHARED_MEMORY) {
            limits.private_dir_bytes().min(SHARED_MEMORY_BYTES)
        } else {
            limits.private_dir_bytes()
        };
        let size = bytes.to_string();
        self.push(&[&"--size", &size, &"--tmpfs", &path]);
        self.private_dirs.push(path.into());
    }

    /// Mounts devices, shared memory and `/proc`.
    fn kernel_files(&mut self, kind: ProfileKind, limits: &ResourceLimits) {
        self.push(&[&"--dev", &DEVICES]);
        self.private_dir(Path::new(path_lists::SHARED_MEMORY), limits);
        self.push(&[&"--bind", &PROCESSES, &PROCESSES]);
        if kind != ProfileKind::Agent || getuid().is_root() {
            for path in path_lists::KERNEL_SETTINGS {
                self.push(&[&"--ro-bind-try", path, path]);
            }
        }
    }

    fn needed_devices(&mut self) {
        for path in path_lists::NEEDED_DEVICES {
            self.push(&[&"--dev-bind", path, path]);
        }
    }

    /// Mounts what the rules show into the root, which is empty and in memory.
    fn rules(&mut self, policy: &FsPolicy, limits: &ResourceLimits) {
        let mut sealed = vec![Path::new(ROOT)];
        if !policy.programs_only {
            sealed.push(Path::new(DEVICES));
        }
        for path in &policy.root_names {
            // A program that lists the root finds the names that it knows.
            if policy.access(path) == Access::Hidden && path.is_dir() {
                self.push(&[&"--dir", path]);
            }
        }
        for (path, &access) in &policy.rules {
            if path == Path::new(ROOT) || HAS_ITS_OWN.iter().any(|own| path == Path::new(own)) {
                continue;
            }
            let inherited = policy.inherited_access(path);
            match access {
                Access::Hidden if is_in_root(path) && path.is_dir() => {
                    self.push(&[&"--dir", path]);
                }
                // A home directory below a temporary one.
                Access::Private if inherited == Access::Private => self.push(&[&"--dir", path]),
                _ if access == inherited => {}
                Access::Read => self.push(&[&"--ro-bind", path, path]),
                Access::Write => self.push(&[&"--bind", path, path]),
                Access::Private => self.private_dir(path, limits),
                Access::Hidden if inherited == Access::Private => {}
                Access::Hidden if path.is_dir() => {
                    self.push(&[&"--tmpfs", path]);
                    sealed.push(path);
                }
                Access::Hidden => self.push(&[&"--ro-bind", &"/dev/null", path]),
            }
        }
        for (link, target) in &policy.links {
            let is_absent = matches!(policy.access(link), Access::Private | Access::Hidden);
            if is_absent && (is_in_root(link) || policy.leads_to_visible(target)) {
                self.push(&[&"--symlink", target, link]);
            }
        }
        // Last, because paths shown inside a hidden directory must be mounted there first.
        for path in sealed {
            self.push(&[&"--remount-ro", &path]);
        }
    }

    fn protect(&mut self, protected: &[ProtectedPath]) {
        for entry in protected {
            match entry {
                ProtectedPath::Existing(path) => self.push(&[&"--ro-bind", path, path]),
                ProtectedPath::Pinned(path) => self.push(&[&"--bind", path, path]),
                ProtectedPath::Link { .. } | ProtectedPath::Absent(_) => {}
                ProtectedPath::Missing(path) | ProtectedPath::Hidden(path) => {
                    self.push(&[&"--tmpfs", path, &"--remount-ro", path])
                }
            }
        }
    }
}

fn is_in_root(path: &Path) -> bool {
    path.parent() == Some(Path::new(ROOT))
}
