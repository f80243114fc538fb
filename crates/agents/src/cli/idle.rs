//! Processes between two turns.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::future::BoxFuture;
use windlass_core::{Clock, SessionId};

use super::process::AgentProcess;

/// How many are kept at once; the one that waited longest makes room.
const MAX_IDLE: usize = 8;

/// Where dialogs wait for their next turn. What is not taken up in time is ended; its session can be resumed.
pub(super) struct IdleProcesses {
    clock: Arc<dyn Clock>,
    /// How long a process is kept for a next turn.
    idle: Duration,
    seats: Mutex<IdleTable>,
}

#[derive(Default)]
struct IdleTable {
    count: u64,
    taken: Vec<IdleProcess>,
}

struct IdleProcess {
    number: u64,
    session: SessionId,
    process: AgentProcess,
}

impl IdleProcesses {
    pub(super) fn new(clock: Arc<dyn Clock>, idle: Duration) -> Arc<Self> {
        Arc::new(Self {
            clock,
            idle,
            seats: Mutex::default(),
        })
    }

    /// Keeps a process for the session's next turn.
    pub(super) fn insert(self: &Arc<Self>, session: SessionId, process: AgentProcess) {
        let mut seats = self.lock();
        seats.count += 1;
        let number = seats.count;
        seats.taken.push(IdleProcess {
            number,
            session,
            process,
        });
        let crowded = seats.taken.len() > MAX_IDLE;
        let oldest = crowded.then(|| seats.taken.remove(0));
        drop(seats);
        let idle = self.clock.sleep(self.idle);
        tokio::spawn(expire(Arc::downgrade(self), number, idle, oldest));
    }

    /// The process that waits for this session, if one does.
    pub(super) fn take(&self, session: &SessionId) -> Option<AgentProcess> {
        let taken = &mut self.lock().taken;
        let at = taken.iter().position(|seat| seat.session == *session)?;
        Some(taken.remove(at).process)
    }

    fn lock(&self) -> MutexGuard<'_, IdleTable> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the one that had to make room now, and this one when it has waited long enough.
async fn expire(
    parking: Weak<IdleProcesses>,
    number: u64,
    idle: BoxFuture<'static, ()>,
    oldest: Option<IdleProcess>,
) {
    if let Some(seat) = oldest {
        let _ = seat.process.close().await;
    }
    idle.await;
    let Some(parking) = parking.upgrade() else {
        return;
    };
    let idle = {
        let taken = &mut parking.lock().taken;
        let at = taken.iter().position(|seat| seat.number == number);
        at.map(|at| taken.remove(at))
    };
    if let Some(seat) = idle {
        let _ = seat.process.close().await;
    }
}
