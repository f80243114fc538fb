//! The view as arguments for bubblewrap.
//!
//! `unshare` makes a PID namespace with a `/proc` of its own, the init program is process 1 in it,
//! and starts bubblewrap for the view. So the init program stays outside of the walls it guards: it
//! cannot be traced or starved from inside, needs not be visible there, and an ordinary user's
//! agent still has the uncovered `/proc` that a sandbox of its own needs.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use rustix::process::{getgid, getuid};

use crate::fs_policy::{Access, FsPolicy};
use crate::path_lists;
use crate::profile::ProfileKind;
use crate::protect::ProtectedPath;

/// What a private folder may hold; it lives in memory.
const PRIVATE_DIR_BYTES: u64 = 2 << 30;

/// Whom an agent believes to be when root starts it: several refuse to work as root, and the kernel
/// lets no process that is root without capabilities build a sandbox of its own.
const UNPRIVILEGED_UID: u32 = 1000;

/// What comes before the init program.
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

/// What comes before the command.
pub(crate) fn bwrap_args(bwrap: &Path, view: &FsPolicy, covers: &[ProtectedPath]) -> Vec<OsString> {
    let mut args = ArgBuilder(vec![bwrap.into()]);
    args.identity(view);
    args.push(&[
        &"--ro-bind",
        &"/",
        &"/",
        &"--dev",
        &"/dev",
        &"--bind",
        &"/proc",
        &"/proc",
    ]);
    if view.kind != ProfileKind::Agent || getuid().is_root() {
        args.cover_kernel_settings();
    }
    args.rules(view);
    args.covers(covers);
    args.push(&[&"--chdir", &view.cwd, &"--"]);
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

    fn identity(&mut self, view: &FsPolicy) {
        let as_other = view.kind == ProfileKind::Agent && getuid().is_root();
        let (uid, gid) = match as_other {
            true => (UNPRIVILEGED_UID, UNPRIVILEGED_UID),
            false => (getuid().as_raw(), getgid().as_raw()),
        };
        self.push(&[
            &"--unshare-user",
            &"--uid",
            &uid.to_string(),
            &"--gid",
            &gid.to_string(),
        ]);
        self.push(&[&"--unshare-ipc", &"--cap-drop", &"ALL", &"--new-session"]);
        if !view.network {
            self.push(&[&"--unshare-net"]);
        }
    }

    fn cover_kernel_settings(&mut self) {
        for path in path_lists::KERNEL_SETTINGS {
            self.push(&[&"--ro-bind-try", path, path]);
        }
    }

    fn rules(&mut self, view: &FsPolicy) {
        let mut sealed = Vec::new();
        for (path, &access) in &view.rules {
            // The root and what repeats the rule above it need no mount.
            if path.parent().is_none() || view.inherited_access(path) == access {
                continue;
            }
            match access {
                Access::Read => self.push(&[&"--ro-bind", path, path]),
                Access::Write => self.push(&[&"--bind", path, path]),
                Access::Private => {
                    self.push(&[&"--size", &PRIVATE_DIR_BYTES.to_string(), &"--tmpfs", path]);
                }
                Access::Hidden if view.inherited_access(path) == Access::Private => {}
                Access::Hidden if path.is_dir() => {
                    self.push(&[&"--tmpfs", path]);
                    sealed.push(path);
                }
                Access::Hidden => self.push(&[&"--ro-bind", &"/dev/null", path]),
            }
        }
        // Last, because what is shown inside a hidden folder has to be mounted there first.
        for path in sealed {
            self.push(&[&"--remount-ro", path]);
        }
    }

    fn covers(&mut self, covers: &[ProtectedPath]) {
        for cover in covers {
            match cover {
                ProtectedPath::Existing(path) => self.push(&[&"--ro-bind", path, path]),
                ProtectedPath::Pinned(path) => self.push(&[&"--bind", path, path]),
                ProtectedPath::Link { .. } => {}
                ProtectedPath::Missing(path) => {
                    self.push(&[&"--tmpfs", path, &"--remount-ro", path])
                }
            }
        }
    }
}
