//! The lifecycle of a task: claim, context, plan, edit, verify, correct, prove.
//!
//! A [`Runner`] runs one task, from claim to proof. A [`Worker`] claims tasks from the store and runs several
//! of them concurrently. Both use the store, the workspace, the tests and the agents only through the traits
//! of [`windlass_core`], so that a simulator can replace them, with its own clock and injected faults.
//!
//! This crate starts no processes, does not depend on a database and opens no files but those of the system's
//! time zones.

mod agent_resolver;
mod attempt;
mod bus;
mod error;
mod execute;
mod generate;
mod held_leases;
mod land;
mod lead;
mod plan;
mod pool;
mod registration;
mod result;
mod review;
mod runner;
mod schedule;
mod settings;
mod template;
mod worker;
mod worker_claims;
mod worker_cleanup;
mod worker_report;

pub use agent_resolver::AgentResolver;
pub use attempt::{branch_name, keep_stale_changes, trace_id};
pub use bus::{Bus, LISTENER_TIMEOUT, Listener};
pub use error::Error;
pub use generate::{Generated, generate_code};
pub use held_leases::HeldLeases;
pub use land::{Lander, LandingListener, LandingReport, LandingResult, LandingSettings};
pub use lead::{GoalParent, LeadAgent, MAX_TASKS};
pub use plan::{Plan, PlanError, PlanOptions, get_plan};
pub use pool::{AgentPoolManager, MAX_CONCURRENT, PoolPermit};
pub use result::{Budget, ResultStatus, TaskResult};
pub use review::{AgentReview, ChangeReviewer, review_change};
pub use runner::{ClaimedTask, Runner, StopSignals};
pub use schedule::{Cron, CronError, local_time, zone_name};
pub use settings::{CommitSettings, ConflictPolicy, RunnerSettings};
pub use worker::Worker;
pub use worker_report::WorkerReport;
