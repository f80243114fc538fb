//! One conversation with a composite: its turns, and how many of them each node has seen.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use windlass_core::{SessionId, SessionOptions};

use crate::cli::transcript::{TranscriptMessage, render};

/// The most bytes of a conversation that are retained for nodes that missed turns.
const HISTORY_BYTES: usize = 1 << 20;

/// A conversation with its session options.
#[derive(Debug)]
pub(super) struct CompositeSession {
    pub(super) options: SessionOptions,
    conversation: Arc<Mutex<SharedConversation>>,
}

/// The turns so far. They survive a change of the session options.
#[derive(Debug, Default)]
struct SharedConversation {
    /// Prompts and answers, oldest first.
    turns: VecDeque<(String, String)>,
    bytes: usize,
    /// The number of older turns that were dropped.
    dropped: usize,
    nodes: Vec<NodeSession>,
    stop: Arc<Notify>,
    /// The id under which another process can resume the session.
    announced_id: Option<SessionId>,
    /// The node that has the start of the conversation, if it started in another process.
    preferred_node: Option<usize>,
}

/// One node's part of the conversation.
#[derive(Debug, Clone, Default)]
pub(super) struct NodeSession {
    /// The node's own session, once it has one.
    pub(super) session: Option<SessionId>,
    /// `true` if it was created or resumed with the current options.
    pub(super) current: bool,
    /// The number of turns that it has seen.
    pub(super) turns_seen: usize,
}

impl CompositeSession {
    /// Creates a conversation without turns.
    pub(super) fn new(options: SessionOptions, nodes: usize) -> Self {
        let conversation = SharedConversation {
            nodes: vec![NodeSession::default(); nodes],
            ..SharedConversation::default()
        };
        Self {
            options,
            conversation: Arc::new(Mutex::new(conversation)),
        }
    }

    /// Returns the same conversation with other options. Every node session must be resumed with them.
    pub(super) fn with_options(&self, options: SessionOptions) -> Self {
        for node in &mut self.conversation.lock().nodes {
            node.current = false;
        }
        Self {
            options,
            conversation: Arc::clone(&self.conversation),
        }
    }

    /// Returns the state of the node.
    pub(super) fn node_session(&self, node: usize) -> NodeSession {
        self.conversation
            .lock()
            .nodes
            .get(node)
            .cloned()
            .unwrap_or_default()
    }

    /// Sets the session in which the node continues.
    pub(super) fn set_node_session(&self, node: usize, session: SessionId) {
        if let Some(entry) = self.conversation.lock().nodes.get_mut(node) {
            entry.session = Some(session);
            entry.current = true;
        }
    }

    /// Sets the session of a node for a conversation that another process started. The other nodes have seen none of
    /// it.
    pub(super) fn adopt_node_session(&self, node: usize, session: SessionId) {
        self.set_node_session(node, session);
        let mut conversation = self.conversation.lock();
        conversation.dropped = 1;
        conversation.preferred_node = Some(node);
        if let Some(entry) = conversation.nodes.get_mut(node) {
            entry.turns_seen = 1;
        }
    }

    /// Returns the node to try first, if there is one.
    pub(super) fn preferred_node(&self) -> Option<usize> {
        self.conversation.lock().preferred_node
    }

    /// Forgets the node's session and the turns that the node had seen.
    pub(super) fn clear_node_session(&self, node: usize) {
        if let Some(entry) = self.conversation.lock().nodes.get_mut(node) {
            *entry = NodeSession::default();
        }
    }

    /// Returns the prompt for a node. If the node missed turns, they precede the prompt as a transcript.
    pub(super) fn prompt_for(&self, node: usize, prompt: &str) -> String {
        let conversation = self.conversation.lock();
        let seen = conversation
            .nodes
            .get(node)
            .map_or(0, |node| node.turns_seen);
        conversation.since(seen, prompt)
    }

    /// Returns the whole conversation followed by the prompt, for a node without a session.
    pub(super) fn full_prompt(&self, prompt: &str) -> String {
        self.conversation.lock().since(0, prompt)
    }

    /// Appends a turn that the node answered, and drops the oldest turns above the size limit.
    pub(super) fn record_answer(&self, node: usize, prompt: &str, answer: &str) {
        let mut conversation = self.conversation.lock();
        conversation.bytes += prompt.len() + answer.len();
        conversation
            .turns
            .push_back((prompt.to_owned(), answer.to_owned()));
        while conversation.bytes > HISTORY_BYTES {
            let Some((prompt, answer)) = conversation.turns.pop_front() else {
                break;
            };
            conversation.bytes -= prompt.len() + answer.len();
            conversation.dropped += 1;
        }
        let all = conversation.dropped + conversation.turns.len();
        if let Some(entry) = conversation.nodes.get_mut(node) {
            entry.turns_seen = all;
        }
    }

    /// Sets the id under which other processes can resume the session. Returns `true` if it is new.
    pub(super) fn set_announced_id(&self, id: &SessionId) -> bool {
        let mut conversation = self.conversation.lock();
        let is_new = conversation.announced_id.as_ref() != Some(id);
        conversation.announced_id = Some(id.clone());
        is_new
    }

    /// Starts a turn and returns its stop signal.
    pub(super) fn begin_turn(&self) -> Arc<Notify> {
        let mut conversation = self.conversation.lock();
        // A stop signal that arrived too late for the last turn must not end this one.
        conversation.stop = Arc::default();
        Arc::clone(&conversation.stop)
    }

    /// Signals the running turn to stop.
    pub(super) fn stop(&self) {
        self.conversation.lock().stop.notify_one();
    }
}

impl SharedConversation {
    /// Renders the turns after the first `seen` ones, followed by the prompt.
    fn since(&self, seen: usize, prompt: &str) -> String {
        if seen == self.dropped + self.turns.len() {
            return prompt.to_owned();
        }
        let notice = (seen < self.dropped)
            .then(|| TranscriptMessage::system("The beginning of this conversation was omitted."));
        let missed = self
            .turns
            .iter()
            .skip(seen.saturating_sub(self.dropped))
            .flat_map(|(prompt, answer)| {
                [
                    TranscriptMessage::user(prompt),
                    TranscriptMessage::assistant(answer),
                ]
            });
        let messages: Vec<TranscriptMessage> = notice
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
    fn prompt_contains_exactly_the_missed_turns() {
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
    fn p12_long_conversation_is_truncated_at_the_start_with_a_notice() {
        let session = CompositeSession::new(SessionOptions::default(), 2);
        session.record_answer(0, "old", &"x".repeat(HISTORY_BYTES));
        session.record_answer(0, "new", "n");
        assert_eq!(session.prompt_for(0, "next"), "next");
        let prompt = session.prompt_for(1, "next");
        assert!(
            prompt.starts_with("<<<ROLE:SYSTEM>>>\nThe beginning"),
            "{prompt}"
        );
        assert!(
            prompt.contains("new") && !prompt.contains("old"),
            "{prompt}"
        );
    }
}
