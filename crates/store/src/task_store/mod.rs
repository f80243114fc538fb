//! The implementation of `TaskStore`, one file for each of its traits: for each method, whether it reads or
//! writes, how durable a write is, and its name in timeout errors.

mod account_limits;
mod approvals;
mod blockers;
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
mod write;
