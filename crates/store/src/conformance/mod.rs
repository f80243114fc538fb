//! One suite for every store.
//!
//! [`exercise`] asks for a fresh store per case and looks whether it holds what the contract says: under many clients,
//! with two doors to the same data, and with a clock that leaps. The cases that prove a promise carry its number.
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! use std::time::Duration;
//! use windlass_store::conformance::{self, Subject};
//! use windlass_store::{Settings, open_with};
//!
//! let folder = tempfile::tempdir().unwrap();
//! let url = |name: &str| format!("sqlite:{}/{name}.db", folder.path().display());
//! # let only = ["a_task_comes_back_as_it_went"];
//! let report = conformance::exercise_only(&only, async |name: &str| {
//!     let settings = Settings::default();
//!     let leap = settings.leap.clone();
//!     Ok(Subject {
//!         store: open_with(&url(name), settings.clone()).await?,
//!         other: open_with(&url(name), settings).await?,
//!         leap,
//!         spend: Duration::from_secs(1),
//!     })
//! })
//! .await;
//! assert!(report.is_passed(), "{report}");
//! # });
//! ```

mod connections;
mod deps;
mod events;
mod lifecycle;
mod model;
mod promises;
mod user_actions;
mod writers;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use windlass_core::task::{
    Claim, Claimed, NewProject, NewTask, Outcome, Project, StoreError, StoreResult, Task, TaskStore,
};
use windlass_core::{Clock, SystemClock, Usage};

use crate::ClockSkew;

/// The longest that a case may take.
const CASE_TIMEOUT: Duration = Duration::from_secs(180);
/// The lease that cases take; none of them waits for it.
const LEASE: Duration = Duration::from_secs(30);

/// A fresh store.
#[derive(Debug, Clone)]
pub struct StoreUnderTest {
    /// The store.
    pub store: Arc<dyn TaskStore>,
    /// The same data through another door, as another process has it.
    pub other: Arc<dyn TaskStore>,
    /// Moves the clock of both.
    pub leap: ClockSkew,
    /// How long the case under load keeps going.
    pub spend: Duration,
}

/// What a store did that it should not have done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseFailure(String);

impl fmt::Display for CaseFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<StoreError> for CaseFailure {
    fn from(error: StoreError) -> Self {
        Self(format!("the store answered: {error}"))
    }
}

impl From<tokio::task::JoinError> for CaseFailure {
    fn from(error: tokio::task::JoinError) -> Self {
        Self(format!("a client broke: {error}"))
    }
}

/// What a case found.
pub type CaseResult = Result<(), CaseFailure>;

/// Fails the case with a sentence.
fn fail_case<T>(what: impl Into<String>) -> Result<T, CaseFailure> {
    Err(CaseFailure(what.into()))
}

/// Fails the case unless this holds.
macro_rules! check {
    ($holds:expr, $($why:tt)+) => {
        if !$holds {
            return $crate::conformance::fail_case(format!($($why)+));
        }
    };
}

/// Fails the case unless these are the same.
macro_rules! same {
    ($found:expr, $wanted:expr $(,)?) => {
        same!($found, $wanted, "")
    };
    ($found:expr, $wanted:expr, $($why:tt)+) => {
        match (&$found, &$wanted) {
            (found, wanted) => {
                if found != wanted {
                    let why = format!($($why)+);
                    return $crate::conformance::fail_case(format!(
                        "{why} {}: found {found:?}, expected {wanted:?}", stringify!($found)
                    ));
                }
            }
        }
    };
}
use {check, same};

/// A case and its name.
type Case = (
    &'static str,
    fn(StoreUnderTest) -> BoxFuture<'static, CaseResult>,
);

/// Lists cases under their own names.
macro_rules! cases {
    ($($home:ident::$name:ident),+ $(,)?) => {
        const CASES: &[Case] = &[$((stringify!($name), |subject| Box::pin($home::$name(subject)))),+];
    };
}

cases![
    lifecycle::a_task_comes_back_as_it_went,
    lifecycle::what_does_not_fit_is_refused,
    lifecycle::what_is_not_there_is_said_so,
    lifecycle::tasks_are_taken_in_order,
    lifecycle::a_claim_may_be_choosy,
    lifecycle::attempts_are_counted_and_then_it_failed,
    lifecycle::p7_what_is_given_back_uses_up_no_attempt,
    lifecycle::completed_has_a_time_and_a_proof,
    lifecycle::usage_adds_up,
    deps::a_task_waits_for_what_it_needs,
    deps::a_circle_is_refused,
    deps::a_failed_task_blocks_its_dependants_until_it_is_put_back,
    deps::two_that_end_at_once_set_their_dependant_free,
    user_actions::cancel_is_requested_while_running,
    user_actions::a_question_is_answered_once,
    user_actions::a_permission_is_decided_once,
    user_actions::attempts_are_remembered,
    user_actions::traces_are_kept,
    events::p14_messages_are_read_from_any_number_on,
    events::p14_a_batch_that_is_said_twice_is_one,
    events::p14_numbers_have_no_gap_under_many_writers,
    events::every_status_change_is_broadcast,
    events::waiters_are_woken,
    promises::p1_what_was_accepted_is_there,
    promises::p2_a_silent_worker_loses_its_task,
    promises::p3_a_late_attempt_changes_nothing,
    promises::p3_an_end_that_is_said_twice_is_one,
    promises::p4_what_was_to_be_published_is_remembered,
    promises::p6_same_key_one_task_under_a_hundred_clients,
    promises::p8_a_clock_that_leaps_loses_and_doubles_nothing,
    connections::p9_two_doors_show_the_same,
    connections::nobody_gets_the_same_task_twice,
    model::p3_leases_are_as_in_the_model,
    writers::p9_sixteen_writers_at_once,
];

/// The names of all cases.
pub fn names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|(name, _)| *name)
}

/// What became of each case.
#[derive(Debug, Clone, Default)]
pub struct Report(Vec<(&'static str, CaseResult)>);

impl Report {
    /// Whether every case was passed, and there was one.
    pub fn passed(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|(_, verdict)| verdict.is_ok())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, verdict) in &self.0 {
            match verdict {
                Ok(()) => writeln!(f, "passed  {name}")?,
                Err(fault) => writeln!(f, "FAILED  {name}: {fault}")?,
            }
        }
        Ok(())
    }
}

/// Runs every case, each on a fresh store. `make` is told the case's name.
pub async fn exercise<F>(make: F) -> Report
where
    F: AsyncFn(&str) -> StoreResult<StoreUnderTest>,
{
    let all: Vec<&str> = names().collect();
    exercise_only(&all, make).await
}

/// Runs some cases by their names.
pub async fn exercise_only<F>(only: &[&str], make: F) -> Report
where
    F: AsyncFn(&str) -> StoreResult<StoreUnderTest>,
{
    let clock = SystemClock::new();
    let mut report = Report::default();
    for (name, case) in CASES.iter().filter(|(name, _)| only.contains(name)) {
        let verdict = match make(name).await {
            Ok(subject) => tokio::select! {
                verdict = case(subject) => verdict,
                () = clock.sleep(CASE_TIMEOUT) => fail_case(format!("it did not end within {} s", CASE_TIMEOUT.as_secs())),
            },
            Err(error) => Err(error.into()),
        };
        report.0.push((name, verdict));
    }
    report
}

// What most cases begin with.

async fn project(store: &Arc<dyn TaskStore>) -> Result<Project, CaseFailure> {
    let root = PathBuf::from("/home/me/shop");
    let name = "shop".to_owned();
    Ok(store.add_project(NewProject { name, root }).await?)
}

async fn add(store: &Arc<dyn TaskStore>, new: NewTask) -> Result<Task, CaseFailure> {
    match store.enqueue(vec![new]).await?.pop() {
        Some(added) => Ok(added.task),
        None => fail_case("nothing was added"),
    }
}

async fn added(store: &Arc<dyn TaskStore>) -> Result<Task, CaseFailure> {
    let project = project(store).await?;
    add(store, NewTask::new(project.id, "sell tea")).await
}

fn any(worker: &str) -> Claim {
    Claim {
        worker: worker.to_owned(),
        project_id: None,
        task: None,
        kinds: Vec::new(),
        lease: LEASE,
    }
}

async fn claimed(store: &Arc<dyn TaskStore>) -> Result<Claimed, CaseFailure> {
    match store.claim(any("a worker")).await? {
        Some(claimed) => Ok(claimed),
        None => fail_case("there was nothing to claim"),
    }
}

fn completed() -> Outcome {
    Outcome::Completed {
        proof: None,
        branch: None,
        output: "done".to_owned(),
    }
}

fn failed(again: bool) -> Outcome {
    Outcome::Failed {
        error: "it broke".to_owned(),
        again,
    }
}

async fn finish(
    store: &Arc<dyn TaskStore>,
    one: &Claimed,
    outcome: Outcome,
) -> Result<Task, CaseFailure> {
    Ok(store.finish(one.attempt, outcome, Usage::default()).await?)
}
