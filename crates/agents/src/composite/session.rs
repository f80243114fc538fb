//! One conversation with a composite: what was said, and how far each node has followed it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use windlass_core::{SessionId, SessionOptions};

use crate::cli::transcript::{TranscriptMessage, render};

/// How much of a conversation is kept for nodes that missed it.
const HISTORY_BYTES: usize = 1 << 20;

/// A conversation, as it is set up.
#[derive(Debug)]
pub(super) struct CompositeSession {
    pub(super) options: SessionOptions,
    talk: Arc<Mutex<SharedConversation>>,
}

/// What was said so far: it outlives the options that a session was begun with.
#[derive(Debug, Default)]
struct SharedConversation {
    /// Prompts and answers, the oldest first.
    turns: VecDeque<(String, String)>,
    bytes: usize,
    /// How many turns before these are forgotten.
    forgotten: usize,
    seats: Vec<NodeSession>,
    stop: Arc<Notify>,
    /// The name under which the session can be taken up elsewhere.
    announced: Option<SessionId>,
    /// The one node that knows how the conversation began, where we do not.
    home: Option<usize>,
}

/// A node's own part of the conversation.
#[derive(Debug, Clone, Default)]
pub(super) struct NodeSession {
    /// The node's own session, once it has one.
    pub(super) session: Option<SessionId>,
    /// Whether it was begun or taken up under the options in force.
    pub(super) current: bool,
    /// How many turns it has heard.
    pub(super) heard: usize,
}

impl CompositeSession {
    /// A conversation that has not begun.
    pub(super) fn new(options: SessionOptions, nodes: usize) -> Self {
        let talk = SharedConversation {
            seats: vec![NodeSession::default(); nodes],
            ..SharedConversation::default()
        };
        Self {
            options,
            talk: Arc::new(Mutex::new(talk)),
        }
    }

    /// The same conversation under other options: every node has to hear of them.
    pub(super) fn with_options(&self, options: SessionOptions) -> Self {
        for seat in &mut self.lock().seats {
            seat.current = false;
        }
        Self {
            options,
            talk: Arc::clone(&self.talk),
        }
    }

    pub(super) fn node_session(&self, node: usize) -> NodeSession {
        self.lock().seats.get(node).cloned().unwrap_or_default()
    }

    /// The node goes on in this session.
    pub(super) fn set_node_session(&self, node: usize, session: SessionId) {
        if let Some(seat) = self.lock().seats.get_mut(node) {
            seat.session = Some(session);
            seat.current = true;
        }
    }

    /// The conversation began elsewhere, with this node in this session; the others know nothing of it.
    pub(super) fn adopt_node_session(&self, node: usize, session: SessionId) {
        self.set_node_session(node, session);
        let mut talk = self.lock();
        talk.forgotten = 1;
        talk.home = Some(node);
        if let Some(seat) = talk.seats.get_mut(node) {
            seat.heard = 1;
        }
    }

    /// The node to ask before all others, if there is one.
    pub(super) fn preferred_node(&self) -> Option<usize> {
        self.lock().home
    }

    /// The node's session is gone, and with it what the node had heard.
    pub(super) fn clear_node_session(&self, node: usize) {
        if let Some(seat) = self.lock().seats.get_mut(node) {
            *seat = NodeSession::default();
        }
    }

    /// What to tell a node so that it knows all that was said: the prompt itself, or the conversation that it missed
    /// with the prompt at its end.
    pub(super) fn prompt_for(&self, node: usize, prompt: &str) -> String {
        let talk = self.lock();
        let heard = talk.seats.get(node).map_or(0, |seat| seat.heard);
        talk.since(heard, prompt)
    }

    /// The whole conversation with the prompt at its end, for one who remembers nothing.
    pub(super) fn full_prompt(&self, prompt: &str) -> String {
        self.lock().since(0, prompt)
    }

    /// The node has answered.
    pub(super) fn record_answer(&self, node: usize, prompt: &str, answer: &str) {
        let mut talk = self.lock();
        talk.bytes += prompt.len() + answer.len();
        talk.turns.push_back((prompt.to_owned(), answer.to_owned()));
        while talk.bytes > HISTORY_BYTES {
            let Some((prompt, answer)) = talk.turns.pop_front() else {
                break;
            };
            talk.bytes -= prompt.len() + answer.len();
            talk.forgotten += 1;
        }
        let all = talk.forgotten + talk.turns.len();
        if let Some(seat) = talk.seats.get_mut(node) {
            seat.heard = all;
        }
    }

    /// Takes note of the session's name elsewhere. Says whether it is a new one.
    pub(super) fn set_announced_id(&self, id: &SessionId) -> bool {
        let mut talk = self.lock();
        let is_new = talk.announced.as_ref() != Some(id);
        talk.announced = Some(id.clone());
        is_new
    }

    /// Says how to find out that a new turn is to be stopped.
    pub(super) fn begin_turn(&self) -> Arc<Notify> {
        let mut talk = self.lock();
        // A stop that came too late for the last turn must not end this one.
        talk.stop = Arc::default();
        Arc::clone(&talk.stop)
    }

    /// Asks the turn under way to end.
    pub(super) fn stop(&self) {
        self.lock().stop.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, SharedConversation> {
        self.talk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedConversation {
    fn since(&self, heard: usize, prompt: &str) -> String {
        if heard == self.forgotten + self.turns.len() {
            return prompt.to_owned();
        }
        let cut = (heard < self.forgotten)
            .then(|| TranscriptMessage::system("The beginning of this conversation is left out."));
        let missed = self
            .turns
            .iter()
            .skip(heard.saturating_sub(self.forgotten))
            .flat_map(|(prompt, answer)| {
                [
                    TranscriptMessage::user(prompt),
                    TranscriptMessage::assistant(answer),
                ]
            });
        let messages: Vec<TranscriptMessage> = cut
            .into_iter()
            .chain(missed)
            .chain([TranscriptMessage::user(prompt)])
            .collect();
        render(&messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_hears_what_it_missed_and_no_more() {
        let session = CompositeSession::new(SessionOptions::default(), 2);
        assert_eq!(session.prompt_for(1, "one"), "one");
        session.record_answer(0, "one", "1");
        session.record_answer(0, "two", "2");
        assert_eq!(session.prompt_for(0, "three"), "three");
        let missed = "<<<ROLE:USER>>>\none\n\n<<<ROLE:ASSISTANT>>>\n1\n\n<<<ROLE:USER>>>\ntwo\n\n\
                      <<<ROLE:ASSISTANT>>>\n2\n\n<<<ROLE:USER>>>\nthree";
        assert_eq!(session.prompt_for(1, "three"), missed);
        session.record_answer(1, "three", "3");
        assert_eq!(session.prompt_for(1, "four"), "four");
        let caught_up =
            "<<<ROLE:USER>>>\nthree\n\n<<<ROLE:ASSISTANT>>>\n3\n\n<<<ROLE:USER>>>\nfour";
        assert_eq!(session.prompt_for(0, "four"), caught_up);
    }

    #[test]
    fn p12_a_long_conversation_loses_its_beginning_and_says_so() {
        let session = CompositeSession::new(SessionOptions::default(), 2);
        session.record_answer(0, "old", &"x".repeat(HISTORY_BYTES));
        session.record_answer(0, "new", "n");
        assert_eq!(session.prompt_for(0, "next"), "next");
        let told = session.prompt_for(1, "next");
        assert!(
            told.starts_with("<<<ROLE:SYSTEM>>>\nThe beginning"),
            "{told}"
        );
        assert!(told.contains("new") && !told.contains("old"), "{told}");
    }
}
