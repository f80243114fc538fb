//! The caller of a request.

use axum::http::Extensions;
use windlass_core::WorkLabel;

/// The name of the person who sent a request. The server around the agent API adds it to the extensions of the request;
/// without it, calls count for the person who runs the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiCaller(pub String);

/// Returns for which work the calls of a request are counted.
pub(crate) fn work_of(extensions: &Extensions) -> WorkLabel {
    let caller = extensions.get::<ApiCaller>();
    WorkLabel {
        person: caller.map(|ApiCaller(name)| name.clone()),
        ..WorkLabel::default()
    }
}
