//! Stacking, reviews, candidates and landing together: many simulated runs of several workers, each from one seed.
//!
//! The tasks build on each other, conflict, have candidates, and land. Agents fail, workers crash and pause between any
//! two polls, replies are lost. A person answers questions, requests changes, lets tasks be done again, and commits
//! to the branch. The branch never moves to a list of changes that was not tested green, and nothing lands before what
//! it builds on.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use windlass_core::{Clock, Result};
use windlass_runner::{AgentPoolManager, Lander, LandingSettings, RunnerSettings, Worker};
use windlass_tasks::{
    AuthorKind, Baseline, BestOf, Check, CheckRequest, Dependency, NewReview, NewTask, ProjectId,
    ReviewDecision, Reviews, Task, TaskId, TaskStatus, TestPlan, Verifier, WorkingCopy,
};

use super::agent::Action;
use super::branch::{Branch, LANDING_ROOT, PairTests, SimSite};
use super::check;
use super::faults::Rates;
use super::harness::Harness;
use super::interruption::{Interrupted, Interruption};
use super::landing::run_paused;
use super::memory::Memory;
use super::repo::{GOOD, SimTests};

/// Number of simulated runs in the suite.
const SEEDS: u64 = 1000;
const FAULTS_END: Duration = Duration::from_secs(900);
const END: Duration = Duration::from_secs(6 * 3600);

#[test]
fn p30_p31_goal_seeds_first_half() {
    (0..SEEDS / 2).for_each(|seed| run_paused("goal", seed, full_run));
}

#[test]
fn p30_p31_goal_seeds_second_half() {
    (SEEDS / 2..SEEDS).for_each(|seed| run_paused("goal", seed, full_run));
}

/// Tests changes on their own, and merged ones together.
#[derive(Debug)]
struct GoalTests {
    alone: SimTests,
    together: PairTests,
}

impl GoalTests {
    fn of(&self, copy: &dyn WorkingCopy) -> &dyn Verifier {
        if copy.root() == Path::new(LANDING_ROOT) {
            &self.together
        } else {
            &self.alone
        }
    }
}

impl Verifier for GoalTests {
    fn plan<'a>(&'a self, root: &'a Path) -> BoxFuture<'a, Result<TestPlan>> {
        self.alone.plan(root)
    }

    fn baseline<'a>(
        &'a self,
        copy: &'a dyn WorkingCopy,
        command: &'a [String],
    ) -> BoxFuture<'a, Result<Baseline>> {
        self.of(copy).baseline(copy, command)
    }

    fn check<'a>(
        &'a self,
        copy: &'a dyn WorkingCopy,
        request: CheckRequest<'a>,
    ) -> BoxFuture<'a, Result<Check>> {
        self.of(copy).check(copy, request)
    }
}

/// Adds the tasks of a goal. Returns pairs of first versions that are green alone and red together.
fn add_tasks(harness: &Harness, rng: &mut fastrand::Rng) -> BTreeSet<(String, String)> {
    let mut bad = BTreeSet::new();
    let count = rng.i64(2..6);
    for id in 1..=count {
        let mut new = NewTask::new(ProjectId::from(1), format!("task {id}"));
        new.land = true;
        new.max_attempts = 100;
        for on in 1..id {
            if rng.u32(0..3) == 0 {
                new.dependencies.push(Dependency::Task(TaskId::from(on)));
            }
            if rng.u32(0..6) == 0 {
                harness
                    .repo
                    .add_conflict(TaskId::from(on), TaskId::from(id));
            }
        }
        if id > 1 && rng.u32(0..3) == 0 {
            let other = rng.i64(1..id);
            let first = |id: i64| format!("task {id} attempt 1");
            bad.insert((first(other), first(id)));
        }
        // Only the last one has candidates: their numbers follow its own.
        if id == count && rng.u32(0..3) == 0 {
            new.best_of = Some(BestOf {
                agents: vec![None, None],
                first: rng.bool(),
                ..BestOf::default()
            });
        }
        harness.add(new);
    }
    bad
}

fn harness(rng: &mut fastrand::Rng) -> Harness {
    let rates = Rates {
        rejected: rng.u32(0..60),
        lost: rng.u32(0..60),
        slow: rng.u32(0..30),
        unavailable: false,
    };
    let agent_rng = Mutex::new(rng.fork());
    let success_percent = rng.u32(40..95);
    let script = Arc::new(move |_: usize| {
        let mut rng = agent_rng.lock().unwrap();
        if rng.u32(0..100) < success_percent {
            return Action::Write(GOOD);
        }
        match rng.u32(0..6) {
            0..3 => Action::Write("bad"),
            3 => Action::Fail { recoverable: true },
            4 => Action::Hang,
            _ => Action::LoseSession,
        }
    });
    Harness::new(rng.u64(..), rates, script, true)
}

async fn full_run(seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let harness = Arc::new(harness(&mut rng));
    let bad = add_tasks(&harness, &mut rng);
    let branch = Branch::new(&harness, bad, Some(Arc::clone(&harness.repo)));
    let stop = CancellationToken::new();
    let workers: Vec<_> = (0..rng.u32(1..4))
        .map(|_| {
            let (harness, branch) = (Arc::clone(&harness), Arc::clone(&branch));
            tokio::spawn(work(harness, branch, rng.fork(), stop.clone()))
        })
        .collect();
    while !is_done(&harness) || harness.clock.elapsed() < FAULTS_END {
        if harness.clock.elapsed() > FAULTS_END {
            harness.faults.set(|rates| *rates = Rates::default());
            check::answer_one(&harness, &mut rng);
            retry_failed(&harness);
        } else {
            disturb(&harness, &branch, &mut rng).await;
        }
        let landings = harness.store.memory().landings.clone();
        assert!(
            harness.clock.elapsed() < END,
            "some changes never land: {:#?} {landings:#?}",
            check::statuses(&harness)
        );
        harness.clock.sleep(Duration::from_secs(20)).await;
    }
    stop.cancel();
    for worker in workers {
        let ended = tokio::time::timeout(Duration::from_secs(600), worker).await;
        ended
            .expect("a worker does not stop")
            .expect("a worker panicked");
    }
    check_landed(&harness, &branch);
}

/// What a person does meanwhile.
async fn disturb(harness: &Harness, branch: &Branch, rng: &mut fastrand::Rng) {
    let unlanded = |memory: &Memory| -> Vec<Task> {
        let tasks = memory.rows.values().map(|row| row.task.clone());
        let is_open = |task: &Task| {
            task.status == TaskStatus::Completed
                && task.landed.is_none()
                && task.candidate_of.is_none()
        };
        tasks.filter(is_open).collect()
    };
    match rng.u32(0..12) {
        0 => branch.commit_by_hand(),
        1..4 => check::answer_one(harness, rng),
        4 => {
            let open = unlanded(&harness.store.memory());
            let Some(task) = rng.choice(&open) else {
                return;
            };
            let review = NewReview {
                task_id: task.id,
                attempt: task.attempt,
                decision: ReviewDecision::RequestChanges,
                author: "Ada".to_owned(),
                author_kind: AuthorKind::Person,
                text: "Again.".to_owned(),
                comments: Vec::new(),
            };
            // The store may be busy, or the task is not completed any more.
            let _ = harness.store.add_review(review).await;
        }
        5 => {
            let now = harness.store.now();
            let mut memory = harness.store.memory();
            let open = unlanded(&memory);
            if let Some(task) = rng.choice(&open) {
                memory.reopen(task.id, now).unwrap();
            }
        }
        _ => {}
    }
}

/// Lets every task be done again that failed, or that waits for one that failed.
fn retry_failed(harness: &Harness) {
    let now = harness.store.now();
    let mut memory = harness.store.memory();
    let is_open = |task: &Task| {
        let parent = task.candidate_of.map(|id| memory.rows[&id].task.status);
        parent != Some(TaskStatus::Completed)
    };
    let asks = |task: &Task| {
        let mut blockers = memory.blockers.iter();
        blockers.any(|one| one.task_id == task.id && one.answer.is_none())
    };
    let tasks = memory.rows.values().map(|row| &row.task);
    let stuck: Vec<Task> = tasks
        .filter(|task| match task.status {
            TaskStatus::Failed | TaskStatus::Cancelled => is_open(task),
            TaskStatus::Blocked => !asks(task),
            _ => false,
        })
        .cloned()
        .collect();
    for task in stuck {
        memory.reopen(task.id, now).unwrap();
    }
}

/// Works and lands until it is stopped; it is restarted whenever it has crashed.
async fn work(
    harness: Arc<Harness>,
    branch: Arc<Branch>,
    mut rng: fastrand::Rng,
    stop: CancellationToken,
) {
    while !stop.is_cancelled() {
        let mut runner = harness.runner(RunnerSettings::default());
        runner.verifier = Arc::new(GoalTests {
            alone: SimTests(Arc::clone(&harness.repo)),
            together: PairTests(Arc::clone(&branch)),
        });
        let runner = Arc::new(runner);
        let lander = Lander {
            runner: Arc::clone(&runner),
            site: Arc::new(SimSite(Arc::clone(&branch))),
            settings: LandingSettings {
                batch: rng.u32(1..4),
                max_returns: 100,
                ..LandingSettings::default()
            },
            project: None,
        };
        let worker = Worker {
            pool: AgentPoolManager::new(rng.usize(1..4)),
            lander: Some(lander),
            ..Worker::new(runner)
        };
        let mut interruption = Interruption::default();
        if harness.clock.elapsed() < FAULTS_END {
            if rng.u32(0..2) == 0 {
                interruption.crash = Some(rng.u32(1..600));
            }
            if rng.u32(0..3) == 0 {
                let pause = Duration::from_micros(rng.u64(1..90_000_000));
                interruption.pause = Some((rng.u32(1..300), pause));
            }
        }
        let ends = stop.clone();
        let work = Box::pin(async move { worker.run(ends).await });
        Interrupted::new(work, interruption).await;
        let restart = Duration::from_micros(rng.u64(1..30_000_000));
        harness.clock.sleep(restart).await;
    }
}

/// Returns `true` if everything has landed that can.
fn is_done(harness: &Harness) -> bool {
    let memory = harness.store.memory();
    let mut tasks = memory.rows.values().map(|row| &row.task);
    tasks.all(|task| match task.status {
        TaskStatus::Completed => task.landed.is_some() || task.candidate_of.is_some(),
        status => task.candidate_of.is_some() && status.is_final(),
    })
}

/// Every task has landed, once, after what it depends on.
fn check_landed(harness: &Harness, branch: &Branch) {
    let memory = harness.store.memory();
    let last = branch.changes(&branch.head());
    let at = |commit: &String| last.iter().position(|change| change == commit);
    for row in memory.rows.values() {
        let task = &row.task;
        if task.candidate_of.is_some() {
            assert_eq!(task.landed, None, "candidate {} landed", task.id);
            continue;
        }
        let proof = row.proof.as_ref().expect("landed without a proof");
        assert!(
            at(&proof.commit).is_some(),
            "task {} is recorded as landed, but {} is not on the branch",
            task.id,
            proof.commit
        );
        for part in &proof.base_parts {
            assert!(
                at(&part.commit) < at(&proof.commit),
                "task {} landed before task {}",
                task.id,
                part.task
            );
            assert!(at(&part.commit).is_some(), "{} is missing", part.commit);
        }
    }
}
