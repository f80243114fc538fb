//! A branch that changes land on: its commits are lists of changes, and some pairs of changes are red together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use windlass_core::{Clock, Error, Result};
use windlass_tasks::{
    AdvanceResult, BasePart, BaseTests, Baseline, CaseResults, CaseStatus, Change, Check,
    CheckRequest, Commit, FileChange, LandingCopy, LandingSite, MergeRequest, MergeResult, Project,
    StartPoint, TestCounts, TestPlan, TestResult, TestRun, TestStatus, Verifier, WorkingCopy,
};

use super::faults::Faults;
use super::harness::Harness;

/// The name of the branch.
const BRANCH: &str = "main";

/// The branch, and everything that was tested.
#[derive(Debug)]
pub(crate) struct Branch {
    /// The changes of each commit.
    commits: Mutex<BTreeMap<String, Vec<String>>>,
    /// Every commit that the branch had, in order.
    pub(crate) history: Mutex<Vec<String>>,
    green: Mutex<BTreeSet<Vec<String>>>,
    /// Pairs of changes that are red together.
    bad: BTreeSet<(String, String)>,
    faults: Arc<Faults>,
    clock: Arc<dyn Clock>,
}

impl Branch {
    pub(crate) fn new(harness: &Harness, bad: BTreeSet<(String, String)>) -> Arc<Self> {
        let start = "start".to_owned();
        Arc::new(Self {
            commits: Mutex::new(BTreeMap::from([(start.clone(), Vec::new())])),
            history: Mutex::new(vec![start]),
            green: Mutex::default(),
            bad,
            faults: Arc::clone(&harness.faults),
            clock: Arc::clone(&harness.clock) as Arc<dyn Clock>,
        })
    }

    async fn call<T>(&self, apply: impl FnOnce() -> Result<T>) -> Result<T> {
        self.faults.call(&*self.clock, apply).await
    }

    pub(crate) fn head(&self) -> String {
        self.history.lock().unwrap().last().unwrap().clone()
    }

    pub(crate) fn changes(&self, commit: &str) -> Vec<String> {
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
    pub(crate) fn commit_by_hand(&self) {
        let mut changes = self.changes(&self.head());
        changes.push(format!("by hand {}", self.commits.lock().unwrap().len()));
        self.green.lock().unwrap().insert(changes.clone());
        let id = self.add_commit(changes);
        self.history.lock().unwrap().push(id);
    }
}

#[derive(Debug)]
pub(crate) struct SimSite(pub(crate) Arc<Branch>);

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
pub(crate) struct PairTests(pub(crate) Arc<Branch>);

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
                projects: Vec::new(),
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
                part: None,
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
