//! The interface of a task store, in one trait for each kind of user.

mod account_limits;
mod approvals;
mod blockers;
mod error;
mod event_log;
mod landings;
mod leases;
mod model_calls;
mod notifications;
mod projects;
mod pushes;
mod queue;
mod records;
mod reviews;
mod schedules;
mod stacks;
mod steering;
mod take_over;
mod traces;
mod workers;

pub use account_limits::AccountLimits;
pub use approvals::Approvals;
pub use blockers::Blockers;
pub use error::{StoreError, StoreFuture, StoreResult};
pub use event_log::EventLog;
pub use landings::Landings;
pub use leases::Leases;
pub use model_calls::ModelCalls;
pub use notifications::Notifications;
pub use projects::Projects;
pub use pushes::Pushes;
pub use queue::TaskQueue;
pub use records::AttemptRecords;
pub use reviews::Reviews;
pub use schedules::Schedules;
pub use stacks::Stacks;
pub use steering::Steering;
pub use take_over::TakeOver;
pub use traces::Traces;
pub use workers::Workers;

/// Stores tasks durably. Accepted tasks are never lost, and no task is completed twice.
///
/// Leases do not depend on the wall clock, which may jump
/// ([`LeaseClock`](windlass_core::LeaseClock)). Every write of an attempt includes its
/// [`AttemptRef`](crate::AttemptRef). Once the attempt no longer owns the task (its lease was reclaimed, another
/// attempt started, it ended), such a write changes nothing and fails with [`StoreError::Superseded`]. There are
/// three exceptions. A repeated `finish` with the same outcome returns the same result, because the first response
/// may have been lost. `append_events` is accepted from an attempt that ended by `finish`, because its last
/// messages may arrive late. And `record_change` is accepted once from an attempt that has ended, because the
/// change of a killed attempt is found afterwards; it changes nothing but the record of that attempt.
///
/// Every operation that changes the status of a task appends its
/// [`Broadcast::TaskStatus`](crate::Broadcast::TaskStatus) in the same transaction; callers need not. Changes by
/// an attempt (claim, finish, release) have the `agent_id` of its worker kind, all others (added, cancelled,
/// retried, answered, reclaimed, blocked by another task) have `worker`. So the number of the last message
/// increases whenever there may be a task to claim.
///
/// This trait has no methods: whatever implements its parts is a store. Code that needs one part
/// takes that part.
pub trait TaskStore:
    Projects
    + TaskQueue
    + Leases
    + AttemptRecords
    + EventLog
    + Blockers
    + Approvals
    + Traces
    + Steering
    + Pushes
    + Notifications
    + Landings
    + Reviews
    + Schedules
    + TakeOver
    + Stacks
    + AccountLimits
    + Workers
{
}

impl<T> TaskStore for T where
    T: Projects
        + TaskQueue
        + Leases
        + AttemptRecords
        + EventLog
        + Blockers
        + Approvals
        + Traces
        + Steering
        + Pushes
        + Notifications
        + Landings
        + Reviews
        + Schedules
        + TakeOver
        + Stacks
        + AccountLimits
        + Workers
{
}
