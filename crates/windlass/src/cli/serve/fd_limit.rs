//! Raises the limit of open files: every connection needs one, and the default limit is too low for a server.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files reserved for the store, agents and clones.
const RESERVED_FDS: u64 = 512;
/// Maximum limit that is requested.
const MAX_FDS: u64 = 65_536;

/// Raises the limit to the system's maximum, and returns the number of connections that it permits, at most
/// `wanted`.
pub(super) fn raise_limit(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let hard = limit.maximum.unwrap_or(MAX_FDS).min(MAX_FDS);
    let soft = limit.current.unwrap_or(MAX_FDS);
    let now = if soft < hard {
        let raised = Rlimit {
            current: Some(hard),
            maximum: limit.maximum,
        };
        setrlimit(Resource::Nofile, raised).map_or(soft, |()| hard)
    } else {
        soft
    };
    let available = now.saturating_sub(RESERVED_FDS).max(16);
    usize::try_from(available).unwrap_or(wanted).min(wanted)
}
