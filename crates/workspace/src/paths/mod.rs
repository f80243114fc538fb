//! Paths that cannot leave a directory.
//!
//! A [`Root`] is a capability: its holder can reach what is under its directory and nothing else.
//! Every path given by a model goes through it. The kernel resolves the path (`openat2` with
//! `RESOLVE_BENEATH`), so no link can be inserted between a check and its use, and no path is ever
//! checked by comparing prefixes of its text.
//!
//! Out of scope: it does not confine a *process*. The sandbox does that.
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
//! All calls block: they are short, but a directory may be on a slow disk.

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
