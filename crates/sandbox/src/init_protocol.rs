//! Messages between the parent and the init process.
//!
//! Both use a socket that is the init process's standard input. The parent sends the request,
//! passes the child's standard input and output and a socket for listeners as file descriptors, and then sends
//! one byte for each graceful stop. When the socket closes, the init process kills everything. When nothing of the
//! tree is left, it sends its report. With this protocol no secret and no path appears on a command line, and no file
//! descriptor has to be found by its number.
//!
//! The programs between the parent and the child have no descriptor of the child's output. The parent therefore waits
//! neither for them nor for the kernel, which takes their namespaces apart: for an agent, that takes milliseconds.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::{Deserialize, Serialize};

use crate::fs_policy::Access;
use crate::limits::{Resource, ResourceLimits};
use crate::seccomp::{CallFilter, Sockets};

/// More than the kernel accepts as arguments and environment together.
const MAX_REQUEST_BYTES: usize = 16 << 20;

/// A request to the init process to run one command.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InitRequest {
    pub(crate) argv: Vec<OsString>,
    /// Content that the program gets through file descriptors, each with the index of the argument
    /// that is replaced by the number of its descriptor.
    pub(crate) data: Vec<(usize, Vec<u8>)>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) cwd: OsString,
    pub(crate) scope: KillScope,
    /// The ports to listen on in a separate network namespace; `None` if there is no such
    /// namespace.
    pub(crate) listen: Option<Vec<u16>>,
    /// Restrictions that the init process applies itself; bubblewrap applies its own.
    pub(crate) confinement: Option<Confinement>,
    pub(crate) limits: ResourceLimits,
    /// Private directories in memory, as the command sees them.
    pub(crate) private_dirs: Vec<OsString>,
    /// Directories on disk that the command can write to.
    pub(crate) written_dirs: Vec<OsString>,
    /// What to clean up when the command has ended.
    pub(crate) cleanup: CleanupPlan,
    /// The file that keeps a copy of `cleanup` on disk while the command runs.
    pub(crate) record: Option<OsString>,
}

/// Which processes belong to the tree to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum KillScope {
    /// All processes in the init process's own PID namespace.
    Namespace,
    /// All descendants of the init process.
    Descendants,
}

/// What Landlock and seccomp enforce.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Confinement {
    pub(crate) rules: Vec<(OsString, Access)>,
    pub(crate) network: PortRule,
    pub(crate) calls: CallFilter,
    pub(crate) sockets: Sockets,
}

/// Which ports of other machines Landlock allows connections to.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum PortRule {
    None,
    Only(Vec<u16>),
    Any,
}

/// What one sandbox has to clean up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CleanupPlan {
    /// The working directory, which other sandboxes may use at the same time.
    pub(crate) working_dir: Option<OsString>,
    pub(crate) items: Vec<CleanupItem>,
}

/// Something on disk to remove or restore after the command has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CleanupItem {
    /// An empty directory that the sandbox created as a mount point.
    MountPoint(OsString),
    /// A file that did not exist before and must not exist afterwards.
    MustNotExist(OsString),
    /// A link that must have this target.
    RestoreLink(OsString, OsString),
    /// A private directory, to be removed with its content.
    PrivateDir(OsString),
}

/// The init process's report on the outcome. It is sent as one line, when nothing of the tree is left. If a process cannot be
/// killed, the line has no end: the report then counts only once the init process itself is gone.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum InitReport {
    /// The command ended with this code; 128 + n if signal n ended it.
    Ended(i32),
    /// The command was not started.
    Failed(String),
    /// The tree was killed because it exceeded a limit.
    Exceeded(Resource),
}

impl InitReport {
    /// Encodes the report.
    pub(crate) fn encode(&self, is_tree_gone: bool) -> io::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        if is_tree_gone {
            line.push(b'\n');
        }
        Ok(line)
    }

    /// Decodes what was received while the init process may still run.
    pub(crate) fn decode(received: &[u8]) -> Option<Self> {
        Self::decode_at_end(received.strip_suffix(b"\n")?)
    }

    /// Decodes what was received from an init process that is gone.
    pub(crate) fn decode_at_end(received: &[u8]) -> Option<Self> {
        serde_json::from_slice(received).ok()
    }
}

impl InitRequest {
    /// Encodes the request with its length in front, to be sent after [`send_handshake`].
    pub(crate) fn encode(&self) -> io::Result<Vec<u8>> {
        let body = serde_json::to_vec(self)?;
        let length = u32::try_from(body.len())
            .ok()
            .filter(|&length| length as usize <= MAX_REQUEST_BYTES);
        let length = length
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "arguments too long"))?;
        Ok([&length.to_be_bytes()[..], &body].concat())
    }
}

/// Descriptors that the init process gets from its parent.
#[derive(Debug, Default)]
pub(crate) struct InitFds {
    /// The child's standard input.
    pub(crate) stdin: Option<OwnedFd>,
    /// The child's standard output.
    pub(crate) stdout: Option<OwnedFd>,
    /// The child's standard error.
    pub(crate) stderr: Option<OwnedFd>,
    /// The socket on which the parent waits for the listeners.
    pub(crate) network: Option<OwnedFd>,
}

impl InitFds {
    /// Returns the descriptors in the order in which they are sent.
    fn all(&self) -> [&Option<OwnedFd>; 4] {
        [&self.stdin, &self.stdout, &self.stderr, &self.network]
    }
}

/// Sends the first byte on the socket, with the descriptors.
pub(crate) fn send_handshake(socket: impl AsFd, fds: &InitFds) -> io::Result<()> {
    // Each bit of the byte says whether a descriptor comes with it.
    let mut flags = 0;
    for (at, fd) in fds.all().into_iter().enumerate() {
        flags |= u8::from(fd.is_some()) << at;
    }
    let fds: Vec<BorrowedFd<'_>> = fds.all().into_iter().flatten().map(AsFd::as_fd).collect();
    send_fds(socket, &[flags], &fds)
}

/// Sends the listeners of a network namespace to the parent.
pub(crate) fn send_listeners(socket: impl AsFd, listeners: &[OwnedFd]) -> io::Result<()> {
    let fds: Vec<BorrowedFd<'_>> = listeners.iter().map(AsFd::as_fd).collect();
    send_fds(socket, &[0], &fds)
}

/// Receives the listeners of a network namespace; none if the init process has ended.
pub(crate) fn receive_listeners(socket: impl AsFd) -> io::Result<Vec<OwnedFd>> {
    Ok(receive_fds(socket)?.map_or_else(Vec::new, |(_, fds)| fds))
}

/// The most descriptors that the kernel passes in one message.
const MAX_FDS: usize = 253;

fn send_fds(socket: impl AsFd, byte: &[u8; 1], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(fds));
    }
    let bytes = [IoSlice::new(byte)];
    rustix::net::sendmsg(socket, &bytes, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives one byte with descriptors. Returns `None` if the socket closed first.
fn receive_fds(socket: impl AsFd) -> io::Result<Option<(u8, Vec<OwnedFd>)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut slices = [IoSliceMut::new(&mut byte)];
    let received = rustix::net::recvmsg(
        &socket,
        &mut slices,
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    if received.bytes == 0 {
        return Ok(None);
    }
    let fds = ancillary.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => fds.collect(),
        _ => Vec::new(),
    });
    let fds = fds.collect();
    Ok(Some((byte[0], fds)))
}

/// Receives the request and its descriptors. Returns `None` if the parent is gone.
pub(crate) fn receive(socket: impl AsFd) -> io::Result<Option<(InitRequest, InitFds)>> {
    let Some((flags, received)) = receive_fds(&socket)? else {
        return Ok(None);
    };
    let mut received = received.into_iter();
    let mut take = |at: u8| (flags & (1 << at) != 0).then(|| received.next()).flatten();
    let fds = InitFds {
        stdin: take(0),
        stdout: take(1),
        stderr: take(2),
        network: take(3),
    };
    let mut length = [0; 4];
    if !read_exact(&socket, &mut length)? {
        return Ok(None);
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_REQUEST_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "request too long",
        ));
    }
    let mut body = vec![0; length];
    if !read_exact(&socket, &mut body)? {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&body)?, fds)))
}

/// Fills `buffer`. Returns `false` if the socket closed first.
fn read_exact(socket: impl AsFd, mut buffer: &mut [u8]) -> io::Result<bool> {
    while !buffer.is_empty() {
        match rustix::io::retry_on_intr(|| rustix::io::read(&socket, &mut *buffer))? {
            0 => return Ok(false),
            count => buffer = &mut buffer[count..],
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p5_report_counts_early_only_if_the_tree_is_gone() {
        let ended = |report: Option<InitReport>| matches!(report, Some(InitReport::Ended(7)));
        let report = InitReport::Ended(7);
        let early = report.encode(true).unwrap();
        assert!(ended(InitReport::decode(&early)));
        assert!(!ended(InitReport::decode(&early[..early.len() - 1])));
        let late = report.encode(false).unwrap();
        assert!(!ended(InitReport::decode(&late)));
        assert!(ended(InitReport::decode_at_end(&late)));
    }
}
