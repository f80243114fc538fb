//! Our own git calls, deaf to what a repository would have git run.
//!
//! A repository can name programs for git to start: hooks, filters, a file watcher, a pager, aliases,
//! drivers for diff and merge, helpers for credentials. None of them may run because we looked. So
//! almost every call here works in a git folder that we made ourselves ([`own`]), which shares the
//! repository's objects and nothing else; only refs are read and moved in the repository's own git folder, by
//! commands that start nothing. [`call`] turns off the rest by name. Behind it stand the walls of the sandbox, wherever git
//! reads more than a folder of ours and objects.

mod call;
mod own;
mod refs;
mod repository;
pub(crate) mod stale_lock;

pub(crate) use call::{Call, Git, Said};
pub(crate) use own::{OwnGit, write};
pub use refs::checked_out;
pub(crate) use refs::has_no_tags;
pub(crate) use repository::{Repository, Standing, check_branch, small_file};
