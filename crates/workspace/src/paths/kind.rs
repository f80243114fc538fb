//! Kinds of paths and their metadata.

use std::fmt;

use rustix::fs::{FileType, Stat};

/// The kind of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PathKind {
    /// A regular file.
    File,
    /// A directory.
    Folder,
    /// A symbolic link.
    Link,
    /// A named pipe: opening it may block forever.
    Pipe,
    /// A socket.
    Socket,
    /// A device: opening it may have side effects.
    Device,
}

impl PathKind {
    pub(super) fn from_stat(stat: &Stat) -> Self {
        Self::from_file_type(FileType::from_raw_mode(stat.st_mode))
    }

    pub(super) fn from_file_type(file_type: FileType) -> Self {
        match file_type {
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
            Self::Folder => "directory",
            Self::Link => "link",
            Self::Pipe => "pipe",
            Self::Socket => "socket",
            Self::Device => "device",
        })
    }
}

/// Metadata of a path, read without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// The kind of the path.
    pub kind: PathKind,
    /// The size in bytes, as reported.
    pub bytes: u64,
    /// The permission bits.
    pub mode: u32,
    /// The number of hard links.
    pub links: u64,
    /// Device and inode number, which identify the file.
    pub identity: (u64, u64),
}

impl Metadata {
    #[expect(
        clippy::useless_conversion,
        reason = "the width of a link count differs between machines"
    )]
    pub(super) fn from_stat(stat: &Stat) -> Self {
        Self {
            kind: PathKind::from_stat(stat),
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & 0o7777,
            links: u64::from(stat.st_nlink),
            identity: (stat.st_dev, stat.st_ino),
        }
    }
}
