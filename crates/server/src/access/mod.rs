//! Who may do what: the caller of a request, its scopes, and the part of the store that it can see.

mod authenticator;
mod caller;
mod route_access;
mod visible_landing;
mod visible_steering;
mod visible_store;
mod visible_usage;

pub(crate) use authenticator::Authenticator;
pub(crate) use caller::{Caller, Credential};
pub(crate) use route_access::RouteAccess;
pub(crate) use visible_store::VisibleStore;
pub use visible_store::task_of_trace;
