//! The sessions of one agent, in memory and bounded.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use windlass_core::{Error, Result, SessionId, SessionOptions};
use windlass_wire::{Message, Part};

use super::tool_set::ToolSet;

/// The most bytes of all conversations of one agent.
pub(super) const HISTORY_BYTES: usize = 64 << 20;
/// The most sessions of one agent.
const MAX_SESSIONS: usize = 1024;
/// The estimated size of a message or part in addition to its text.
const MESSAGE_OVERHEAD: usize = 64;

/// A conversation with its session options and tools.
#[derive(Debug)]
pub(super) struct ModelSession {
    pub(super) options: SessionOptions,
    pub(super) tools: ToolSet,
    chat: Arc<ChatHistory>,
}

/// The messages so far. They survive a change of the session options.
#[derive(Debug, Default)]
struct ChatHistory {
    state: Mutex<ModelSessionState>,
}

#[derive(Debug, Default)]
struct ModelSessionState {
    history: Vec<Message>,
    bytes: usize,
    /// The use counter at the time of the last use.
    last_used: u64,
    stop: Arc<Notify>,
    /// Tools that the approver allowed for the rest of the session.
    allowed: BTreeSet<String>,
}

impl ModelSession {
    /// Creates a conversation without messages.
    pub(super) fn new(options: SessionOptions, tools: ToolSet) -> Self {
        Self {
            options,
            tools,
            chat: Arc::default(),
        }
    }

    /// Returns the same conversation with other options and tools.
    pub(super) fn with_options(&self, options: SessionOptions, tools: ToolSet) -> Self {
        Self {
            options,
            tools,
            chat: Arc::clone(&self.chat),
        }
    }

    /// Returns the messages so far.
    pub(super) fn history(&self) -> Vec<Message> {
        self.state().history.clone()
    }

    /// Returns the approximate size of the messages in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// Appends messages to the history.
    pub(super) fn append(&self, messages: Vec<Message>) {
        let mut state = self.state();
        state.bytes += messages.iter().map(approx_size).sum::<usize>();
        state.history.extend(messages);
    }

    /// Starts a turn and returns its stop signal.
    pub(super) fn begin_turn(&self) -> Arc<Notify> {
        let mut state = self.state();
        // A stop signal that arrived too late for the last turn must not end this one.
        state.stop = Arc::default();
        Arc::clone(&state.stop)
    }

    /// Signals the running turn to stop.
    pub(super) fn stop(&self) {
        self.state().stop.notify_one();
    }

    /// Allows a tool for the rest of the session.
    pub(super) fn allow(&self, tool: &str) {
        self.state().allowed.insert(tool.to_owned());
    }

    pub(super) fn is_allowed(&self, tool: &str) -> bool {
        self.state().allowed.contains(tool)
    }

    fn state(&self) -> MutexGuard<'_, ModelSessionState> {
        lock(&self.chat.state)
    }
}

/// All sessions of one agent. If they exceed the limits, the least recently used ones are evicted.
#[derive(Debug, Default)]
pub(super) struct ModelSessions {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    by_id: HashMap<SessionId, Arc<ModelSession>>,
    uses: u64,
}

impl ModelSessions {
    pub(super) fn insert(&self, id: SessionId, session: ModelSession) {
        let mut inner = lock(&self.inner);
        inner.by_id.insert(id.clone(), Arc::new(session));
        inner.touch(&id);
        inner.trim(&id);
    }

    /// Removes all sessions.
    pub(super) fn clear(&self) {
        let removed = std::mem::take(&mut lock(&self.inner).by_id);
        drop(removed);
    }

    /// Returns the session with this id and marks it as most recently used.
    pub(super) fn get(&self, backend: &str, id: &SessionId) -> Result<Arc<ModelSession>> {
        let mut inner = lock(&self.inner);
        inner.touch(id);
        inner.trim(id);
        let known = inner.by_id.get(id).cloned();
        known.ok_or_else(|| Error::SessionNotFound {
            backend: backend.to_owned(),
            session: id.clone(),
        })
    }
}

impl Inner {
    fn touch(&mut self, id: &SessionId) {
        self.uses += 1;
        if let Some(session) = self.by_id.get(id) {
            session.state().last_used = self.uses;
        }
    }

    /// Evicts sessions until the limits are met, but never the session `keep`.
    fn trim(&mut self, keep: &SessionId) {
        loop {
            let bytes: usize = self.by_id.values().map(|session| session.bytes()).sum();
            if bytes <= HISTORY_BYTES && self.by_id.len() <= MAX_SESSIONS {
                return;
            }
            let others = self.by_id.iter().filter(|(id, _)| *id != keep);
            let oldest = others.min_by_key(|(_, session)| session.state().last_used);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else {
                return;
            };
            tracing::info!(session = %oldest, "session evicted: the conversations exceed the limit");
            self.by_id.remove(&oldest);
        }
    }
}

/// Returns the approximate size of a message in bytes.
pub(super) fn approx_size(message: &Message) -> usize {
    MESSAGE_OVERHEAD + message.parts.iter().map(approx_part_size).sum::<usize>()
}

fn approx_part_size(part: &Part) -> usize {
    let size = match part {
        Part::Text(text) => text.text.len(),
        Part::Reasoning(thought) => {
            thought.text.len() + thought.signature.as_ref().map_or(0, String::len)
        }
        Part::ToolCall(call) => call.name.len() + call.input.len(),
        Part::ToolResult(result) => result.parts.iter().map(approx_part_size).sum(),
        Part::Opaque(opaque) => opaque.value.to_string().len(),
        other => serde_json::to_string(other).map_or(0, |text| text.len()),
    };
    MESSAGE_OVERHEAD + size
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

#[cfg(test)]
mod tests {
    use windlass_wire::Role;

    use super::*;

    fn session() -> ModelSession {
        ModelSession::new(SessionOptions::default(), ToolSet::default())
    }

    fn messages(bytes: usize) -> Vec<Message> {
        vec![Message::new(
            Role::User,
            vec![Part::text("x".repeat(bytes))],
        )]
    }

    #[test]
    fn p12_sessions_over_the_size_limit_are_evicted_oldest_first() {
        let sessions = ModelSessions::default();
        for name in ["a", "b", "c"] {
            let session = session();
            session.append(messages(HISTORY_BYTES / 3));
            sessions.insert(name.into(), session);
        }
        // Three thirds with their overhead exceed the limit: the oldest session was evicted.
        assert!(sessions.get("m", &"a".into()).is_err());
        assert!(sessions.get("m", &"b".into()).is_ok());
        sessions.insert("d".into(), session());
        sessions
            .get("m", &"d".into())
            .unwrap()
            .append(messages(HISTORY_BYTES / 2));
        assert!(sessions.get("m", &"d".into()).is_ok());
        assert!(
            sessions.get("m", &"c".into()).is_err(),
            "`b` was used later"
        );
    }

    #[test]
    fn p12_number_of_sessions_is_bounded() {
        let sessions = ModelSessions::default();
        for number in 0..MAX_SESSIONS + 5 {
            sessions.insert(format!("{number}").into(), session());
        }
        assert!(sessions.get("m", &"4".into()).is_err());
        assert!(sessions.get("m", &"5".into()).is_ok());
    }

    #[test]
    fn session_with_other_options_shares_its_history() {
        let first = session();
        first.append(messages(10));
        let resumed = first.with_options(SessionOptions::in_dir("/x"), ToolSet::default());
        resumed.append(messages(10));
        assert_eq!(first.history().len(), 2);
    }
}
