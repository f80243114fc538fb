//! A session of an agent that is a program.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use windlass_core::SessionOptions;

/// One conversation. `T` is what only its protocol needs to know.
#[derive(Debug)]
pub(crate) struct ProtocolSession<T> {
    pub(crate) options: SessionOptions,
    pub(crate) cwd: PathBuf,
    pub(crate) detail: T,
    turns: Mutex<TurnCounter>,
}

#[derive(Debug, Default)]
struct TurnCounter {
    count: u64,
    stop: Arc<Notify>,
}

impl<T> ProtocolSession<T> {
    /// Creates a session without turns.
    pub(crate) fn new(options: SessionOptions, cwd: PathBuf, detail: T) -> Self {
        Self {
            options,
            cwd,
            detail,
            turns: Mutex::default(),
        }
    }

    /// Counts a turn, and returns the notification that cancels it.
    pub(crate) fn begin_turn(&self) -> Arc<Notify> {
        let mut turns = self.turns.lock();
        turns.count += 1;
        // A cancellation that came too late for the last turn must not end this one.
        turns.stop = Arc::default();
        Arc::clone(&turns.stop)
    }

    /// Cancels the running turn.
    pub(crate) fn stop(&self) {
        self.turns.lock().stop.notify_one();
    }

    /// Returns the number of turns that were started here.
    pub(crate) fn turn_count(&self) -> u64 {
        self.turns.lock().count
    }
}
