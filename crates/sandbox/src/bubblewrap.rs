//! Translates an [`FsPolicy`] into arguments for bubblewrap.
//!
//! `unshare` creates a PID namespace with its own `/proc`. The init process is process 1 in it and
//! starts bubblewrap, which applies the policy. The init process therefore stays outside the
//! sandbox it guards: sandboxed processes can neither trace nor starve it, and it need not be
//! visible to them. An agent started by an ordinary user also keeps the uncovered `/proc` that it
//! needs to create a sandbox itself.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use rustix::process::{getgid, getuid};

use crate::fs_policy::{Access, FsPolicy};
use crate::path_lists;
use crate::profile::ProfileKind;
use crate::protect::ProtectedPath;

/// Maximum size of a private directory, which is kept in memory.
const PRIVATE_DIR_BYTES: u64 = 2 << 30;

/// Maximum size of `/dev/shm`, where programs share memory.
const SHARED_MEMORY_BYTES: u64 = 512 << 20;

/// User and group ID of an agent that root starts. Several agents refuse to run as root, and the
/// kernel does not let a root process without capabilities create a sandbox itself.
const UNPRIVILEGED_UID: u32 = 1000;

/// Returns the `unshare` command line that precedes the init program.
pub(crate) fn unshare_args(unshare: &Path) -> Vec<OsString> {
    let flags = [
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "--",
    ];
    std::iter::once(unshare.into())
        .chain(flags.map(OsString::from))
        .collect()
}

/// Returns the bubblewrap command line that precedes the command.
pub(crate) fn bwrap_args(
    bwrap: &Path,
    policy: &FsPolicy,
    protected: &[ProtectedPath],
) -> Vec<OsString> {
    let mut args = ArgBuilder(vec![bwrap.into()]);
    args.identity(policy);
    args.push(&[&"--ro-bind", &"/", &"/"]);
    // The new `/dev` is in memory and has no limit of its own.
    args.push(&[&"--dev", &"/dev", &"--remount-ro", &"/dev"]);
    args.push(&[&"--bind", &"/proc", &"/proc"]);
    if policy.kind != ProfileKind::Agent || getuid().is_root() {
        args.cover_kernel_settings();
    }
    args.rules(policy);
    args.protect(protected);
    args.push(&[&"--chdir", &policy.cwd, &"--"]);
    args.0
}

struct ArgBuilder(Vec<OsString>);

impl ArgBuilder {
    fn push(&mut self, args: &[&dyn AsRef<OsStr>]) {
        self.0.extend(
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
        self.push(&[&"--unshare-ipc", &"--cap-drop", &"ALL", &"--new-session"]);
        if !policy.network {
            self.push(&[&"--unshare-net"]);
        }
    }

    fn private_dir(&mut self, path: &Path) {
        let bytes = if path == Path::new(path_lists::SHARED_MEMORY) {
            SHARED_MEMORY_BYTES
        } else {
            PRIVATE_DIR_BYTES
        };
        self.push(&[&"--size", &bytes.to_string(), &"--tmpfs", &path]);
    }

    fn cover_kernel_settings(&mut self) {
        for path in path_lists::KERNEL_SETTINGS {
            self.push(&[&"--ro-bind-try", path, path]);
        }
    }

    fn rules(&mut self, policy: &FsPolicy) {
        let mut sealed = Vec::new();
        for (path, &access) in &policy.rules {
            // The root, and a path with the same access as its parent, need no mount.
            if path.parent().is_none() || policy.inherited_access(path) == access {
                continue;
            }
            match access {
                Access::Read => self.push(&[&"--ro-bind", path, path]),
                Access::Write => self.push(&[&"--bind", path, path]),
                Access::Private => self.private_dir(path),
                Access::Hidden if policy.inherited_access(path) == Access::Private => {}
                Access::Hidden if path.is_dir() => {
                    self.push(&[&"--tmpfs", path]);
                    sealed.push(path);
                }
                Access::Hidden => self.push(&[&"--ro-bind", &"/dev/null", path]),
            }
        }
        for (link, target) in &policy.links {
            let is_absent = matches!(policy.access(link), Access::Private | Access::Hidden);
            if is_absent && policy.is_visible(target) {
                self.push(&[&"--symlink", target, link]);
            }
        }
        // Last, because paths shown inside a hidden directory must be mounted there first.
        for path in sealed {
            self.push(&[&"--remount-ro", path]);
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
