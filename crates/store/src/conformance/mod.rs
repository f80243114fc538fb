//! The conformance suite that every store must pass.
//!
//! [`exercise`] creates a fresh store for each case and checks it against the contract: with many clients,
//! with two connections to the same data, and with clock jumps. Cases that prove a promise have its number in
//! their name.
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! use std::time::Duration;
//! use windlass_store::conformance::{self, StoreUnderTest, TestClocks};
//! use windlass_store::{StoreSettings, open_with};
//!
//! let dir = tempfile::tempdir().unwrap();
//! let url = |name: &str| format!("sqlite:{}/{name}.db", dir.path().display());
//! # let only = ["task_fields_round_trip"];
//! let report = conformance::exercise_only(&only, async |name: &str| {
//!     let clocks = TestClocks::default();
//!     let mut settings = StoreSettings::default();
//!     settings.clock_skew = clocks.database.clone();
//!     settings.lease_clock = clocks.here();
//!     let mut elsewhere = settings.clone();
//!     elsewhere.lease_clock = clocks.elsewhere();
//!     Ok(StoreUnderTest {
//!         store: open_with(&url(name), settings.clone()).await?,
//!         other: open_with(&url(name), settings).await?,
//!         elsewhere: open_with(&url(name), elsewhere).await?,
//!         clocks,
//!         load_duration: Duration::from_secs(1),
//!     })
//! })
//! .await;
//! assert!(report.passed(), "{report}");
//! # });
//! ```

mod batches;
mod candidates;
mod changes;
mod clocks;
mod connections;
mod deps;
mod events;
mod helpers;
mod landings;
mod lifecycle;
mod model;
mod outbox;
mod promises;
mod reviews;
mod schedules;
mod stacks;
mod steering;
mod take_over;
mod user_actions;
mod workers;
mod writers;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use windlass_core::{Clock, LeaseClock, SystemClock};
use windlass_tasks::{StoreError, StoreResult, TaskStore};

use crate::{ClockSkew, ManualClock};

/// Time limit of a case.
const CASE_TIMEOUT: Duration = Duration::from_secs(180);
/// The lease that cases claim with; no case waits for it to expire.
const LEASE: Duration = Duration::from_secs(30);

/// A fresh store.
#[derive(Debug, Clone)]
pub struct StoreUnderTest {
    /// The store.
    pub store: Arc<dyn TaskStore>,
    /// A second connection to the same data, as another process would have.
    pub other: Arc<dyn TaskStore>,
    /// A connection to the same data from a machine with another clock.
    pub elsewhere: Arc<dyn TaskStore>,
    /// The clocks of all connections.
    pub clocks: TestClocks,
    /// How long the load case runs.
    pub load_duration: Duration,
}

impl StoreUnderTest {
    /// Lets time pass on every clock.
    fn pass(&self, time: Duration) {
        self.clocks.leases.advance(time);
        self.clocks.database.advance(time);
    }
}

/// The clocks that a case moves instead of waiting.
#[derive(Debug, Clone)]
pub struct TestClocks {
    /// The offset of the database's clock, which may jump.
    pub database: ClockSkew,
    leases: ManualClock,
}

impl Default for TestClocks {
    fn default() -> Self {
        Self {
            database: ClockSkew::default(),
            leases: ManualClock::new("here"),
        }
    }
}

impl TestClocks {
    /// Returns the lease clock of two connections.
    pub fn here(&self) -> Arc<dyn LeaseClock> {
        Arc::new(self.leases.clone())
    }

    /// Returns the lease clock of the connection from another machine, which was started a year earlier.
    pub fn elsewhere(&self) -> Arc<dyn LeaseClock> {
        let year = Duration::from_secs(365 * 24 * 60 * 60);
        Arc::new(self.leases.elsewhere("elsewhere", year))
    }
}

/// Why a case failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseFailure(String);

impl fmt::Display for CaseFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<StoreError> for CaseFailure {
    fn from(error: StoreError) -> Self {
        Self(format!("the store returned an error: {error}"))
    }
}

impl From<tokio::task::JoinError> for CaseFailure {
    fn from(error: tokio::task::JoinError) -> Self {
        Self(format!("a client panicked: {error}"))
    }
}

/// Result of a case.
pub type CaseResult = Result<(), CaseFailure>;

/// Fails the case with a message.
fn fail_case<T>(what: impl Into<String>) -> Result<T, CaseFailure> {
    Err(CaseFailure(what.into()))
}

/// Fails the case unless the condition is true.
macro_rules! check {
    ($holds:expr, $($why:tt)+) => {
        if !$holds {
            return $crate::conformance::fail_case(format!($($why)+));
        }
    };
}

/// Fails the case unless the values are equal.
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
use helpers::{add, added, any, claimed, completed, failed, finish, project};
use {check, same};

/// A case and its name.
type Case = (
    &'static str,
    fn(StoreUnderTest) -> BoxFuture<'static, CaseResult>,
);

/// Lists cases under their own names.
macro_rules! cases {
    ($($module:ident::$name:ident),+ $(,)?) => {
        const CASES: &[Case] = &[$((stringify!($name), |subject| Box::pin($module::$name(subject)))),+];
    };
}

cases![
    lifecycle::task_fields_round_trip,
    lifecycle::invalid_task_is_rejected,
    lifecycle::missing_records_return_not_found,
    lifecycle::claim_follows_priority_step_and_id,
    lifecycle::claim_respects_filters,
    lifecycle::task_fails_after_last_attempt,
    lifecycle::p7_released_attempt_is_not_counted,
    lifecycle::completed_task_has_time_and_proof,
    lifecycle::usage_is_summed_over_attempts,
    deps::task_waits_for_its_dependencies,
    stacks::base_of_an_attempt_is_recorded,
    stacks::changes_of_dependencies_are_in_order,
    stacks::replaced_change_makes_dependants_outdated,
    stacks::base_that_is_replaced_during_an_attempt_is_noticed,
    stacks::released_task_waits_for_a_dependency_that_was_reset,
    stacks::conflicting_dependencies_are_merged_by_one_task,
    stacks::dependency_that_conflicts_with_its_target_is_outdated,
    deps::dependency_cycle_is_rejected,
    deps::failed_task_blocks_dependents_until_retried,
    deps::concurrent_completions_unblock_dependent,
    deps::dependency_on_a_completing_task_is_met,
    user_actions::cancel_is_requested_while_running,
    user_actions::blocker_is_answered_once,
    user_actions::approval_is_decided_once,
    user_actions::attempts_are_listed_with_outcomes,
    user_actions::traces_are_stored,
    events::p14_events_are_read_from_any_seq,
    events::p14_repeated_batch_is_stored_once,
    events::p14_concurrent_writers_leave_no_seq_gaps,
    events::every_status_change_is_broadcast,
    events::waiters_are_woken,
    promises::p1_accepted_tasks_are_stored,
    promises::p2_task_without_heartbeats_is_reclaimed,
    promises::p3_heartbeats_that_arrive_together_have_their_own_results,
    promises::p3_superseded_attempt_changes_nothing,
    promises::p3_repeated_finish_is_idempotent,
    promises::p4_publish_intent_is_stored,
    promises::p6_same_key_from_a_hundred_clients_gives_one_task,
    changes::store_id_is_stable_and_the_same_for_all,
    changes::change_is_recorded_for_every_outcome,
    changes::p3_change_of_an_ended_attempt_is_recorded_once,
    changes::fresh_retry_starts_without_earlier_changes,
    steering::task_is_edited_unless_it_runs,
    steering::edited_dependencies_decide_what_is_claimed,
    steering::paused_task_is_not_claimed,
    steering::paused_workers_claim_only_what_they_name,
    steering::all_tasks_are_cancelled_at_once,
    steering::project_has_a_note,
    landings::p30_one_worker_lands_on_a_branch_at_a_time,
    landings::p30_nothing_lands_twice,
    landings::p30_lost_lease_cannot_finish,
    landings::dependencies_land_first,
    landings::returned_landing_gives_a_new_attempt,
    landings::waiting_landing_ends_with_its_change,
    reviews::review_round_trips_with_its_comments,
    reviews::requested_changes_reach_every_attempt_until_completed,
    reviews::review_of_an_old_version_is_refused,
    reviews::concurrent_requests_start_one_attempt,
    reviews::approval_is_for_people_and_ends_the_need,
    reviews::agents_request_changes_a_limited_number_of_times,
    reviews::reviews_are_limited,
    reviews::session_and_proof_are_kept_for_each_version,
    schedules::due_time_adds_one_task,
    schedules::paused_and_removed_schedules_add_nothing,
    take_over::message_is_delivered_once,
    take_over::person_takes_over_an_ended_task,
    workers::worker_is_known_while_it_renews,
    workers::killed_worker_is_lost_and_removed_later,
    workers::worker_claims_only_what_it_has_the_labels_for,
    workers::labels_change_neither_order_nor_dependencies,
    workers::worker_claims_only_tasks_of_its_agents,
    workers::waiting_task_says_what_no_worker_has,
    workers::draining_worker_claims_nothing_more,
    workers::many_workers_renew_at_once,
    clocks::p2_task_of_another_machine_is_reclaimed_after_one_lease,
    clocks::p8_clock_jump_loses_no_live_work,
    clocks::p8_clock_jump_does_not_delay_takeover,
    candidates::task_waits_for_its_candidates_and_takes_the_best,
    candidates::first_clean_candidate_ends_the_others,
    candidates::candidates_end_and_restart_with_their_task,
    outbox::push_is_claimed_by_one_and_known_as_ours,
    outbox::failed_push_is_due_later_or_waits_for_a_person,
    outbox::follower_moves_once_with_what_it_derived,
    outbox::notification_is_sent_by_one_and_retried,
    connections::p9_two_connections_see_the_same_data,
    connections::each_task_is_claimed_once,
    batches::task_that_is_added_alone_is_returned_as_it_is_read,
    batches::waiting_writes_each_get_their_own_result,
    batches::ends_and_claims_that_wait_together_each_get_their_own_result,
    batches::refused_write_does_not_disturb_those_that_wait_with_it,
    model::p3_leases_match_the_model,
    writers::p9_sixteen_concurrent_writers_stay_consistent,
];

/// Returns the names of all cases.
pub fn names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|(name, _)| *name)
}

/// The result of each case.
#[derive(Debug, Clone, Default)]
pub struct Report(Vec<(&'static str, CaseResult)>);

impl Report {
    /// Returns `true` if every case passed and there was at least one.
    pub fn passed(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|(_, result)| result.is_ok())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, result) in &self.0 {
            match result {
                Ok(()) => writeln!(f, "passed  {name}")?,
                Err(failure) => writeln!(f, "FAILED  {name}: {failure}")?,
            }
        }
        Ok(())
    }
}

/// Runs every case, each on a fresh store. `make` gets the name of the case.
pub async fn exercise<F>(make: F) -> Report
where
    F: AsyncFn(&str) -> StoreResult<StoreUnderTest>,
{
    let all: Vec<&str> = names().collect();
    exercise_only(&all, make).await
}

/// Runs the named cases.
pub async fn exercise_only<F>(only: &[&str], make: F) -> Report
where
    F: AsyncFn(&str) -> StoreResult<StoreUnderTest>,
{
    let clock = SystemClock::new();
    let mut report = Report::default();
    for (name, case) in CASES.iter().filter(|(name, _)| only.contains(name)) {
        let result = match make(name).await {
            Ok(subject) => tokio::select! {
                result = case(subject) => result,
                () = clock.sleep(CASE_TIMEOUT) => fail_case(format!("it did not end within {} s", CASE_TIMEOUT.as_secs())),
            },
            Err(error) => Err(error.into()),
        };
        report.0.push((name, result));
    }
    report
}
