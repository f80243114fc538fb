//! Git commands run by Windlass, independent of what a repository would make git execute.
//!
//! A repository can name programs for git to start: hooks, filters, a file watcher, a pager,
//! aliases, drivers for diff and merge, credential helpers. None of them may run because Windlass
//! inspected the repository. Almost every command therefore works in a private git directory
//! ([`private_dir`]), which shares the repository's objects and nothing else. Only refs are read
//! and updated in the repository's own git directory, by commands that start nothing. [`safe_settings`]
//! disables the rest by name. In addition, git is sandboxed wherever it reads more than a private
//! directory and objects.

mod command;
mod known_objects;
mod private_dir;
mod refs;
mod repository;
mod safe_settings;
mod small_file;
pub(crate) mod stale_lock;

pub(crate) use command::{Git, GitCommand, GitOutput};
pub(crate) use known_objects::TreeDiff;
pub(crate) use private_dir::{PrivateGitDir, write};
pub(crate) use refs::{check_branch, has_no_tags, is_hash};
pub use repository::head_commit;
pub(crate) use repository::{RefStatus, Repository};
pub use safe_settings::{SAFE_SETTINGS, SAFE_VARIABLES};
pub(crate) use small_file::small_file;

/// The mode under which git stores another repository.
pub(crate) const GITLINK_MODE: &str = "160000";
