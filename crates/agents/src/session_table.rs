//! The sessions that a backend knows, by ID.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use windlass_core::{Error, ErrorCode, Result, SessionId};

/// Maximum number of known IDs. An evicted session can be loaded again if the agent still has it.
const MAX_IDS: usize = 1024;

/// Sessions by every ID that they have had. The least recently used one is evicted.
///
/// The IDs come from agents, so two sessions may get the same one. No session ever replaces another unless the
/// caller loads it by that ID.
#[derive(Debug)]
pub(crate) struct SessionTable<S> {
    table: Mutex<Table<S>>,
}

#[derive(Debug)]
struct Table<S> {
    /// Counts uses.
    uses: u64,
    by_id: HashMap<SessionId, Entry<S>>,
}

#[derive(Debug)]
struct Entry<S> {
    session: Arc<S>,
    /// The use count at its last use.
    last_used: u64,
}

impl<S> Default for SessionTable<S> {
    fn default() -> Self {
        Self {
            table: Mutex::new(Table {
                uses: 0,
                by_id: HashMap::new(),
            }),
        }
    }
}

impl<S> SessionTable<S> {
    /// Adds a session under the name that the agent gave it, and returns its ID. If another session has that ID,
    /// the new one gets the name with a number.
    pub(crate) fn add(&self, name: &str, session: Arc<S>) -> Result<SessionId> {
        let mut table = self.table.lock();
        let is_free = |id: &SessionId| {
            let known = table.by_id.get(id);
            known.is_none_or(|known| Arc::ptr_eq(&known.session, &session))
        };
        let plain = SessionId::from(name);
        let numbered = (2_u64..).map(|number| SessionId::from(format!("{name}.{number}")));
        let id = std::iter::once(plain).chain(numbered).find(is_free);
        let id = id.unwrap_or_else(|| SessionId::from(name));
        table.insert(id.clone(), session)?;
        Ok(id)
    }

    /// Adds a session that the caller loads by this ID. It replaces the known one.
    pub(crate) fn replace(&self, id: SessionId, session: Arc<S>) -> Result<()> {
        self.table.lock().insert(id, session)
    }

    /// Returns the session with this ID.
    pub(crate) fn get(&self, backend: &str, id: &SessionId) -> Result<Arc<S>> {
        let mut table = self.table.lock();
        let last_used = table.count_use();
        let known = table.by_id.get_mut(id).map(|entry| {
            entry.last_used = last_used;
            Arc::clone(&entry.session)
        });
        known.ok_or_else(|| Error::SessionNotFound {
            backend: backend.to_owned(),
            session: id.clone(),
        })
    }

    /// Returns `true` if there is such a session.
    pub(crate) fn any(&self, mut predicate: impl FnMut(&S) -> bool) -> bool {
        let table = self.table.lock();
        table.by_id.values().any(|entry| predicate(&entry.session))
    }

    /// Removes an ID.
    pub(crate) fn remove(&self, id: &SessionId) {
        self.table.lock().by_id.remove(id);
    }
}

impl<S> Table<S> {
    fn count_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    fn insert(&mut self, id: SessionId, session: Arc<S>) -> Result<()> {
        if self.by_id.len() >= MAX_IDS && !self.by_id.contains_key(&id) {
            self.evict_oldest()?;
        }
        let last_used = self.count_use();
        self.by_id.insert(id, Entry { session, last_used });
        Ok(())
    }

    /// Evicts the least recently used session that is not in use: only the table refers to it.
    fn evict_oldest(&mut self) -> Result<()> {
        let mut ids: HashMap<*const S, usize> = HashMap::new();
        for entry in self.by_id.values() {
            *ids.entry(Arc::as_ptr(&entry.session)).or_default() += 1;
        }
        let is_idle = |entry: &Entry<S>| {
            ids.get(&Arc::as_ptr(&entry.session)) == Some(&Arc::strong_count(&entry.session))
        };
        let idle = self.by_id.iter().filter(|(_, entry)| is_idle(entry));
        let oldest = idle.min_by_key(|(_, entry)| entry.last_used);
        let oldest = oldest.map(|(id, _)| id.clone()).ok_or_else(|| {
            Error::agent(
                ErrorCode::BackendError,
                format!("all {MAX_IDS} sessions are busy: wait for one to end"),
            )
        })?;
        self.by_id.remove(&oldest);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> SessionId {
        SessionId::from(format!("s{number}"))
    }

    #[test]
    fn least_recently_used_session_is_evicted() {
        let sessions = SessionTable::default();
        for number in 0..MAX_IDS {
            sessions.replace(id(number), Arc::new(number)).unwrap();
        }
        // `s0` was used last, and `s1` is in use.
        let busy = sessions.get("x", &id(1)).unwrap();
        assert!(sessions.get("x", &id(0)).is_ok());
        sessions.replace(id(MAX_IDS), Arc::new(0)).unwrap();
        sessions.replace(id(MAX_IDS + 1), Arc::new(0)).unwrap();
        assert!(sessions.get("x", &id(0)).is_ok());
        assert_eq!(*busy, 1);
        assert!(sessions.get("x", &id(1)).is_ok());
        for evicted in [2, 3] {
            let result = sessions.get("x", &id(evicted));
            assert!(matches!(result, Err(Error::SessionNotFound { .. })));
        }
    }

    #[test]
    fn session_never_replaces_another() {
        let sessions = SessionTable::default();
        let (one, two) = (Arc::new("one"), Arc::new("two"));
        let first = sessions.add("same", Arc::clone(&one)).unwrap();
        let second = sessions.add("same", Arc::clone(&two)).unwrap();
        assert_eq!((first.as_str(), second.as_str()), ("same", "same.2"));
        assert_eq!(sessions.get("x", &first).unwrap(), one);
        assert_eq!(sessions.get("x", &second).unwrap(), two);
        // The same session keeps its ID.
        assert_eq!(sessions.add("same", one).unwrap(), first);
    }
}
