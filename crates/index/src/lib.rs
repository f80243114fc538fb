//! Ranks the files and symbols of a repository for a task.
//!
//! An index has the words of every file that git would track and the symbols that each file defines. It is stored in one cache file and updated at each start: only changed files are
//! parsed again. It does not watch files, starts no processes and has no semantic model. Files are found by
//! words, names and the commit history.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (project, caches) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # std::fs::write(project.path().join("lease.rs"), "fn renew_lease() {}")?;
//! use windlass_index::CodebaseIndex;
//!
//! let index = CodebaseIndex::open(project.path(), caches.path())?;
//! let related = index.related("the lease is not renewed");
//! assert_eq!(related.files[0].path, "lease.rs");
//! assert_eq!(related.symbols[0].name, "renew_lease");
//! # Ok(())
//! # }
//! ```

mod bag;
mod bodies;
mod cache;
mod codebase;
mod context;
mod error;
mod head;
mod history;
mod languages;
mod log;
mod patterns;
mod rank;
mod read;
mod record;
mod related;
mod symbols;
mod walk;
mod words;

pub use codebase::{CodebaseIndex, Refresh, shared_objects};
pub use context::{CodebaseContext, HistorySource, NewHistory};
pub use error::{Error, Result};
pub use history::PastCommit;
pub use log::{LOG_OPTIONS, parse_log};
pub use related::Related;
pub use walk::IndexLimits;
