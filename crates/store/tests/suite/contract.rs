//! The suite on both databases, one test for each case.

use std::time::Duration;

use windlass_store::conformance::{self, StoreUnderTest};
use windlass_store::{StoreSettings, open_with};

use super::cluster::Cluster;

/// Nothing is to fail here because the machine is busy.
const PATIENCE: Duration = Duration::from_secs(60);

async fn subject(url: &str) -> windlass_core::task::StoreResult<StoreUnderTest> {
    let mut settings = StoreSettings::default();
    settings.query_timeout = PATIENCE;
    settings.commit_timeout = PATIENCE;
    settings.open_timeout = PATIENCE;
    let leap = settings.leap.clone();
    let long = std::env::var_os("WINDLASS_FULL").is_some();
    Ok(StoreUnderTest {
        store: open_with(url, settings.clone()).await?,
        other: open_with(url, settings).await?,
        leap,
        spend: Duration::from_secs(if long { 60 } else { 2 }),
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
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/windlass.db", folder.path().display());
    let report = run(conformance::exercise_only(&[case], async |_: &str| {
        subject(&url).await
    }));
    assert!(report.passed(), "{report}");
}

fn on_postgres(case: &str) {
    let cluster = Cluster::shared();
    let make = async |_: &str| subject(&cluster.url(&cluster.database().await)).await;
    let report = run(conformance::exercise_only(&[case], make));
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
    a_task_comes_back_as_it_went,
    what_does_not_fit_is_refused,
    what_is_not_there_is_said_so,
    tasks_are_taken_in_order,
    a_claim_may_be_choosy,
    attempts_are_counted_and_then_it_failed,
    p7_what_is_given_back_uses_up_no_attempt,
    completed_has_a_time_and_a_proof,
    usage_adds_up,
    a_task_waits_for_what_it_needs,
    a_circle_is_refused,
    a_failed_task_blocks_its_dependants_until_it_is_put_back,
    two_that_end_at_once_set_their_dependant_free,
    a_cancel_is_a_wish_while_somebody_works,
    a_question_is_answered_once,
    a_permission_is_decided_once,
    attempts_are_remembered,
    traces_are_kept,
    p14_messages_are_read_from_any_number_on,
    p14_a_batch_that_is_said_twice_is_one,
    p14_numbers_have_no_gap_under_many_writers,
    every_change_of_status_is_told,
    who_waits_is_woken,
    p1_what_was_accepted_is_there,
    p2_a_silent_worker_loses_its_task,
    p3_a_late_attempt_changes_nothing,
    p3_an_end_that_is_said_twice_is_one,
    p4_what_was_to_be_published_is_remembered,
    p6_same_key_one_task_under_a_hundred_clients,
    p8_a_clock_that_leaps_loses_and_doubles_nothing,
    p9_two_doors_show_the_same,
    nobody_gets_the_same_task_twice,
    p3_leases_are_as_in_the_model,
    p9_sixteen_writers_at_once,
];

#[test]
fn every_case_has_its_tests() {
    let all: Vec<&str> = conformance::names().collect();
    assert_eq!(NAMES, all);
}
