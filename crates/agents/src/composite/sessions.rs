//! The sessions of one composite, by id.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use windlass_core::{Error, Result, SessionId};

use super::session::CompositeSession;

/// The most ids that are stored; the least recently used one is evicted.
const MAX_NAMES: usize = 512;

/// Sessions by id. A session that changed its id is found under both.
#[derive(Debug, Default)]
pub(super) struct CompositeSessions {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    by_id: HashMap<SessionId, (Arc<CompositeSession>, u64)>,
    uses: u64,
}

impl CompositeSessions {
    pub(super) fn insert(&self, id: SessionId, session: Arc<CompositeSession>) {
        let mut inner = self.inner.lock();
        inner.uses += 1;
        let now = inner.uses;
        inner.by_id.insert(id, (session, now));
        if inner.by_id.len() > MAX_NAMES {
            let oldest = inner.by_id.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                inner.by_id.remove(&oldest);
            }
        }
    }

    /// Returns the session with this id and marks it as most recently used.
    pub(super) fn get(&self, id: &SessionId) -> Result<Arc<CompositeSession>> {
        let mut inner = self.inner.lock();
        inner.uses += 1;
        let now = inner.uses;
        match inner.by_id.get_mut(id) {
            Some((session, used)) => {
                *used = now;
                Ok(Arc::clone(session))
            }
            None => Err(unknown(id)),
        }
    }
}

/// Builds the error for an unknown session.
pub(super) fn unknown(id: &SessionId) -> Error {
    Error::SessionNotFound {
        backend: super::backend::NAME.to_owned(),
        session: id.clone(),
    }
}
