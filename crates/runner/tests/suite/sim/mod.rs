//! A simulated environment for a runner: clock, store, workspace and agents are simulated and can fail in
//! every way that real ones do.

pub(crate) mod agent;
pub(crate) mod branch;
mod candidates;
pub(crate) mod clock;
pub(crate) mod faults;
pub(crate) mod harness;
pub(crate) mod memory;
mod new_task;
pub(crate) mod repo;
pub(crate) mod stacked;
pub(crate) mod store;
mod store_landings;
mod store_limits;
mod store_outbox;
mod store_records;
mod store_reviews;
mod store_schedules;
mod store_stacks;
mod store_steering;
mod store_workers;

pub(crate) mod check;
pub(crate) mod interruption;
pub(crate) mod landing;
mod seed_range;
mod seeds;
