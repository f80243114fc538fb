//! Leases when the wall clock jumps, and between machines with different clocks.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::Usage;
use windlass_tasks::{LeaseStatus, TaskStatus, TaskStore};

use super::promises::assert_superseded;
use super::{CaseResult, LEASE, StoreUnderTest, added, claimed, completed, finish, same};

const HOUR: Duration = Duration::from_secs(60 * 60);
const TEN_YEARS: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// How often workers reclaim.
const SWEEP: Duration = Duration::from_secs(5);

/// A jump of the database's clock.
#[derive(Debug, Clone, Copy)]
enum Jump {
    Forward(Duration),
    Back(Duration),
}

const JUMPS: [Jump; 4] = [
    Jump::Forward(HOUR),
    Jump::Back(HOUR),
    Jump::Forward(TEN_YEARS),
    Jump::Back(TEN_YEARS),
];

fn jump(on: &StoreUnderTest, jump: Jump) {
    match jump {
        Jump::Forward(by) => on.clocks.database.advance(by),
        Jump::Back(by) => on.clocks.database.rewind(by),
    }
}

fn connections(on: &StoreUnderTest) -> [(&'static str, &Arc<dyn TaskStore>); 3] {
    [
        ("store", &on.store),
        ("other", &on.other),
        ("elsewhere", &on.elsewhere),
    ]
}

/// Fails if any connection reclaims a task.
async fn nothing_is_reclaimed(on: &StoreUnderTest, when: &str) -> CaseResult {
    for (name, store) in connections(on) {
        let reclaimed = store.reclaim_expired().await?;
        same!(reclaimed, vec![], "{name} {when}");
    }
    Ok(())
}

pub(super) async fn p2_task_of_another_machine_is_reclaimed_after_one_lease(
    on: StoreUnderTest,
) -> CaseResult {
    let task = added(&on.store).await?.id;
    same!(on.elsewhere.reclaim_expired().await?, vec![]);
    on.pass(SWEEP);
    let first = claimed(&on.store).await?;
    // The times of the two clocks are a year apart. What counts is that the lease does not change.
    let mut passed = Duration::ZERO;
    while passed < LEASE {
        same!(on.elsewhere.reclaim_expired().await?, vec![], "{passed:?}");
        on.pass(SWEEP);
        passed += SWEEP;
    }
    on.pass(SWEEP);
    let reclaimed = on.elsewhere.reclaim_expired().await?;
    same!(
        reclaimed.iter().map(|task| task.id).collect::<Vec<_>>(),
        [task]
    );
    assert_superseded(on.store.heartbeat(first.attempt, LEASE).await)?;

    // A worker that renews keeps its task, and an ended attempt is not confused with the next one.
    let second = claimed(&on.store).await?;
    for _ in 0..10 {
        on.pass(LEASE / 3);
        on.store.heartbeat(second.attempt, LEASE).await?;
        same!(on.elsewhere.reclaim_expired().await?, vec![]);
    }
    finish(&on.store, &second, super::failed(true)).await?;
    on.pass(LEASE);
    claimed(&on.store).await?;
    on.pass(LEASE / 2);
    same!(on.elsewhere.reclaim_expired().await?, vec![]);
    Ok(())
}

pub(super) async fn p8_clock_jump_loses_no_live_work(on: StoreUnderTest) -> CaseResult {
    for direction in JUMPS {
        let task = added(&on.store).await?.id;
        let one = claimed(&on.store).await?;
        nothing_is_reclaimed(&on, "before the jump").await?;
        on.pass(LEASE / 2);
        jump(&on, direction);
        nothing_is_reclaimed(&on, "after the jump").await?;
        on.pass(LEASE / 3);
        nothing_is_reclaimed(&on, "before the next heartbeat").await?;
        let renewed = on.store.heartbeat(one.attempt, LEASE).await?;
        same!(renewed, LeaseStatus::Held, "{direction:?}");
        on.pass(LEASE / 2);
        nothing_is_reclaimed(&on, "after the heartbeat").await?;
        let done = finish(&on.store, &one, completed()).await?;
        same!(
            (done.id, done.status, done.attempt),
            (task, TaskStatus::Completed, 1),
            "{direction:?}"
        );
    }
    // Events are ordered by sequence number, not by time.
    super::events::read_all_after(&on.store, 0, 0).await?;
    Ok(())
}

pub(super) async fn p8_clock_jump_does_not_delay_takeover(on: StoreUnderTest) -> CaseResult {
    for direction in JUMPS {
        let task = added(&on.store).await?.id;
        for (name, store) in connections(&on) {
            let lost = claimed(&on.store).await?;
            nothing_is_reclaimed(&on, "right after the claim").await?;
            jump(&on, direction);
            nothing_is_reclaimed(&on, "after the jump").await?;
            on.pass(LEASE + SWEEP);
            let reclaimed = store.reclaim_expired().await?;
            same!(reclaimed.len(), 1, "{name} {direction:?}");
            assert_superseded(
                on.store
                    .finish(lost.attempt, completed(), Usage::default())
                    .await,
            )?;
            on.store.retry(task, false).await.ok();
        }
        let last = claimed(&on.store).await?;
        finish(&on.store, &last, completed()).await?;
    }
    Ok(())
}
