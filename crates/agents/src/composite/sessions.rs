//! The conversations of one composite, by name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_core::{Error, Result, SessionId};

use super::session::CompositeSession;

/// How many names are remembered; those that were not used for longest are forgotten.
const MAX_NAMES: usize = 512;

/// Conversations by name. One that got another name is found by both.
#[derive(Debug, Default)]
pub(super) struct CompositeSessions {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    by_id: HashMap<SessionId, (Arc<CompositeSession>, u64)>,
    ticks: u64,
}

impl CompositeSessions {
    pub(super) fn insert(&self, id: SessionId, session: Arc<CompositeSession>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.ticks += 1;
        let now = inner.ticks;
        inner.by_id.insert(id, (session, now));
        if inner.by_id.len() > MAX_NAMES {
            let oldest = inner.by_id.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                inner.by_id.remove(&oldest);
            }
        }
    }

    /// The conversation of this name, which is then the one used last.
    pub(super) fn get(&self, id: &SessionId) -> Result<Arc<CompositeSession>> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.ticks += 1;
        let now = inner.ticks;
        match inner.by_id.get_mut(id) {
            Some((session, used)) => {
                *used = now;
                Ok(Arc::clone(session))
            }
            None => Err(unknown(id)),
        }
    }
}

/// Nobody knows this session.
pub(super) fn unknown(id: &SessionId) -> Error {
    Error::SessionNotFound {
        backend: super::backend::NAME.to_owned(),
        session: id.clone(),
    }
}
