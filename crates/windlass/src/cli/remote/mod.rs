//! Projects whose commits travel through a git remote, because their workers are on several machines.
//!
//! A worker works on a mirror of its own, which it fetches from the remote ([`RemoteMirror`]). What it publishes and keeps goes
//! to the mirror first and from there to the remote, by lease ([`RemoteWorkspace`], [`RemoteSite`]). A checkout gets the
//! results by their commits, which are in the store, so a remote cannot replace them ([`root_of`]).
//!
//! Every git process here runs as the user, outside the sandbox of any agent, with the user's own credentials.

mod base;
mod copy;
mod git;
mod identity;
mod mirror;
mod results;
mod retention;
mod site;
mod url;
mod workspace;

pub(super) use base::publish_target;
pub(super) use identity::{oldest_root, roots};
pub(super) use mirror::RemoteMirror;
pub(super) use results::root_of;
pub(super) use retention::{DeletedRef, RefPruner, RefRetention, last_use};
pub(super) use site::RemoteSite;
pub(super) use url::check_url;
pub(super) use workspace::{RemoteProjects, RemoteWorkspace};
