//! Compares leases with a reference model, for random sequences of operations.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use windlass_core::Usage;
use windlass_tasks::{
    AttemptRef, Claim, LeaseStatus, NewTask, Outcome, Release, StoreError, TaskId, TaskStatus,
};

use super::{CaseResult, StoreUnderTest, any, fail_case, project};

/// Far longer than a case takes, so that leases expire only by clock jumps.
const LEASE: Duration = Duration::from_secs(1_500);
const STEP: Duration = Duration::from_secs(1_000);
const SEEDS: u64 = 8;
const STEPS: usize = 60;
const TASKS: usize = 2;
const ATTEMPTS: u32 = 3;

/// A random number generator that gives the same numbers on every machine.
struct Rng(u64);

impl Rng {
    fn next_u64(&mut self, below: u64) -> u64 {
        // SplitMix64: short, and good enough to choose operations.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % below
    }
}

/// An operation on the store.
#[derive(Debug, Clone, Copy)]
enum Op {
    Claim,
    Heartbeat(AttemptRef),
    Complete(AttemptRef),
    Fail(AttemptRef),
    Block(AttemptRef),
    ConfirmCancel(AttemptRef),
    Release(AttemptRef),
    RecordIntent(AttemptRef),
    Cancel(TaskId),
    Retry(TaskId),
    AdvanceClock,
    Reclaim,
}

/// Result of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OpResult {
    Claimed(Option<AttemptRef>),
    Lease(LeaseStatus),
    Status(TaskStatus),
    Reclaimed(Vec<TaskId>),
    Superseded,
    Refused,
    Done,
}

impl fmt::Display for OpResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A task in the model.
#[derive(Debug, Clone, Default)]
struct ModelTask {
    status: TaskStatus,
    attempt: u32,
    tries: u32,
    until: Duration,
    cancel: bool,
    /// The outcome that the last attempt reported.
    reported: Option<&'static str>,
}

#[derive(Debug, Default)]
struct ReferenceModel {
    tasks: BTreeMap<TaskId, ModelTask>,
    now: Duration,
}

impl ReferenceModel {
    fn held(&mut self, attempt: AttemptRef) -> Option<&mut ModelTask> {
        let task = self.tasks.get_mut(&attempt.task)?;
        (task.status == TaskStatus::InProgress && task.attempt == attempt.number).then_some(task)
    }

    fn expect(&mut self, op: Op) -> OpResult {
        match op {
            Op::Claim => self.claim(),
            Op::Heartbeat(attempt) => {
                let until = self.now + LEASE;
                match self.held(attempt) {
                    None => OpResult::Superseded,
                    Some(task) => {
                        task.until = until;
                        OpResult::Lease(if task.cancel {
                            LeaseStatus::CancelRequested
                        } else {
                            LeaseStatus::Held
                        })
                    }
                }
            }
            Op::Complete(attempt) => self.end(attempt, "completed", |_| TaskStatus::Completed),
            Op::Block(attempt) => self.end(attempt, "blocked", |_| TaskStatus::Blocked),
            Op::ConfirmCancel(attempt) => self.end(attempt, "cancelled", |_| TaskStatus::Cancelled),
            Op::Fail(attempt) => self.end(attempt, "failed", |task| {
                if task.tries < ATTEMPTS {
                    TaskStatus::Pending
                } else {
                    TaskStatus::Failed
                }
            }),
            Op::Release(attempt) => match self.held(attempt) {
                None => OpResult::Superseded,
                Some(task) => {
                    task.status = if task.cancel {
                        TaskStatus::Cancelled
                    } else {
                        TaskStatus::Pending
                    };
                    task.tries -= 1;
                    OpResult::Done
                }
            },
            Op::RecordIntent(attempt) => match self.held(attempt) {
                None => OpResult::Superseded,
                Some(_) => OpResult::Done,
            },
            Op::Cancel(id) => self.cancel(id),
            Op::Retry(id) => self.retry(id),
            Op::AdvanceClock => {
                self.now += STEP;
                OpResult::Done
            }
            Op::Reclaim => self.reclaim(),
        }
    }

    fn claim(&mut self) -> OpResult {
        let now = self.now;
        let next = self
            .tasks
            .iter_mut()
            .find(|(_, task)| task.status == TaskStatus::Pending);
        OpResult::Claimed(next.map(|(id, task)| {
            task.status = TaskStatus::InProgress;
            task.attempt += 1;
            task.tries += 1;
            task.until = now + LEASE;
            task.cancel = false;
            task.reported = None;
            AttemptRef {
                task: *id,
                number: task.attempt,
            }
        }))
    }

    fn end(
        &mut self,
        attempt: AttemptRef,
        reported: &'static str,
        status: fn(&ModelTask) -> TaskStatus,
    ) -> OpResult {
        match self.held(attempt) {
            Some(task) => {
                task.reported = Some(reported);
                task.status = match status(task) {
                    TaskStatus::Completed => TaskStatus::Completed,
                    _ if task.cancel => TaskStatus::Cancelled,
                    other => other,
                };
                OpResult::Status(task.status)
            }
            None => match self.tasks.get(&attempt.task) {
                Some(task) if task.attempt == attempt.number && task.reported == Some(reported) => {
                    OpResult::Status(task.status)
                }
                _ => OpResult::Superseded,
            },
        }
    }

    fn cancel(&mut self, id: TaskId) -> OpResult {
        let Some(task) = self.tasks.get_mut(&id) else {
            return OpResult::Refused;
        };
        match task.status {
            TaskStatus::InProgress => task.cancel = true,
            TaskStatus::Completed | TaskStatus::Failed => return OpResult::Refused,
            _ => task.status = TaskStatus::Cancelled,
        }
        OpResult::Status(task.status)
    }

    fn retry(&mut self, id: TaskId) -> OpResult {
        match self.tasks.get_mut(&id) {
            Some(task) if task.status.is_final() || task.status == TaskStatus::Blocked => {
                task.status = TaskStatus::Pending;
                task.tries = 0;
                OpResult::Status(TaskStatus::Pending)
            }
            _ => OpResult::Refused,
        }
    }

    fn reclaim(&mut self) -> OpResult {
        let now = self.now;
        let mut reclaimed = Vec::new();
        for (id, task) in &mut self.tasks {
            if task.status == TaskStatus::InProgress && task.until < now {
                task.status = if task.cancel {
                    TaskStatus::Cancelled
                } else if task.tries < ATTEMPTS {
                    TaskStatus::Pending
                } else {
                    TaskStatus::Failed
                };
                reclaimed.push(*id);
            }
        }
        OpResult::Reclaimed(reclaimed)
    }
}

async fn execute(on: &StoreUnderTest, op: Op) -> Result<OpResult, StoreError> {
    let store = &on.store;
    let end = async |attempt, outcome| {
        let task = store.finish(attempt, outcome, Usage::default()).await?;
        Ok(OpResult::Status(task.status))
    };
    match op {
        Op::Claim => {
            let claim = Claim {
                lease: LEASE,
                ..any("w")
            };
            Ok(OpResult::Claimed(
                store.claim(claim).await?.map(|got| got.attempt),
            ))
        }
        Op::Heartbeat(attempt) => Ok(OpResult::Lease(store.heartbeat(attempt, LEASE).await?)),
        Op::Complete(attempt) => end(attempt, super::completed()).await,
        Op::Fail(attempt) => end(attempt, super::failed(true)).await,
        Op::Block(attempt) => {
            end(
                attempt,
                Outcome::Blocked {
                    question: "?".to_owned(),
                },
            )
            .await
        }
        Op::ConfirmCancel(attempt) => end(attempt, Outcome::Cancelled).await,
        Op::Release(attempt) => {
            let release = Release {
                reason: "later".to_owned(),
                usage: Usage::default(),
            };
            store.release(attempt, release).await?;
            Ok(OpResult::Done)
        }
        Op::RecordIntent(attempt) => {
            store.record_intent(attempt, "c".repeat(40)).await?;
            Ok(OpResult::Done)
        }
        Op::Cancel(task) => Ok(OpResult::Status(store.cancel(task).await?.status)),
        Op::Retry(task) => Ok(OpResult::Status(store.retry(task, false).await?.status)),
        Op::AdvanceClock => {
            on.pass(STEP);
            Ok(OpResult::Done)
        }
        Op::Reclaim => {
            let reclaimed = store.reclaim_expired().await?;
            Ok(OpResult::Reclaimed(
                reclaimed.iter().map(|task| task.id).collect(),
            ))
        }
    }
}

/// Picks an operation. The attempt is any earlier one, so most operations are stale.
fn pick(rng: &mut Rng, tasks: &[TaskId], attempts: &[AttemptRef]) -> Op {
    let task = tasks[rng.next_u64(TASKS as u64) as usize];
    let Some(newest) = attempts.len().checked_sub(1) else {
        return Op::Claim;
    };
    // Newer attempts are picked more often; otherwise hardly any operation would succeed.
    let back = rng.next_u64(3).min(rng.next_u64(4)) as usize;
    let attempt = attempts[newest.saturating_sub(back)];
    match rng.next_u64(16) {
        0..=3 => Op::Claim,
        4 | 5 => Op::Heartbeat(attempt),
        6 => Op::Complete(attempt),
        7 => Op::Fail(attempt),
        8 => Op::Block(attempt),
        9 => Op::ConfirmCancel(attempt),
        10 => Op::Release(attempt),
        11 => Op::RecordIntent(attempt),
        12 => Op::Cancel(task),
        13 => Op::Retry(task),
        14 => Op::AdvanceClock,
        _ => Op::Reclaim,
    }
}

pub(super) async fn p3_leases_match_the_model(on: StoreUnderTest) -> CaseResult {
    let project = project(&on.store).await?.id;
    for seed in 0..SEEDS {
        // Each seed has its own tasks; the tasks of the previous seed have ended.
        let new = NewTask {
            max_attempts: ATTEMPTS,
            ..NewTask::new(project, format!("{seed}"))
        };
        let added = on.store.enqueue(vec![new; TASKS]).await?;
        let tasks: Vec<TaskId> = added.iter().map(|added| added.task.id).collect();
        run_ops(&on, seed, &tasks).await?;
        on.pass(STEP * 2);
        on.store.reclaim_expired().await?;
        for task in tasks {
            let ended = on.store.task(task).await?.status.is_final();
            if !ended {
                on.store.cancel(task).await?;
            }
        }
    }
    Ok(())
}

async fn run_ops(on: &StoreUnderTest, seed: u64, tasks: &[TaskId]) -> CaseResult {
    let mut rng = Rng(seed);
    let mut model = ReferenceModel::default();
    model
        .tasks
        .extend(tasks.iter().map(|id| (*id, ModelTask::default())));
    let mut attempts: Vec<AttemptRef> = Vec::new();
    let mut done = Vec::new();
    for _ in 0..STEPS {
        let op = pick(&mut rng, tasks, &attempts);
        let wanted = model.expect(op);
        let result = match execute(on, op).await {
            Ok(result) => result,
            Err(StoreError::Superseded { .. }) => OpResult::Superseded,
            Err(StoreError::Refused(_)) => OpResult::Refused,
            Err(error) => return Err(error.into()),
        };
        if let OpResult::Claimed(Some(attempt)) = &result {
            attempts.push(*attempt);
        }
        done.push(format!("{op:?} → {result}"));
        if result != wanted {
            return fail_case(format!(
                "seed {seed}: {wanted} was expected:\n{}",
                done.join("\n")
            ));
        }
    }
    Ok(())
}
