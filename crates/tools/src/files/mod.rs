//! Tools for single files.

mod edit;
mod list;
mod read;
mod write;

pub use edit::fs_edit;
pub use list::fs_list;
pub use read::fs_read;
pub use write::fs_write;

pub(crate) use edit::FsEdit;
pub(crate) use list::FsList;
pub(crate) use read::FsRead;
pub(crate) use write::FsWrite;

/// The maximum size of a file that is changed as text. It is held in memory more than once.
pub(crate) const TEXT_BYTES: u64 = 16 << 20;
