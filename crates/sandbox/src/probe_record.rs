//! Remembers on disk that a mechanism works here, so that a short command need not start a sandbox to find out.
//!
//! A record skips the probe of one mechanism, and nothing else: it selects none, its mechanism is tried in the usual
//! order, and that a stronger one does *not* work is never recorded. A record that is wrong, or forged by a program
//! that runs without a sandbox, therefore leads to a command that does not start, never to one that is isolated
//! less. Such a start makes [`Sandbox`](crate::Sandbox) probe again.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::{geteuid, getgid, getuid};

use crate::host::Host;
use crate::isolation::Isolation;

/// What decides whether a process may create namespaces. Not every kernel has all of them.
const KERNEL_FACTS: [&str; 7] = [
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/user/max_pid_namespaces",
    "/proc/self/attr/current",
];

/// Maximum size of a file of the kernel that is read. The longest one lists the groups of the user.
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// The namespaces in which the mechanism was tried: a container may share the home directory.
const NAMESPACES: [&str; 3] = ["user", "mnt", "pid"];

/// The restrictions of this thread, as `/proc/thread-self/status` names them. A filter of system calls can be one of a thread.
const RESTRICTIONS: [&str; 5] = [
    "CapEff:",
    "CapBnd:",
    "NoNewPrivs:",
    "Seccomp:",
    "Seccomp_filters:",
];

/// The record that a mechanism works in these circumstances.
#[derive(Debug)]
pub(crate) struct ProbeRecord {
    path: PathBuf,
    facts: String,
}

impl ProbeRecord {
    /// Returns the record of this mechanism, which may not exist. `None` if the circumstances are not known.
    pub(crate) fn new(isolation: &Isolation) -> Option<Self> {
        let facts = facts(isolation).ok()?;
        let path = isolation.host.probe_records();
        let path = path.join(isolation.mechanism.to_string());
        Some(Self { path, facts })
    }

    /// Returns `true` if the mechanism worked in exactly these circumstances.
    pub(crate) fn exists(&self) -> bool {
        self.read().is_ok_and(|text| text == self.facts)
    }

    fn read(&self) -> io::Result<String> {
        ensure_own(
            &self
                .path
                .parent()
                .unwrap_or(&self.path)
                .symlink_metadata()?,
        )?;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(
                OFlags::NOFOLLOW
                    .union(OFlags::NONBLOCK)
                    .bits()
                    .cast_signed(),
            )
            .open(&self.path)?;
        let found = file.metadata()?;
        ensure_own(&found)?;
        if !found.is_file() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut text = String::new();
        let limit = u64::try_from(self.facts.len()).unwrap_or(u64::MAX);
        file.take(limit.saturating_add(1))
            .read_to_string(&mut text)?;
        Ok(text)
    }

    /// Writes the record, completely or not at all. Without it, the next command probes again.
    pub(crate) fn write(&self) {
        let _ = self.try_write();
    }

    fn try_write(&self) -> io::Result<()> {
        let dir = self.path.parent().unwrap_or(&self.path);
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        ensure_own(&dir.symlink_metadata()?)?;
        // Its mode is 0600.
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(self.facts.as_bytes())?;
        file.persist(&self.path)?;
        Ok(())
    }

    /// Removes the record.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the records of all mechanisms.
pub(crate) fn remove_all(host: &Host) {
    let _ = fs::remove_dir_all(host.probe_records());
}

/// Returns an error if another user owns this, or could write to it.
fn ensure_own(found: &fs::Metadata) -> io::Result<()> {
    if found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(io::ErrorKind::PermissionDenied.into())
}

/// Describes everything on which it depends whether the mechanism works, as text.
fn facts(isolation: &Isolation) -> io::Result<String> {
    let mut text = format!(
        "{} {} {} {} {}\n",
        env!("CARGO_PKG_VERSION"),
        isolation.mechanism,
        getuid().as_raw(),
        geteuid().as_raw(),
        getgid().as_raw(),
    );
    let programs = [&isolation.init, &isolation.bwrap, &isolation.unshare];
    let programs = programs
        .into_iter()
        .filter(|path| !path.as_os_str().is_empty());
    for path in programs.map(PathBuf::as_path).chain([Path::new("/")]) {
        add_line(&mut text, path.as_os_str(), &identity(path)?);
    }
    for name in NAMESPACES {
        let link = fs::read_link(format!("/proc/self/ns/{name}"))?;
        add_line(&mut text, OsStr::new(name), &link.display().to_string());
    }
    for path in KERNEL_FACTS {
        add_line(&mut text, OsStr::new(path), &small_text(path));
    }
    let status = small_text("/proc/thread-self/status");
    let is_restriction = |line: &&str| RESTRICTIONS.iter().any(|name| line.starts_with(name));
    for line in status.lines().filter(is_restriction) {
        text.push_str(line);
        text.push('\n');
    }
    Ok(text)
}

fn add_line(text: &mut String, name: &OsStr, value: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}: {value:?}", name.display());
}

/// Identifies the file at a path: another file, or a change of this one, has another identity. The root is a
/// directory, in which files come and go.
fn identity(path: &Path) -> io::Result<String> {
    let found = path.metadata()?;
    let (dev, ino) = (found.dev(), found.ino());
    if found.is_dir() {
        return Ok(format!("{dev} {ino}"));
    }
    let changed = (found.ctime(), found.ctime_nsec());
    let modified = (found.mtime(), found.mtime_nsec());
    let (size, mode) = (found.size(), found.mode());
    Ok(format!(
        "{dev} {ino} {size} {mode:o} {modified:?} {changed:?}"
    ))
}

/// Returns the content of a small file of the kernel, or nothing if this kernel does not have it.
fn small_text(path: &str) -> String {
    let mut bytes = Vec::new();
    let _ = File::open(path).and_then(|file| file.take(MAX_TEXT_BYTES).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}
