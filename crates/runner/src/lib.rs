//! The life of a task: claim, context, plan, edit, verify, correct, prove.
//!
//! A [`Runner`] works on one task, from claim to proof; a [`Worker`] takes one after the other from the store, several
//! at a time. Both see the store, the place to work, the tests and the agents only through the traits of
//! [`windlass_core`], so that a simulator can stand behind them, with a clock of its own and any fault it likes.
//!
//! This crate opens no file, starts no process and knows no database.

mod agent_resolver;
mod attempt;
mod bus;
mod error;
mod generate;
mod lead;
mod plan;
mod pool;
mod result;
mod runner;
mod settings;
mod template;
mod worker;

pub use agent_resolver::AgentResolver;
pub use attempt::{branch_name, trace_id};
pub use bus::{Bus, LISTENER_TIMEOUT, Listener};
pub use error::Error;
pub use generate::{Generated, generate_code};
pub use lead::{GoalParent, LeadAgent, MAX_TASKS};
pub use plan::{Plan, PlanError, PlanOptions, get_plan};
pub use pool::{AgentPoolManager, MAX_CONCURRENT, PoolPermit};
pub use result::{Budget, ResultStatus, TaskResult};
pub use runner::{ClaimedTask, Runner, StopSignals};
pub use settings::RunnerSettings;
pub use worker::{Worker, WorkerReport};
