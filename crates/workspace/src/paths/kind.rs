//! What can be found at a path.

use std::fmt;

use rustix::fs::{FileType, Stat};

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PathKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A named pipe: opening it may wait for ever.
    Pipe,
    /// A socket.
    Socket,
    /// A device: opening it may do something.
    Device,
}

impl PathKind {
    pub(super) fn from_stat(stat: &Stat) -> Self {
        Self::of_type(FileType::from_raw_mode(stat.st_mode))
    }

    pub(super) fn of_type(found: FileType) -> Self {
        match found {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            _ => Self::Device,
        }
    }
}

impl fmt::Display for PathKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "file",
            Self::Folder => "folder",
            Self::Link => "link",
            Self::Pipe => "pipe",
            Self::Socket => "socket",
            Self::Device => "device",
        })
    }
}

/// What is known of a path without opening what lies there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
    pub kind: PathKind,
    /// How large it says it is.
    pub bytes: u64,
    /// Its permission bits.
    pub mode: u32,
    /// How many names it has.
    pub links: u64,
    /// The device it lies on and its number there: the same for the same file only.
    pub identity: (u64, u64),
}

impl Metadata {
    #[expect(
        clippy::useless_conversion,
        reason = "the width of a link count differs between machines"
    )]
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            kind: PathKind::from_stat(stat),
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & 0o7777,
            links: u64::from(stat.st_nlink),
            identity: (stat.st_dev, stat.st_ino),
        }
    }
}
