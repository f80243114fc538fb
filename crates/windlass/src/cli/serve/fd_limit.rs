//! Open files: every connection is one, and the usual limit is meant for other programs.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What this process needs besides connections: the store, agents, clones.
const RESERVED_FDS: u64 = 512;
/// More is not asked for.
const MAX_FDS: u64 = 65_536;

/// Raises the limit as far as the system lets us, and gives how many connections fit, at most so many.
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
    let room = now.saturating_sub(RESERVED_FDS).max(16);
    usize::try_from(room).unwrap_or(wanted).min(wanted)
}
