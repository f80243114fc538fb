//! Our own git calls, deaf to what a repository would have git run.
//!
//! A repository can name programs for git to start: hooks, filters, a file watcher, a pager, aliases,
//! drivers for diff and merge, helpers for credentials. None of them may run because we looked. So
//! almost every call here works in a git folder that we made ourselves ([`own`]), which shares the
//! repository's objects and nothing else; only refs are read and moved in the repository's own git folder, by
//! commands that start nothing. [`call`] turns off the rest by name. Behind it stand the walls of the sandbox, wherever git
//! reads more than a folder of ours and objects.

mod command;
mod private_dir;
mod refs;
mod repository;
pub(crate) mod stale_lock;

pub(crate) use command::{Git, GitCommand, GitOutput};
pub(crate) use private_dir::{PrivateGitDir, write};
pub(crate) use refs::has_no_tags;
pub use refs::head_commit;
pub(crate) use repository::{RefStatus, Repository, check_branch, small_file};
