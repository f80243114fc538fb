//! Processes that are idle between two turns.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use windlass_core::{Clock, SessionId};

use super::process::AgentProcess;

/// Maximum number of idle processes; beyond it, the one that is idle longest is closed.
const MAX_IDLE: usize = 8;

/// Interactive processes that wait for their next turn. A process that is idle for too long is closed; its
/// session can be resumed.
pub(super) struct IdleProcesses {
    clock: Arc<dyn Clock>,
    /// How long a process is kept for the next turn.
    idle_timeout: Duration,
    table: Mutex<IdleTable>,
}

#[derive(Default)]
struct IdleTable {
    count: u64,
    processes: Vec<IdleProcess>,
}

struct IdleProcess {
    number: u64,
    session: SessionId,
    process: AgentProcess,
}

impl IdleProcesses {
    pub(super) fn new(clock: Arc<dyn Clock>, idle_timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            clock,
            idle_timeout,
            table: Mutex::default(),
        })
    }

    /// Keeps a process for the session's next turn.
    pub(super) fn insert(self: &Arc<Self>, session: SessionId, process: AgentProcess) {
        let mut table = self.lock();
        table.count += 1;
        let number = table.count;
        table.processes.push(IdleProcess {
            number,
            session,
            process,
        });
        let is_full = table.processes.len() > MAX_IDLE;
        let oldest = is_full.then(|| table.processes.remove(0));
        drop(table);
        let timeout = self.clock.sleep(self.idle_timeout);
        tokio::spawn(expire(Arc::downgrade(self), number, timeout, oldest));
    }

    /// Returns the idle process of this session, if there is one.
    pub(super) fn take(&self, session: &SessionId) -> Option<AgentProcess> {
        let processes = &mut self.lock().processes;
        let at = processes
            .iter()
            .position(|entry| entry.session == *session)?;
        Some(processes.remove(at).process)
    }

    fn lock(&self) -> MutexGuard<'_, IdleTable> {
        self.table.lock()
    }
}

/// Closes the evicted process now, and the process of this number when it was idle for too long.
async fn expire(
    pool: Weak<IdleProcesses>,
    number: u64,
    timeout: BoxFuture<'static, ()>,
    oldest: Option<IdleProcess>,
) {
    if let Some(entry) = oldest {
        let _ = entry.process.close().await;
    }
    timeout.await;
    let Some(pool) = pool.upgrade() else {
        return;
    };
    let expired = {
        let processes = &mut pool.lock().processes;
        let at = processes.iter().position(|entry| entry.number == number);
        at.map(|at| processes.remove(at))
    };
    if let Some(entry) = expired {
        let _ = entry.process.close().await;
    }
}
