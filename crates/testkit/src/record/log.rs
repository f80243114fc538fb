//! The turns recorded so far.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use windlass_cassette::{CassetteError, FILE_BYTES, Interaction, RecordedOptions, TimedEvent};
use windlass_core::{AgentEvent, SessionId, SessionOptions};

/// A log shared by an agent, its streams and its owner.
pub(super) type SharedLog = Arc<Mutex<RecordingLog>>;

/// The turns so far, unchanged: nothing is normalized before the recording is complete.
#[derive(Debug, Default)]
pub(super) struct RecordingLog {
    turns: Vec<Interaction>,
    sessions: HashMap<SessionId, RecordedSession>,
    bytes: usize,
}

#[derive(Debug)]
struct RecordedSession {
    options: RecordedOptions,
    resumed: bool,
    /// The last turn and its start time.
    last: Option<(usize, Duration)>,
}

impl RecordingLog {
    /// Records that a session was started or resumed.
    pub(super) fn open(&mut self, id: &SessionId, options: &SessionOptions, resumed: bool) {
        let session = RecordedSession {
            options: options.into(),
            resumed,
            last: None,
        };
        self.sessions.insert(id.clone(), session);
    }

    /// Starts a turn. Returns its number, or `None` if its session is unknown or the recording is
    /// full.
    pub(super) fn start_turn(
        &mut self,
        id: &SessionId,
        prompt: &str,
        now: Duration,
    ) -> Option<usize> {
        let session = self.sessions.get_mut(id)?;
        self.bytes += prompt.len() + TURN_BYTES;
        if self.bytes > FILE_BYTES {
            return None;
        }
        let number = self.turns.len();
        session.last = Some((number, now));
        self.turns.push(Interaction {
            session: id.clone(),
            resumed: session.resumed,
            options: session.options.clone(),
            prompt: prompt.to_owned(),
            events: Vec::new(),
            cut: None,
        });
        Some(number)
    }

    /// Records an event of a turn. Events after a cancellation are ignored: they depend on the
    /// caller.
    pub(super) fn event(&mut self, turn: usize, at: Duration, event: &AgentEvent) {
        let Some(interaction) = self.turns.get_mut(turn).filter(|turn| turn.cut.is_none()) else {
            return;
        };
        self.bytes += approx_size(event);
        if self.bytes <= FILE_BYTES {
            let event = event.clone();
            interaction.events.push(TimedEvent { at, event });
        }
        if let AgentEvent::SessionChanged { new_session_id } = event {
            let (options, resumed) = (interaction.options.clone(), interaction.resumed);
            let session = RecordedSession {
                options,
                resumed,
                last: None,
            };
            self.sessions
                .insert(new_session_id.as_str().into(), session);
        }
    }

    /// Records that the caller interrupted the turn.
    pub(super) fn interrupt(&mut self, turn: usize, at: Duration) {
        if let Some(turn) = self.turns.get_mut(turn) {
            let ended = turn
                .events
                .last()
                .is_some_and(|last| last.event.is_terminal());
            if turn.cut.is_none() && !ended {
                turn.cut = Some(at);
            }
        }
    }

    /// Records that the caller interrupted the current turn of the session.
    pub(super) fn interrupt_session(&mut self, id: &SessionId, now: Duration) {
        let last = self.sessions.get(id).and_then(|session| session.last);
        if let Some((turn, start)) = last {
            self.interrupt(turn, now.saturating_sub(start));
        }
    }

    /// Returns all turns, or an error if there are more than a cassette can hold.
    pub(super) fn turns(&self) -> Result<Vec<Interaction>, CassetteError> {
        if self.bytes <= FILE_BYTES {
            Ok(self.turns.clone())
        } else {
            Err(CassetteError::LongFile)
        }
    }
}

/// Approximate size of a turn in addition to its prompt and its events.
const TURN_BYTES: usize = 256;

/// Returns the size of the event as JSON.
fn approx_size(event: &AgentEvent) -> usize {
    struct ByteCount(usize);
    impl io::Write for ByteCount {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = ByteCount(0);
    match serde_json::to_writer(&mut count, event) {
        Ok(()) => count.0,
        Err(_) => FILE_BYTES,
    }
}
