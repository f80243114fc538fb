//! The repositories of projects, as remotes of git, at `/git/PROJECT.git`.
//!
//! The server decides who may do it and what a push may move; git itself, behind [`GitHost`], does the rest. Only the three
//! requests of git's own protocol exist: no path of a client ever names a file.

mod body;
mod handlers;
mod host;
mod paths;
mod pkt_line;
mod push;
mod slots;

pub(crate) use handlers::router;
pub use host::{GitHost, GitRequest, GitRequestBody, GitResponseBody, GitService, GitStep};
pub(crate) use paths::{is_challenge, is_git, is_push};
pub(crate) use slots::GitSlots;
