//! The conformance suite on both databases, one test per case.

use std::time::Duration;

use windlass_store::conformance::{self, StoreUnderTest, TestClocks};
use windlass_store::{StoreSettings, open_with};

use super::cluster::Cluster;

/// Long enough that no case fails because the machine is busy.
const TIMEOUT: Duration = Duration::from_secs(60);

async fn store_under_test(url: &str) -> windlass_tasks::StoreResult<StoreUnderTest> {
    let mut settings = StoreSettings::default();
    settings.query_timeout = TIMEOUT;
    settings.commit_timeout = TIMEOUT;
    settings.open_timeout = TIMEOUT;
    let clocks = TestClocks::default();
    settings.clock_skew = clocks.database.clone();
    settings.lease_clock = clocks.here();
    let mut elsewhere = settings.clone();
    elsewhere.lease_clock = clocks.elsewhere();
    let is_full_run = std::env::var_os("WINDLASS_FULL").is_some();
    Ok(StoreUnderTest {
        store: open_with(url, settings.clone()).await?,
        other: open_with(url, settings).await?,
        elsewhere: open_with(url, elsewhere).await?,
        clocks,
        load_duration: Duration::from_secs(if is_full_run { 60 } else { 2 }),
    })
}

fn run<F: Future>(test: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(test)
}

fn on_sqlite(case: &str) {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/windlass.db", dir.path().display());
    let report = run(conformance::exercise_only(&[case], async |_: &str| {
        store_under_test(&url).await
    }));
    assert!(report.passed(), "{report}");
}

fn on_postgres(case: &str) {
    let cluster = Cluster::shared();
    let make = async |_: &str| store_under_test(&cluster.url(&cluster.database().await)).await;
    let report = run(conformance::exercise_only(&[case], make));
    assert!(report.passed(), "{report}");
}

/// The settings of a PgBouncer that gives each transaction to another session.
const TRANSACTIONS: [&str; 1] = ["pool_mode=transaction"];

fn through_pooler(cases: &[&str]) {
    let cluster = Cluster::shared();
    let pooler = cluster.pooler("transactions", &TRANSACTIONS);
    let make = async |_: &str| store_under_test(&pooler.url(&cluster.database().await)).await;
    let report = run(conformance::exercise_only(cases, make));
    assert!(report.passed(), "{report}");
}

macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        const NAMES: &[&str] = &[$(stringify!($name)),+];

        mod sqlite {
            $(#[test] fn $name() { super::on_sqlite(stringify!($name)); })+
        }

        mod real_postgres {
            $(#[test] fn $name() { super::on_postgres(stringify!($name)); })+
        }
    };
}

cases![
    task_fields_round_trip,
    invalid_task_is_rejected,
    missing_records_return_not_found,
    claim_follows_priority_step_and_id,
    claim_respects_filters,
    task_fails_after_last_attempt,
    p7_released_attempt_is_not_counted,
    completed_task_has_time_and_proof,
    usage_is_summed_over_attempts,
    task_waits_for_its_dependencies,
    base_of_an_attempt_is_recorded,
    changes_of_dependencies_are_in_order,
    replaced_change_makes_dependants_outdated,
    base_that_is_replaced_during_an_attempt_is_noticed,
    released_task_waits_for_a_dependency_that_was_reset,
    conflicting_dependencies_are_merged_by_one_task,
    dependency_that_conflicts_with_its_target_is_outdated,
    dependency_cycle_is_rejected,
    failed_task_blocks_dependents_until_retried,
    concurrent_completions_unblock_dependent,
    dependency_on_a_completing_task_is_met,
    cancel_is_requested_while_running,
    blocker_is_answered_once,
    approval_is_decided_once,
    attempts_are_listed_with_outcomes,
    traces_are_stored,
    p14_events_are_read_from_any_seq,
    p14_repeated_batch_is_stored_once,
    p14_concurrent_writers_leave_no_seq_gaps,
    every_status_change_is_broadcast,
    waiters_are_woken,
    p1_accepted_tasks_are_stored,
    p2_task_without_heartbeats_is_reclaimed,
    p3_heartbeats_that_arrive_together_have_their_own_results,
    p3_superseded_attempt_changes_nothing,
    p3_repeated_finish_is_idempotent,
    p4_publish_intent_is_stored,
    p6_same_key_from_a_hundred_clients_gives_one_task,
    store_id_is_stable_and_the_same_for_all,
    change_is_recorded_for_every_outcome,
    p3_change_of_an_ended_attempt_is_recorded_once,
    fresh_retry_starts_without_earlier_changes,
    task_is_edited_unless_it_runs,
    edited_dependencies_decide_what_is_claimed,
    paused_task_is_not_claimed,
    paused_workers_claim_only_what_they_name,
    all_tasks_are_cancelled_at_once,
    project_has_a_note,
    p30_one_worker_lands_on_a_branch_at_a_time,
    p30_nothing_lands_twice,
    p30_lost_lease_cannot_finish,
    dependencies_land_first,
    returned_landing_gives_a_new_attempt,
    waiting_landing_ends_with_its_change,
    review_round_trips_with_its_comments,
    requested_changes_reach_every_attempt_until_completed,
    review_of_an_old_version_is_refused,
    concurrent_requests_start_one_attempt,
    approval_is_for_people_and_ends_the_need,
    agents_request_changes_a_limited_number_of_times,
    reviews_are_limited,
    session_and_proof_are_kept_for_each_version,
    due_time_adds_one_task,
    paused_and_removed_schedules_add_nothing,
    message_is_delivered_once,
    person_takes_over_an_ended_task,
    worker_is_known_while_it_renews,
    killed_worker_is_lost_and_removed_later,
    worker_claims_only_what_it_has_the_labels_for,
    labels_change_neither_order_nor_dependencies,
    worker_claims_only_tasks_of_its_agents,
    waiting_task_says_what_no_worker_has,
    draining_worker_claims_nothing_more,
    many_workers_renew_at_once,
    p2_task_of_another_machine_is_reclaimed_after_one_lease,
    p8_clock_jump_loses_no_live_work,
    p8_clock_jump_does_not_delay_takeover,
    task_waits_for_its_candidates_and_takes_the_best,
    first_clean_candidate_ends_the_others,
    candidates_end_and_restart_with_their_task,
    push_is_claimed_by_one_and_known_as_ours,
    failed_push_is_due_later_or_waits_for_a_person,
    follower_moves_once_with_what_it_derived,
    notification_is_sent_by_one_and_retried,
    p9_two_connections_see_the_same_data,
    each_task_is_claimed_once,
    task_that_is_added_alone_is_returned_as_it_is_read,
    waiting_writes_each_get_their_own_result,
    ends_and_claims_that_wait_together_each_get_their_own_result,
    refused_write_does_not_disturb_those_that_wait_with_it,
    p3_leases_match_the_model,
    p9_sixteen_concurrent_writers_stay_consistent,
];

/// Through PgBouncer, whose sessions are those of others too.
mod real_pooler {
    /// What the store promises, and what needs a transaction, a lock or a notification.
    const GATE: &[&str] = &[
        "task_fields_round_trip",
        "p14_concurrent_writers_leave_no_seq_gaps",
        "waiters_are_woken",
        "p2_task_without_heartbeats_is_reclaimed",
        "p3_superseded_attempt_changes_nothing",
        "p3_repeated_finish_is_idempotent",
        "p4_publish_intent_is_stored",
        "p6_same_key_from_a_hundred_clients_gives_one_task",
        "p30_one_worker_lands_on_a_branch_at_a_time",
        "p8_clock_jump_loses_no_live_work",
        "p9_two_connections_see_the_same_data",
        "each_task_is_claimed_once",
        "task_that_is_added_alone_is_returned_as_it_is_read",
        "ends_and_claims_that_wait_together_each_get_their_own_result",
        "refused_write_does_not_disturb_those_that_wait_with_it",
    ];

    #[test]
    fn p3_p9_promises_hold_through_a_pooler() {
        super::through_pooler(GATE);
    }

    #[test]
    #[ignore = "full: the whole suite takes a minute"]
    fn p9_every_case_holds_through_a_pooler() {
        super::through_pooler(super::NAMES);
    }
}

#[test]
fn every_case_has_a_test() {
    let all: Vec<&str> = conformance::names().collect();
    assert_eq!(NAMES, all);
}
