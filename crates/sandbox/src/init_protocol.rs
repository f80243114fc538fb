//! What the parent tells the init program, and what that answers.
//!
//! Both talk over a socket that is the init program's standard input. It carries the orders, the
//! child's own standard input as a passed file handle, then one byte for each gentle stop; its end
//! means: end everything now. So no secret and no path stands on a command line, and no file handle
//! has to be found by its number.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::{Deserialize, Serialize};

use crate::fs_policy::Access;

/// More than the kernel takes as arguments and environment together.
const MAX_REQUEST_BYTES: usize = 16 << 20;

/// One command for the init program.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InitRequest {
    pub(crate) argv: Vec<OsString>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) cwd: OsString,
    pub(crate) scope: KillScope,
    /// Walls the init program puts up itself; bubblewrap brings its own.
    pub(crate) walls: Option<Confinement>,
    pub(crate) processes: u64,
    pub(crate) file_bytes: Option<u64>,
    /// What to clean up when the command has ended.
    pub(crate) cleanup: Cleanup,
    /// The file that keeps a copy of `cleanup` on disk while the command runs.
    pub(crate) record: Option<OsString>,
}

/// What belongs to the tree that must die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum KillScope {
    /// Everything in the init program's own PID namespace.
    Namespace,
    /// Everything descended from the init program.
    Descendants,
}

/// What Landlock and seccomp have to enforce.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Confinement {
    pub(crate) rules: Vec<(OsString, Access)>,
    pub(crate) network: bool,
    pub(crate) unix_sockets: bool,
}

/// What one sandbox has to clean up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cleanup {
    /// The working directory, which other sandboxes may be using at the same time.
    pub(crate) working_dir: Option<OsString>,
    pub(crate) items: Vec<CleanupItem>,
}

/// Something on disk that must not stay as the command left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CleanupItem {
    /// An empty folder of ours, over which something was mounted.
    MountPoint(OsString),
    /// A file that did not exist before and must not exist afterwards.
    MustNotExist(OsString),
    /// A link that must have this target.
    RestoreLink(OsString, OsString),
    /// A private folder with all its content.
    PrivateDir(OsString),
}

/// The init program's last words.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum InitReport {
    /// The command ended with this code; 128 + n if signal n ended it.
    Ended(i32),
    /// The command was not started.
    Failed(String),
}

impl InitRequest {
    /// The orders with their length in front, to be sent after [`greet`].
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

/// The first byte on the socket, with the child's standard input if it has one.
pub(crate) fn send_handshake(socket: impl AsFd, stdin: Option<&OwnedFd>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let handles = stdin.map(|handle| [handle.as_fd()]);
    if let Some(handles) = &handles {
        ancillary.push(SendAncillaryMessage::ScmRights(handles));
    }
    rustix::net::sendmsg(
        socket,
        &[IoSlice::new(b"w")],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// The orders and the child's standard input, or `None` if the parent has gone.
pub(crate) fn receive(socket: impl AsFd) -> io::Result<Option<(InitRequest, Option<OwnedFd>)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut greeting = [0];
    let mut slices = [IoSliceMut::new(&mut greeting)];
    let received = rustix::net::recvmsg(
        &socket,
        &mut slices,
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    if received.bytes == 0 {
        return Ok(None);
    }
    let stdin = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut handles) => handles.next(),
        _ => None,
    });
    let mut length = [0; 4];
    if !read_exact(&socket, &mut length)? {
        return Ok(None);
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_REQUEST_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "orders too long",
        ));
    }
    let mut body = vec![0; length];
    if !read_exact(&socket, &mut body)? {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&body)?, stdin)))
}

/// Fills `buffer`; false if the socket ended first.
fn read_exact(socket: impl AsFd, mut buffer: &mut [u8]) -> io::Result<bool> {
    while !buffer.is_empty() {
        match rustix::io::retry_on_intr(|| rustix::io::read(&socket, &mut *buffer))? {
            0 => return Ok(false),
            count => buffer = &mut buffer[count..],
        }
    }
    Ok(true)
}
