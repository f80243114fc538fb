//! Landing with crashes: many simulated runs of several workers, each from one seed.
//!
//! A commit of the branch is a list of changes. Some pairs of first changes are red together. Workers crash and pause
//! between any two polls, the store loses replies, and a person moves the branch. The branch never moves to a list that
//! was not tested green, and no change lands twice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use windlass_core::{Clock, Error, ErrorCode, Result, Timestamp, Usage};
use windlass_runner::{Lander, LandingSettings, RunnerSettings};
use windlass_tasks::{
    AdvanceResult, AttemptRef, BasePart, BaseTests, Baseline, CaseResults, CaseStatus, Change,
    Check, CheckRequest, Claim, Commit, Dependency, FileChange, LandingCopy, LandingSite,
    MergeRequest, MergeResult, NewTask, Outcome, Project, Proof, StartPoint, TaskStatus,
    TestCounts, TestPlan, TestResult, TestRun, TestStatus, Verifier, WorkingCopy,
};

use super::agent::Action;
use super::faults::{Faults, Rates};
use super::harness::Harness;
use super::interruption::{Interrupted, Interruption};

/// Number of simulated runs in the suite.
const SEEDS: u64 = 1000;
const FAULTS_END: Duration = Duration::from_secs(600);
const END: Duration = Duration::from_secs(3 * 3600);
const BRANCH: &str = "main";

#[test]
fn p30_landing_seeds_first_half() {
    (0..SEEDS / 2).for_each(run_seed);
}

#[test]
fn p30_landing_seeds_second_half() {
    (SEEDS / 2..SEEDS).for_each(run_seed);
}

fn run_seed(seed: u64) {
    let result = std::panic::catch_unwind(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(full_run(seed));
    });
    if let Err(panic) = result {
        eprintln!("landing seed {seed} failed");
        std::panic::resume_unwind(panic);
    }
}

/// The branch, and everything that was tested.
#[derive(Debug)]
struct Branch {
    /// The changes of each commit.
    commits: Mutex<BTreeMap<String, Vec<String>>>,
    /// Every commit that the branch had, in order.
    history: Mutex<Vec<String>>,
    green: Mutex<BTreeSet<Vec<String>>>,
    /// Pairs of changes that are red together.
    bad: BTreeSet<(String, String)>,
    faults: Arc<Faults>,
    clock: Arc<dyn Clock>,
}

impl Branch {
    async fn call<T>(&self, apply: impl FnOnce() -> Result<T>) -> Result<T> {
        let error = || Error::agent(ErrorCode::BackendError, "git is busy");
        let outcome = self.faults.next_outcome();
        self.clock.sleep(outcome.before).await;
        if outcome.rejected {
            return Err(error());
        }
        let result = apply();
        self.clock.sleep(outcome.after).await;
        if outcome.lost { Err(error()) } else { result }
    }

    fn head(&self) -> String {
        self.history.lock().unwrap().last().unwrap().clone()
    }

    fn changes(&self, commit: &str) -> Vec<String> {
        self.commits.lock().unwrap()[commit].clone()
    }

    fn add_commit(&self, changes: Vec<String>) -> String {
        let mut commits = self.commits.lock().unwrap();
        let id = format!("c{}", commits.len());
        commits.insert(id.clone(), changes);
        id
    }

    fn is_green(&self, changes: &[String]) -> bool {
        let has = |name: &String| changes.contains(name);
        !self.bad.iter().any(|(one, two)| has(one) && has(two))
    }

    /// A person commits something of their own.
    fn commit_by_hand(&self) {
        let mut changes = self.changes(&self.head());
        changes.push(format!("by hand {}", self.commits.lock().unwrap().len()));
        self.green.lock().unwrap().insert(changes.clone());
        let id = self.add_commit(changes);
        self.history.lock().unwrap().push(id);
    }
}

#[derive(Debug)]
struct SimSite(Arc<Branch>);

#[derive(Debug)]
struct SimCopy {
    branch: Arc<Branch>,
    copy: BaseCopy,
    commit: Commit,
}

/// A working copy without files.
#[derive(Debug)]
struct BaseCopy {
    base: String,
    start: StartPoint,
}

impl LandingSite for SimSite {
    fn current_branch<'a>(&'a self, _: &'a Project) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(self.0.call(|| Ok(Some(BRANCH.to_owned()))))
    }

    fn contains<'a>(
        &'a self,
        _: &'a Project,
        _: &'a str,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(self.0.call(move || {
            let history = self.0.history.lock().unwrap();
            Ok(history.iter().any(|one| one == commit))
        }))
    }

    fn merge<'a>(
        &'a self,
        _: &'a Project,
        request: MergeRequest<'a>,
    ) -> BoxFuture<'a, Result<MergeResult>> {
        Box::pin(self.0.call(move || {
            let base = self.0.head();
            let mut changes = self.0.changes(&base);
            let before = changes.len();
            for change in request.commits {
                if !changes.contains(change) {
                    changes.push(change.clone());
                }
            }
            if changes.len() == before {
                return Ok(MergeResult::Contained);
            }
            let tree = changes.join(", ");
            let id = self.0.add_commit(changes);
            let start = StartPoint::Base;
            Ok(MergeResult::Ready(Box::new(SimCopy {
                branch: Arc::clone(&self.0),
                copy: BaseCopy { base, start },
                commit: Commit { id, tree },
            })))
        }))
    }
}

impl LandingCopy for SimCopy {
    fn working_copy(&self) -> &dyn WorkingCopy {
        &self.copy
    }

    fn commit(&self) -> &Commit {
        &self.commit
    }

    fn advance(&self) -> BoxFuture<'_, Result<AdvanceResult>> {
        Box::pin(self.branch.call(|| {
            if self.branch.head() != self.copy.base {
                return Ok(AdvanceResult::Stale);
            }
            let changes = self.branch.changes(&self.commit.id);
            let is_tested = self.branch.green.lock().unwrap().contains(&changes);
            assert!(
                is_tested,
                "the branch moves to {changes:?}, which was not tested green"
            );
            let distinct: BTreeSet<&String> = changes.iter().collect();
            assert_eq!(distinct.len(), changes.len(), "a change landed twice");
            self.branch
                .history
                .lock()
                .unwrap()
                .push(self.commit.id.clone());
            Ok(AdvanceResult::Moved)
        }))
    }
}

impl WorkingCopy for BaseCopy {
    fn root(&self) -> &Path {
        Path::new("/landing")
    }

    fn base(&self) -> &str {
        &self.base
    }

    fn base_parts(&self) -> &[BasePart] {
        &[]
    }

    fn start(&self) -> &StartPoint {
        &self.start
    }

    fn readable_dirs(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn apply(&self, _: Vec<FileChange>) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn change(&self) -> BoxFuture<'_, Result<Change>> {
        Box::pin(async { Ok(Change::default()) })
    }

    fn commit(&self, _: String) -> BoxFuture<'_, Result<Commit>> {
        Box::pin(async { Err(Error::InvalidInput("no files".to_owned())) })
    }

    fn change_of<'a>(&'a self, _: &'a Commit) -> BoxFuture<'a, Result<Change>> {
        Box::pin(async { Ok(Change::default()) })
    }

    fn publish<'a>(&'a self, _: &'a Commit, _: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn keep(&self, _: String) -> BoxFuture<'_, Result<Option<Commit>>> {
        Box::pin(async { Ok(None) })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

#[derive(Debug)]
struct PairTests(Arc<Branch>);

impl Verifier for PairTests {
    fn plan<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<TestPlan>> {
        Box::pin(async { Ok(TestPlan::Command(vec!["check".to_owned()])) })
    }

    fn baseline<'a>(
        &'a self,
        _: &'a dyn WorkingCopy,
        _: &'a [String],
    ) -> BoxFuture<'a, Result<Baseline>> {
        Box::pin(self.0.call(|| {
            Ok(Baseline {
                result: result(true),
                setup: Vec::new(),
                obstacle: None,
            })
        }))
    }

    fn check<'a>(
        &'a self,
        _: &'a dyn WorkingCopy,
        request: CheckRequest<'a>,
    ) -> BoxFuture<'a, Result<Check>> {
        Box::pin(async move {
            let duration = Duration::from_millis(u64::from(self.0.faults.below(20_000)));
            self.0.clock.sleep(duration).await;
            let check = self.0.call(|| {
                let changes = self.0.changes(&request.commit.id);
                let is_green = self.0.is_green(&changes);
                if is_green {
                    self.0.green.lock().unwrap().insert(changes);
                }
                Ok(is_green)
            });
            Ok(Check {
                own: TestRun {
                    result: result(check.await?),
                    flaky: Vec::new(),
                },
                base_tests: BaseTests::Same,
                warnings: Vec::new(),
            })
        })
    }
}

fn result(passes: bool) -> TestResult {
    let mut cases = CaseResults::default();
    let status = if passes {
        CaseStatus::Passed
    } else {
        CaseStatus::Failed
    };
    cases.insert("together", status);
    TestResult {
        command: vec!["check".to_owned()],
        status: if passes {
            TestStatus::Passed
        } else {
            TestStatus::Failed
        },
        exit_code: Some(i32::from(!passes)),
        counts: TestCounts {
            passed: u64::from(passes),
            failed: u64::from(!passes),
            errors: 0,
            total: 1,
        },
        cases: Some(cases),
        notes: Vec::new(),
        failures: Vec::new(),
        duration_ms: 1,
        output: String::new(),
        output_sha256: String::new(),
    }
}

fn change_name(attempt: AttemptRef) -> String {
    format!("task {} attempt {}", attempt.task, attempt.number)
}

/// Does what workers and agents do: completes every task that can be claimed, each with its own change.
fn complete_all(harness: &Harness) {
    let now = harness.store.now();
    let mut memory = harness.store.memory();
    let claim = Claim {
        worker: "agent".to_owned(),
        project_id: None,
        task: None,
        kinds: Vec::new(),
        lease: Duration::from_secs(1),
    };
    while let Some(claimed) = memory.claim(&claim, now) {
        let commit = change_name(claimed.attempt);
        let proof = Proof {
            base_parts: Vec::new(),
            base: "an old base".to_owned(),
            tree: commit.clone(),
            commit,
            command: vec!["check".to_owned()],
            exit_code: 0,
            counts: TestCounts::default(),
            log_sha256: String::new(),
            duration_ms: 1,
            setup: Vec::new(),
            cases: None,
            baseline: None,
            base_tests: None,
            lines: None,
            warnings: Vec::new(),
            at: Timestamp(1),
        };
        let outcome = Outcome::Completed {
            proof: Some(Box::new(proof)),
            branch: None,
            output: String::new(),
        };
        memory
            .finish(claimed.attempt, outcome, &Usage::default(), now)
            .unwrap();
    }
}

/// Adds tasks that land. Returns pairs of changes that are green alone and red together.
fn add_landing_tasks(harness: &Harness, rng: &mut fastrand::Rng) -> BTreeSet<(String, String)> {
    let count = rng.i64(2..7);
    let mut bad = BTreeSet::new();
    for id in 1..=count {
        let mut new = NewTask::new(1, format!("task {id}"));
        new.land = true;
        new.max_attempts = 100;
        if id > 1 && rng.u32(0..4) == 0 {
            new.dependencies = vec![Dependency::Task(rng.i64(1..id))];
        }
        if id > 1 && rng.u32(0..3) == 0 {
            let other = rng.i64(1..id);
            bad.insert((
                format!("task {other} attempt 1"),
                format!("task {id} attempt 1"),
            ));
        }
        harness.add(new);
    }
    bad
}

async fn full_run(seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let rates = Rates {
        rejected: rng.u32(0..60),
        lost: rng.u32(0..60),
        slow: rng.u32(0..30),
        unavailable: false,
    };
    let script = Arc::new(|_: usize| Action::NoChange);
    let harness = Arc::new(Harness::new(rng.u64(..), rates, script, true));
    let bad = add_landing_tasks(&harness, &mut rng);
    let start = "start".to_owned();
    let branch = Arc::new(Branch {
        commits: Mutex::new(BTreeMap::from([(start.clone(), Vec::new())])),
        history: Mutex::new(vec![start]),
        green: Mutex::default(),
        bad,
        faults: Arc::clone(&harness.faults),
        clock: Arc::clone(&harness.clock) as Arc<dyn Clock>,
    });
    let stop = CancellationToken::new();
    let workers: Vec<_> = (0..rng.u32(1..4))
        .map(|_| {
            tokio::spawn(work(
                Arc::clone(&harness),
                Arc::clone(&branch),
                rng.fork(),
                stop.clone(),
            ))
        })
        .collect();
    loop {
        complete_all(&harness);
        let is_landed = {
            let memory = harness.store.memory();
            memory.rows.values().all(|row| row.task.landed.is_some())
        };
        if is_landed {
            break;
        }
        if harness.clock.elapsed() > FAULTS_END {
            harness.faults.set(|rates| *rates = Rates::default());
        } else if rng.u32(0..20) == 0 {
            branch.commit_by_hand();
        }
        let landings = harness.store.memory().landings.clone();
        assert!(
            harness.clock.elapsed() < END,
            "some changes never land: {landings:#?}"
        );
        harness.clock.sleep(Duration::from_secs(3)).await;
    }
    stop.cancel();
    for worker in workers {
        let ended = tokio::time::timeout(Duration::from_secs(600), worker).await;
        ended
            .expect("a worker does not stop")
            .expect("a worker panicked");
    }
    check(&harness, &branch);
}

/// Lands until it is stopped; it is restarted whenever it has crashed.
async fn work(
    harness: Arc<Harness>,
    branch: Arc<Branch>,
    mut rng: fastrand::Rng,
    stop: CancellationToken,
) {
    while !stop.is_cancelled() {
        let mut runner = harness.runner(RunnerSettings::default());
        runner.verifier = Arc::new(PairTests(Arc::clone(&branch)));
        let lander = Lander {
            runner: Arc::new(runner),
            site: Arc::new(SimSite(Arc::clone(&branch))),
            settings: LandingSettings {
                batch: rng.u32(1..5),
                max_returns: 100,
                ..LandingSettings::default()
            },
            project: None,
        };
        let mut interruption = Interruption::default();
        if harness.clock.elapsed() < FAULTS_END {
            if rng.u32(0..2) == 0 {
                interruption.crash = Some(rng.u32(1..200));
            }
            if rng.u32(0..3) == 0 {
                let pause = Duration::from_micros(rng.u64(1..90_000_000));
                interruption.pause = Some((rng.u32(1..100), pause));
            }
        }
        let (clock, stop) = (Arc::clone(&harness.clock), stop.clone());
        let land = Box::pin(async move {
            while !stop.is_cancelled() {
                // Errors of the store are retried.
                let _ = lander.enqueue_due().await;
                let _ = lander.land_next(&[], &stop).await;
                clock.sleep(Duration::from_secs(2)).await;
            }
        });
        Interrupted::new(land, interruption).await;
        let restart = Duration::from_micros(rng.u64(1..30_000_000));
        harness.clock.sleep(restart).await;
    }
}

fn check(harness: &Harness, branch: &Branch) {
    let memory = harness.store.memory();
    let history = branch.history.lock().unwrap();
    let last = branch.changes(history.last().unwrap());
    for row in memory.rows.values() {
        let task = &row.task;
        assert_eq!(task.status, TaskStatus::Completed);
        let landed = task.landed.as_ref().unwrap();
        let name = change_name(AttemptRef {
            task: task.id,
            number: task.attempt,
        });
        assert!(
            last.contains(&name),
            "{name} is recorded as landed, but is not on the branch"
        );
        let is_on_branch = history.contains(&landed.commit) || landed.commit == name;
        assert!(is_on_branch, "task {}: {}", task.id, landed.commit);
        let of_task = format!("task {} ", task.id);
        let changes = last.iter().filter(|change| change.starts_with(&of_task));
        assert_eq!(changes.count(), 1, "task {} landed more than once", task.id);
        let at = |name: &String| last.iter().position(|change| change == name);
        for on in &task.dependencies {
            let on = change_name(AttemptRef {
                task: *on,
                number: memory.rows[on].task.attempt,
            });
            assert!(at(&on) < at(&name), "{on} landed after {name}");
        }
    }
}
