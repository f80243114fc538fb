//! The life of a task: claim, context, plan, edit, verify, correct, prove.
//!
//! A [`Runner`] works on one task, from claim to proof; a [`Worker`] takes one after the other from the store, several
//! at a time. Both see the store, the place to work, the tests and the agents only through the traits of
//! [`windlass_core`], so that a simulator can stand behind them, with a clock of its own and any fault it likes.
//!
//! This crate opens no file, starts no process and knows no database.

mod agents;
mod attempt;
mod bus;
mod error;
mod generate;
mod lead;
mod plan;
mod pool;
mod prompt;
mod result;
mod runner;
mod settings;
mod worker;

pub use agents::Agents;
pub use attempt::{branch_of, trace_id};
pub use bus::{Bus, Listener, PATIENCE};
pub use error::Error;
pub use generate::{Generated, generate_code};
pub use lead::{LeadAgent, MAX_TASKS, Parent};
pub use plan::{Plan, PlanError, PlanOptions, get_plan};
pub use pool::{AgentPoolManager, MAX_CONCURRENT, Slot};
pub use result::{Budget, ResultStatus, TaskResult};
pub use runner::{Runner, Signals, Taken};
pub use settings::Settings;
pub use worker::{Report, Worker};
