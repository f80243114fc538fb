//! Paths that cannot leave a folder.
//!
//! A [`Root`] is a capability: whoever holds one can reach what lies beneath its folder and nothing
//! else. Every path that a model names goes through it. The kernel resolves the path (`openat2`
//! with `RESOLVE_BENEATH`), so there is no moment between a check and its use in which a link could
//! be put in the way; no path is ever judged by the beginning of its text.
//!
//! What it does not do: it does not keep a *process* in. That is the sandbox's part.
//!
//! ```no_run
//! use windlass_workspace::paths::Root;
//!
//! # fn main() -> Result<(), windlass_workspace::paths::PathError> {
//! let root = Root::open("/home/me/project".as_ref())?;
//! root.write("src/new/file.rs", b"fn main() {}\n")?;
//! assert!(root.read("../secret", 1 << 20).is_err_and(|error| error.is_escape()));
//! # Ok(())
//! # }
//! ```
//!
//! All calls block: they are short, but a folder may be on a slow disk.

mod error;
mod kind;
mod list;
mod root;
mod target;
mod validate;
mod write;

pub use error::{PathError, Result};
pub use kind::{Metadata, PathKind};
pub use list::{DirEntry, Listing};
pub use root::Root;
pub use write::{TEMP_PREFIX, WriteOutcome};
