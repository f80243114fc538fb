//! Leases against a model: whatever is done in whatever order, the store is where the model says.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use windlass_core::Usage;
use windlass_core::task::{
    AttemptRef, Claim, Lease, NewTask, Outcome, Release, StoreError, TaskId, TaskStatus,
};

use super::{Subject, Verdict, any, fault, project};

/// Far longer than a case takes, so that only leaps make a lease run out.
const TERM: Duration = Duration::from_secs(1_500);
const STEP: Duration = Duration::from_secs(1_000);
const SEEDS: u64 = 8;
const STEPS: usize = 60;
const TASKS: usize = 2;
const ATTEMPTS: u32 = 3;

/// A number from a seed, the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        // SplitMix64: short, and good enough to mix deeds.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % sides
    }
}

/// What is done.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Claim,
    Heartbeat(AttemptRef),
    Complete(AttemptRef),
    Fail(AttemptRef),
    Ask(AttemptRef),
    Stop(AttemptRef),
    Release(AttemptRef),
    Intend(AttemptRef),
    Cancel(TaskId),
    Retry(TaskId),
    Ahead,
    Sweep,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Came {
    Got(Option<AttemptRef>),
    Lease(Lease),
    Status(TaskStatus),
    Swept(Vec<TaskId>),
    Superseded,
    Refused,
    Done,
}

impl fmt::Display for Came {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A task as the model knows it.
#[derive(Debug, Clone, Default)]
struct Known {
    status: TaskStatus,
    attempt: u32,
    tries: u32,
    until: Duration,
    cancel: bool,
    /// How the last attempt ended by its own word.
    word: Option<&'static str>,
}

#[derive(Debug, Default)]
struct Model {
    tasks: BTreeMap<TaskId, Known>,
    now: Duration,
}

impl Model {
    fn held(&mut self, attempt: AttemptRef) -> Option<&mut Known> {
        let task = self.tasks.get_mut(&attempt.task)?;
        (task.status == TaskStatus::InProgress && task.attempt == attempt.number).then_some(task)
    }

    fn expect(&mut self, deed: Deed) -> Came {
        match deed {
            Deed::Claim => self.claim(),
            Deed::Heartbeat(attempt) => {
                let until = self.now + TERM;
                match self.held(attempt) {
                    None => Came::Superseded,
                    Some(task) => {
                        task.until = until;
                        Came::Lease(if task.cancel {
                            Lease::CancelRequested
                        } else {
                            Lease::Held
                        })
                    }
                }
            }
            Deed::Complete(attempt) => self.end(attempt, "completed", |_| TaskStatus::Completed),
            Deed::Ask(attempt) => self.end(attempt, "blocked", |_| TaskStatus::Blocked),
            Deed::Stop(attempt) => self.end(attempt, "cancelled", |_| TaskStatus::Cancelled),
            Deed::Fail(attempt) => self.end(attempt, "failed", |task| {
                if task.tries < ATTEMPTS {
                    TaskStatus::Pending
                } else {
                    TaskStatus::Failed
                }
            }),
            Deed::Release(attempt) => match self.held(attempt) {
                None => Came::Superseded,
                Some(task) => {
                    task.status = if task.cancel {
                        TaskStatus::Cancelled
                    } else {
                        TaskStatus::Pending
                    };
                    task.tries -= 1;
                    Came::Done
                }
            },
            Deed::Intend(attempt) => match self.held(attempt) {
                None => Came::Superseded,
                Some(_) => Came::Done,
            },
            Deed::Cancel(id) => self.cancel(id),
            Deed::Retry(id) => self.retry(id),
            Deed::Ahead => {
                self.now += STEP;
                Came::Done
            }
            Deed::Sweep => self.sweep(),
        }
    }

    fn claim(&mut self) -> Came {
        let now = self.now;
        let next = self
            .tasks
            .iter_mut()
            .find(|(_, task)| task.status == TaskStatus::Pending);
        Came::Got(next.map(|(id, task)| {
            task.status = TaskStatus::InProgress;
            task.attempt += 1;
            task.tries += 1;
            task.until = now + TERM;
            task.cancel = false;
            task.word = None;
            AttemptRef {
                task: *id,
                number: task.attempt,
            }
        }))
    }

    fn end(
        &mut self,
        attempt: AttemptRef,
        word: &'static str,
        status: fn(&Known) -> TaskStatus,
    ) -> Came {
        match self.held(attempt) {
            Some(task) => {
                task.word = Some(word);
                task.status = match status(task) {
                    TaskStatus::Completed => TaskStatus::Completed,
                    _ if task.cancel => TaskStatus::Cancelled,
                    other => other,
                };
                Came::Status(task.status)
            }
            None => match self.tasks.get(&attempt.task) {
                Some(task) if task.attempt == attempt.number && task.word == Some(word) => {
                    Came::Status(task.status)
                }
                _ => Came::Superseded,
            },
        }
    }

    fn cancel(&mut self, id: TaskId) -> Came {
        let Some(task) = self.tasks.get_mut(&id) else {
            return Came::Refused;
        };
        match task.status {
            TaskStatus::InProgress => task.cancel = true,
            TaskStatus::Completed | TaskStatus::Failed => return Came::Refused,
            _ => task.status = TaskStatus::Cancelled,
        }
        Came::Status(task.status)
    }

    fn retry(&mut self, id: TaskId) -> Came {
        match self.tasks.get_mut(&id) {
            Some(task) if task.status.is_final() || task.status == TaskStatus::Blocked => {
                task.status = TaskStatus::Pending;
                task.tries = 0;
                Came::Status(TaskStatus::Pending)
            }
            _ => Came::Refused,
        }
    }

    fn sweep(&mut self) -> Came {
        let now = self.now;
        let mut swept = Vec::new();
        for (id, task) in &mut self.tasks {
            if task.status == TaskStatus::InProgress && task.until < now {
                task.status = if task.cancel {
                    TaskStatus::Cancelled
                } else if task.tries < ATTEMPTS {
                    TaskStatus::Pending
                } else {
                    TaskStatus::Failed
                };
                swept.push(*id);
            }
        }
        Came::Swept(swept)
    }
}

async fn really(on: &Subject, deed: Deed) -> Result<Came, StoreError> {
    let store = &on.store;
    let end = async |attempt, outcome| {
        let task = store.finish(attempt, outcome, Usage::default()).await?;
        Ok(Came::Status(task.status))
    };
    match deed {
        Deed::Claim => {
            let claim = Claim {
                lease: TERM,
                ..any("w")
            };
            Ok(Came::Got(store.claim(claim).await?.map(|got| got.attempt)))
        }
        Deed::Heartbeat(attempt) => Ok(Came::Lease(store.heartbeat(attempt, TERM).await?)),
        Deed::Complete(attempt) => end(attempt, super::completed()).await,
        Deed::Fail(attempt) => end(attempt, super::failed(true)).await,
        Deed::Ask(attempt) => {
            end(
                attempt,
                Outcome::Blocked {
                    question: "?".to_owned(),
                },
            )
            .await
        }
        Deed::Stop(attempt) => end(attempt, Outcome::Cancelled).await,
        Deed::Release(attempt) => {
            let release = Release {
                reason: "later".to_owned(),
                usage: Usage::default(),
            };
            store.release(attempt, release).await?;
            Ok(Came::Done)
        }
        Deed::Intend(attempt) => {
            store.intend(attempt, "c".repeat(40)).await?;
            Ok(Came::Done)
        }
        Deed::Cancel(task) => Ok(Came::Status(store.cancel(task).await?.status)),
        Deed::Retry(task) => Ok(Came::Status(store.retry(task).await?.status)),
        Deed::Ahead => {
            on.leap.ahead(STEP);
            Ok(Came::Done)
        }
        Deed::Sweep => {
            let swept = store.sweep().await?;
            Ok(Came::Swept(swept.iter().map(|task| task.id).collect()))
        }
    }
}

/// Picks a deed. Attempts are any that ever were: most of them are late.
fn pick(dice: &mut Dice, tasks: &[TaskId], attempts: &[AttemptRef]) -> Deed {
    let task = tasks[dice.roll(TASKS as u64) as usize];
    let Some(newest) = attempts.len().checked_sub(1) else {
        return Deed::Claim;
    };
    // The newest ones more often, else hardly anything would ever succeed.
    let back = dice.roll(3).min(dice.roll(4)) as usize;
    let attempt = attempts[newest.saturating_sub(back)];
    match dice.roll(16) {
        0..=3 => Deed::Claim,
        4 | 5 => Deed::Heartbeat(attempt),
        6 => Deed::Complete(attempt),
        7 => Deed::Fail(attempt),
        8 => Deed::Ask(attempt),
        9 => Deed::Stop(attempt),
        10 => Deed::Release(attempt),
        11 => Deed::Intend(attempt),
        12 => Deed::Cancel(task),
        13 => Deed::Retry(task),
        14 => Deed::Ahead,
        _ => Deed::Sweep,
    }
}

pub(super) async fn p3_leases_are_as_in_the_model(on: Subject) -> Verdict {
    let project = project(&on.store).await?.id;
    for seed in 0..SEEDS {
        // Each seed has tasks of its own; those of the last are out of the way.
        let new = NewTask {
            max_attempts: ATTEMPTS,
            ..NewTask::new(project, format!("{seed}"))
        };
        let added = on.store.enqueue(vec![new; TASKS]).await?;
        let tasks: Vec<TaskId> = added.iter().map(|added| added.task.id).collect();
        follow(&on, seed, &tasks).await?;
        on.leap.ahead(STEP * 2);
        on.store.sweep().await?;
        for task in tasks {
            let ended = on.store.task(task).await?.status.is_final();
            if !ended {
                on.store.cancel(task).await?;
            }
        }
    }
    Ok(())
}

async fn follow(on: &Subject, seed: u64, tasks: &[TaskId]) -> Verdict {
    let mut dice = Dice(seed);
    let mut model = Model::default();
    model
        .tasks
        .extend(tasks.iter().map(|id| (*id, Known::default())));
    let mut attempts: Vec<AttemptRef> = Vec::new();
    let mut done = Vec::new();
    for _ in 0..STEPS {
        let deed = pick(&mut dice, tasks, &attempts);
        let wanted = model.expect(deed);
        let came = match really(on, deed).await {
            Ok(came) => came,
            Err(StoreError::Superseded { .. }) => Came::Superseded,
            Err(StoreError::Refused(_)) => Came::Refused,
            Err(error) => return Err(error.into()),
        };
        if let Came::Got(Some(attempt)) = &came {
            attempts.push(*attempt);
        }
        done.push(format!("{deed:?} → {came}"));
        if came != wanted {
            return fault(format!(
                "seed {seed}: {wanted} was expected:\n{}",
                done.join("\n")
            ));
        }
    }
    Ok(())
}
