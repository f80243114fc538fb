//! The conversations of one agent, in memory and within limits.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use windlass_core::{Error, Result, SessionId, SessionOptions};
use windlass_wire::{Message, Part};

use super::tool_set::ToolSet;

/// What all conversations of one agent may hold together.
pub(super) const HISTORY_BYTES: usize = 64 << 20;
/// How many conversations one agent remembers.
const MAX_SESSIONS: usize = 1024;
/// What a message or a part weighs beside its text.
const MESSAGE_OVERHEAD: usize = 64;

/// One conversation, as it is set up.
#[derive(Debug)]
pub(super) struct ModelSession {
    pub(super) options: SessionOptions,
    pub(super) kit: ToolSet,
    talk: Arc<ChatHistory>,
}

/// What was said so far: it outlives the options that a session was begun with.
#[derive(Debug, Default)]
struct ChatHistory {
    state: Mutex<ModelSessionState>,
}

#[derive(Debug, Default)]
struct ModelSessionState {
    history: Vec<Message>,
    bytes: usize,
    /// When it was last used, as a number that grows.
    used: u64,
    stop: Arc<Notify>,
    /// Tools that somebody allowed for the rest of the session.
    allowed: BTreeSet<String>,
}

impl ModelSession {
    /// A conversation that has not begun.
    pub(super) fn new(options: SessionOptions, kit: ToolSet) -> Self {
        Self {
            options,
            kit,
            talk: Arc::default(),
        }
    }

    /// The same conversation under other options.
    pub(super) fn with_options(&self, options: SessionOptions, kit: ToolSet) -> Self {
        Self {
            options,
            kit,
            talk: Arc::clone(&self.talk),
        }
    }

    /// What was said so far.
    pub(super) fn history(&self) -> Vec<Message> {
        self.state().history.clone()
    }

    /// How much that is.
    pub(super) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// Adds what was said, for good.
    pub(super) fn append(&self, messages: Vec<Message>) {
        let mut state = self.state();
        state.bytes += messages.iter().map(approx_size).sum::<usize>();
        state.history.extend(messages);
    }

    /// Says how to find out that a new turn is to be stopped.
    pub(super) fn begin_turn(&self) -> Arc<Notify> {
        let mut state = self.state();
        // A stop that came too late for the last turn must not end this one.
        state.stop = Arc::default();
        Arc::clone(&state.stop)
    }

    /// Asks the turn under way to end.
    pub(super) fn stop(&self) {
        self.state().stop.notify_one();
    }

    /// Takes note that a tool needs no more asking.
    pub(super) fn allow(&self, tool: &str) {
        self.state().allowed.insert(tool.to_owned());
    }

    pub(super) fn is_allowed(&self, tool: &str) -> bool {
        self.state().allowed.contains(tool)
    }

    fn state(&self) -> MutexGuard<'_, ModelSessionState> {
        lock(&self.talk.state)
    }
}

/// Every conversation of one agent. When they hold too much, those that were not used for longest are forgotten.
#[derive(Debug, Default)]
pub(super) struct ModelSessions {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    by_id: HashMap<SessionId, Arc<ModelSession>>,
    ticks: u64,
}

impl ModelSessions {
    pub(super) fn insert(&self, id: SessionId, session: ModelSession) {
        let mut inner = lock(&self.inner);
        inner.by_id.insert(id.clone(), Arc::new(session));
        inner.touch(&id);
        inner.trim(&id);
    }

    /// The conversation of this name, which is then the one used last.
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
        self.ticks += 1;
        if let Some(session) = self.by_id.get(id) {
            session.state().used = self.ticks;
        }
    }

    /// Forgets what is too much, but never the one in use.
    fn trim(&mut self, keep: &SessionId) {
        loop {
            let bytes: usize = self.by_id.values().map(|session| session.bytes()).sum();
            if bytes <= HISTORY_BYTES && self.by_id.len() <= MAX_SESSIONS {
                return;
            }
            let others = self.by_id.iter().filter(|(id, _)| *id != keep);
            let oldest = others.min_by_key(|(_, session)| session.state().used);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else {
                return;
            };
            tracing::info!(session = %oldest, "forgotten: the conversations hold too much");
            self.by_id.remove(&oldest);
        }
    }
}

/// About how many bytes a message takes.
pub(super) fn approx_size(message: &Message) -> usize {
    MESSAGE_OVERHEAD + message.parts.iter().map(approx_part_size).sum::<usize>()
}

fn approx_part_size(part: &Part) -> usize {
    let own = match part {
        Part::Text(text) => text.text.len(),
        Part::Reasoning(thought) => {
            thought.text.len() + thought.signature.as_ref().map_or(0, String::len)
        }
        Part::ToolCall(call) => call.name.len() + call.input.len(),
        Part::ToolResult(result) => result.parts.iter().map(approx_part_size).sum(),
        Part::Opaque(opaque) => opaque.value.to_string().len(),
        other => serde_json::to_string(other).map_or(0, |text| text.len()),
    };
    MESSAGE_OVERHEAD + own
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use windlass_wire::Role;

    use super::*;

    fn session() -> ModelSession {
        ModelSession::new(SessionOptions::default(), ToolSet::default())
    }

    fn said(bytes: usize) -> Vec<Message> {
        vec![Message::new(
            Role::User,
            vec![Part::text("x".repeat(bytes))],
        )]
    }

    #[test]
    fn p12_conversations_that_hold_too_much_are_forgotten_oldest_first() {
        let sessions = ModelSessions::default();
        for name in ["a", "b", "c"] {
            let session = session();
            session.append(said(HISTORY_BYTES / 3));
            sessions.insert(name.into(), session);
        }
        // Three thirds and what they weigh beside are more than the whole: the oldest went.
        assert!(sessions.get("m", &"a".into()).is_err());
        assert!(sessions.get("m", &"b".into()).is_ok());
        sessions.insert("d".into(), session());
        sessions
            .get("m", &"d".into())
            .unwrap()
            .append(said(HISTORY_BYTES / 2));
        assert!(sessions.get("m", &"d".into()).is_ok());
        assert!(
            sessions.get("m", &"c".into()).is_err(),
            "`b` was used later"
        );
    }

    #[test]
    fn p12_there_are_only_so_many() {
        let sessions = ModelSessions::default();
        for number in 0..MAX_SESSIONS + 5 {
            sessions.insert(format!("{number}").into(), session());
        }
        assert!(sessions.get("m", &"4".into()).is_err());
        assert!(sessions.get("m", &"5".into()).is_ok());
    }

    #[test]
    fn a_session_under_other_options_goes_on() {
        let first = session();
        first.append(said(10));
        let again = first.with_options(SessionOptions::in_dir("/x"), ToolSet::default());
        again.append(said(10));
        assert_eq!(first.history().len(), 2);
    }
}
