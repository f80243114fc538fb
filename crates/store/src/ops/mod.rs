//! The operations of a store, one file per part of a task's lifecycle. Each operation is a function on a
//! connection. A write operation may run again if its transaction could not be committed.

pub(crate) mod access;
pub(crate) mod add_merged;
pub(crate) mod approvals;
pub(crate) mod attempts;
pub(crate) mod audit;
pub(crate) mod bases;
pub(crate) mod blockers;
pub(crate) mod candidates;
pub(crate) mod claim;
pub(crate) mod complete;
pub(crate) mod dependents;
pub(crate) mod enqueue;
pub(crate) mod finish;
pub(crate) mod known_parents;
pub(crate) mod landing_claim;
pub(crate) mod landing_end;
pub(crate) mod landings;
pub(crate) mod leases;
pub(crate) mod model_calls;
pub(crate) mod new_task_rules;
pub(crate) mod notifications;
pub(crate) mod outdated;
pub(crate) mod projects;
pub(crate) mod pushes;
pub(crate) mod reclaim;
pub(crate) mod records;
pub(crate) mod review_rules;
pub(crate) mod reviews;
pub(crate) mod schedules;
pub(crate) mod stacks;
pub(crate) mod steering;
pub(crate) mod take_over;
pub(crate) mod tasks;
pub(crate) mod totals;
pub(crate) mod traces;
