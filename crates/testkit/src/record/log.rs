//! The turns recorded so far.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use windlass_cassette::{CassetteError, FILE_BYTES, Interaction, RecordedOptions, TimedEvent};
use windlass_core::{AgentEvent, SessionId, SessionOptions, WorkLabel};

/// A log shared by an agent, its streams and its owner.
pub(super) type SharedLog = Arc<Mutex<RecordingLog>>;

/// A function that takes a turn, with the work that it belongs to.
type OnTurn = dyn Fn(&WorkLabel, Interaction) + Send + Sync;

/// Takes each turn when it has ended.
#[derive(Clone)]
pub(super) struct TurnSink(pub(super) Arc<OnTurn>);

impl fmt::Debug for TurnSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TurnSink")
    }
}

/// The turns so far, unchanged: nothing is normalized before the recording is complete.
#[derive(Debug, Default)]
pub(super) struct RecordingLog {
    /// The turns by their numbers. Those that a sink has taken are missing.
    turns: BTreeMap<usize, LoggedTurn>,
    /// The number of the next turn.
    next: usize,
    sessions: HashMap<SessionId, RecordedSession>,
    /// The approximate size of the turns.
    bytes: usize,
    sink: Option<TurnSink>,
}

#[derive(Debug)]
struct LoggedTurn {
    interaction: Interaction,
    work: WorkLabel,
    bytes: usize,
}

#[derive(Debug)]
struct RecordedSession {
    options: RecordedOptions,
    work: WorkLabel,
    resumed: bool,
    /// The last turn and its start time.
    last: Option<(usize, Duration)>,
}

impl RecordingLog {
    /// Creates a log whose turns go to this sink when they have ended.
    pub(super) fn with_sink(sink: TurnSink) -> Self {
        Self {
            sink: Some(sink),
            ..Self::default()
        }
    }

    /// Returns a new log with the same sink, if there is one.
    pub(super) fn scoped(&self) -> Option<Self> {
        self.sink.clone().map(Self::with_sink)
    }

    /// Records that a session was started or resumed.
    pub(super) fn open(&mut self, id: &SessionId, options: &SessionOptions, resumed: bool) {
        let session = RecordedSession {
            options: options.into(),
            work: options.work.clone(),
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
        let bytes = prompt.len() + TURN_BYTES;
        self.bytes += bytes;
        if self.bytes > FILE_BYTES {
            return None;
        }
        let number = self.next;
        self.next += 1;
        session.last = Some((number, now));
        let interaction = Interaction {
            session: id.clone(),
            resumed: session.resumed,
            options: session.options.clone(),
            prompt: prompt.to_owned(),
            events: Vec::new(),
            cut: None,
        };
        let turn = LoggedTurn {
            interaction,
            work: session.work.clone(),
            bytes,
        };
        self.turns.insert(number, turn);
        Some(number)
    }

    /// Records an event of a turn. Events after a cancellation are ignored: they depend on the
    /// caller.
    pub(super) fn event(&mut self, turn: usize, at: Duration, event: &AgentEvent) {
        let turn = self.turns.get_mut(&turn);
        let Some(turn) = turn.filter(|turn| turn.interaction.cut.is_none()) else {
            return;
        };
        let bytes = approx_size(event);
        self.bytes += bytes;
        turn.bytes += bytes;
        let interaction = &mut turn.interaction;
        if self.bytes <= FILE_BYTES {
            let event = event.clone();
            interaction.events.push(TimedEvent { at, event });
        }
        if let AgentEvent::SessionChanged { new_session_id } = event {
            let session = RecordedSession {
                options: interaction.options.clone(),
                work: turn.work.clone(),
                resumed: interaction.resumed,
                last: None,
            };
            self.sessions
                .insert(new_session_id.as_str().into(), session);
        }
    }

    /// Gives a turn that has ended to the sink, if there is one. A turn that is too long is dropped.
    pub(super) fn end(&mut self, turn: usize) {
        let Some(TurnSink(sink)) = &self.sink else {
            return;
        };
        if let Some(turn) = self.turns.remove(&turn) {
            let is_whole = self.bytes <= FILE_BYTES;
            self.bytes = self.bytes.saturating_sub(turn.bytes);
            if is_whole {
                sink(&turn.work, turn.interaction);
            }
        }
    }

    /// Records that the caller interrupted the turn.
    pub(super) fn interrupt(&mut self, turn: usize, at: Duration) {
        if let Some(LoggedTurn {
            interaction: turn, ..
        }) = self.turns.get_mut(&turn)
        {
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
            let turns = self.turns.values();
            Ok(turns.map(|turn| turn.interaction.clone()).collect())
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
