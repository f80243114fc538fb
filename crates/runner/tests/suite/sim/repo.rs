//! A simulated repository, its clones and their tests.
//!
//! A clone contains one text: none (no change), one that passes the tests, or one that does not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use windlass_core::{Clock, Error, ErrorCode, Result};
use windlass_tasks::{
    AttemptRef, BasePart, BaseRequest, BaseTests, Baseline, CaseResults, CaseStatus, Change, Check,
    CheckRequest, Commit, ContextSource, FileChange, Issue, Obstacle, Opened, Project, RelatedFile,
    StaleCopy, StartPoint, Task, TaskContext, TaskId, TestCase, TestCounts, TestPlan, TestResult,
    TestRun, TestStatus, Verifier, WorkingCopy, Workspace,
};

use super::faults::Faults;
use super::stacked::SimBase;

/// The text that passes the tests.
pub(crate) const GOOD: &str = "good";
/// A text that passes because its tests were deleted.
pub(crate) const WEAK: &str = "weak";

/// A text with which the command passes because it runs no test.
pub(crate) const NO_TESTS: &str = "no tests";

/// The text of a clone that starts with a conflict. It does not pass.
pub(crate) const CONFLICT: &str = "conflict";

/// An injected fault of a test run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TestFault {
    Panic,
    DiskFull,
}

/// The user's repository, and every clone of it.
#[derive(Debug)]
pub(crate) struct Repo {
    pub(crate) branches: Mutex<BTreeMap<String, String>>,
    /// Every branch update, as branch and commit.
    pub(crate) published: Mutex<Vec<(String, String)>>,
    /// The text of each clone.
    pub(crate) clones: Mutex<BTreeMap<PathBuf, Option<String>>>,
    /// The clones that a process uses.
    in_use: Mutex<BTreeSet<PathBuf>>,
    /// The text that each clone started with.
    starts: Mutex<BTreeMap<PathBuf, Option<String>>>,
    /// The commit that keeps the change of each clone.
    pub(crate) kept: Mutex<BTreeMap<PathBuf, String>>,
    /// The text and the message of each commit.
    pub(crate) commits: Mutex<BTreeMap<String, (String, String)>>,
    /// The commits that each commit contains.
    pub(crate) contents: Mutex<BTreeMap<String, BTreeSet<String>>>,
    /// The tasks whose changes conflict.
    pub(crate) conflicts: Mutex<BTreeSet<(TaskId, TaskId)>>,
    pub(crate) plan: Mutex<TestPlan>,
    /// The text of the base.
    pub(crate) base_text: Mutex<&'static str>,
    /// Why the tests of the base cannot run.
    pub(crate) obstacle: Mutex<Option<Obstacle>>,
    /// Faults of the next test runs; each is used once.
    pub(crate) test_faults: Mutex<Vec<TestFault>>,
    /// Number of test runs.
    pub(crate) runs: Mutex<u32>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Repo {
    pub(crate) fn new(clock: Arc<dyn Clock>, faults: Arc<Faults>) -> Self {
        Self {
            branches: Mutex::default(),
            published: Mutex::default(),
            clones: Mutex::default(),
            in_use: Mutex::default(),
            starts: Mutex::default(),
            kept: Mutex::default(),
            commits: Mutex::default(),
            contents: Mutex::default(),
            conflicts: Mutex::default(),
            plan: Mutex::new(TestPlan::Command(vec!["check".to_owned()])),
            base_text: Mutex::new(GOOD),
            obstacle: Mutex::default(),
            test_faults: Mutex::default(),
            runs: Mutex::default(),
            faults,
            clock,
        }
    }

    /// Writes a text into a clone, if the clone still exists.
    pub(crate) fn write(&self, root: &Path, text: &str) {
        if let Some(clone) = self.clones.lock().unwrap().get_mut(root) {
            *clone = Some(text.to_owned());
        }
    }

    fn text(&self, root: &Path) -> Result<Option<String>> {
        let clones = self.clones.lock().unwrap();
        let text = clones.get(root).cloned();
        text.ok_or_else(|| Error::InvalidInput("the clone is gone".to_owned()))
    }

    async fn call<T>(&self, apply: impl FnOnce() -> Result<T>) -> Result<T> {
        self.faults.call(&*self.clock, apply).await
    }
}

/// Creates clones of the repository.
#[derive(Debug)]
pub(crate) struct SimWorkspace(pub(crate) Arc<Repo>);

impl Workspace for SimWorkspace {
    fn open_on<'a>(
        &'a self,
        _: &'a Project,
        attempt: AttemptRef,
        base: &'a BaseRequest,
        earlier: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Opened>> {
        let repo = &self.0;
        Box::pin(repo.call(move || {
            let base = match repo.stack(base) {
                Ok(base) => base,
                Err(conflict) => return Ok(Opened::Conflict(conflict)),
            };
            let root = PathBuf::from(format!("/clones/{}-{}", attempt.task, attempt.number));
            let start = match earlier {
                Some(id) => Some(repo.commits.lock().unwrap()[id].0.clone()),
                None => base.has_conflict.then(|| CONFLICT.to_owned()),
            };
            repo.clones
                .lock()
                .unwrap()
                .insert(root.clone(), start.clone());
            repo.starts.lock().unwrap().insert(root.clone(), start);
            let branch = format!("windlass/task-{}", attempt.task);
            let branch_at_open = repo.branches.lock().unwrap().get(&branch).cloned();
            let copy = SimWorkingCopy::new(repo, root, branch_at_open, base);
            Ok(Opened::Copy(Box::new(copy)))
        }))
    }

    fn stale<'a>(
        &'a self,
        is_live: &'a (dyn Fn(AttemptRef) -> bool + Sync),
    ) -> BoxFuture<'a, Result<Vec<StaleCopy>>> {
        Box::pin(async move {
            let roots: Vec<PathBuf> = self.0.clones.lock().unwrap().keys().cloned().collect();
            let in_use = self.0.in_use.lock().unwrap().clone();
            let stale = roots.into_iter().filter(|root| !in_use.contains(root));
            let copies = stale.map(|root| {
                let copy = SimWorkingCopy::new(&self.0, root.clone(), None, SimBase::plain());
                (attempt_of(&root), Box::new(copy) as Box<dyn WorkingCopy>)
            });
            Ok(copies.filter(|(attempt, _)| !is_live(*attempt)).collect())
        })
    }

    fn branch_commit<'a>(
        &'a self,
        _: &'a Project,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(
            self.0
                .call(|| Ok(self.0.branches.lock().unwrap().get(name).cloned())),
        )
    }

    fn diff<'a>(
        &'a self,
        _: &'a Project,
        base: &'a str,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<String>> {
        Box::pin(self.0.call(move || Ok(format!("{base}..{commit}"))))
    }
}

/// One clone.
#[derive(Debug)]
struct SimWorkingCopy {
    repo: Arc<Repo>,
    root: PathBuf,
    branch_at_open: Option<String>,
    start: StartPoint,
    base: SimBase,
}

impl SimWorkingCopy {
    fn new(repo: &Arc<Repo>, root: PathBuf, branch_at_open: Option<String>, base: SimBase) -> Self {
        repo.in_use.lock().unwrap().insert(root.clone());
        let start = match repo.starts.lock().unwrap().get(&root) {
            Some(Some(text)) if text == CONFLICT => {
                StartPoint::Conflict(vec!["src/lib.rs".to_owned()])
            }
            Some(Some(_)) => StartPoint::Change,
            _ => StartPoint::Base,
        };
        Self {
            repo: Arc::clone(repo),
            root,
            branch_at_open,
            start,
            base,
        }
    }

    /// Returns the text if it differs from what the clone started with.
    fn changed(&self) -> Option<String> {
        let start = self.repo.starts.lock().unwrap().get(&self.root).cloned();
        let text = self.repo.text(&self.root).ok()?;
        text.filter(|text| start.flatten().as_ref() != Some(text))
    }
}

impl Drop for SimWorkingCopy {
    fn drop(&mut self) {
        self.repo.in_use.lock().unwrap().remove(&self.root);
    }
}

/// Returns the attempt of a clone.
fn attempt_of(root: &Path) -> AttemptRef {
    let name = root.file_name().unwrap().to_str().unwrap();
    let (task, number) = name.split_once('-').unwrap();
    AttemptRef {
        task: task.parse().unwrap(),
        number: number.parse().unwrap(),
    }
}

impl WorkingCopy for SimWorkingCopy {
    fn root(&self) -> &Path {
        &self.root
    }

    fn base(&self) -> &str {
        &self.base.commit
    }

    fn base_parts(&self) -> &[BasePart] {
        &self.base.parts
    }

    fn start(&self) -> &StartPoint {
        &self.start
    }

    fn read<'a>(&'a self, path: &'a str, _: usize) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(async move { Ok(Some(format!("the text of {path}"))) })
    }

    fn apply(&self, files: Vec<FileChange>) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(async move {
            if files.iter().any(|file| file.path.contains("..")) {
                return Err(Error::InvalidInput("path escapes sandbox".to_owned()));
            }
            for file in &files {
                self.repo.write(&self.root, &file.content);
            }
            Ok(files.into_iter().map(|file| file.path).collect())
        })
    }

    fn change(&self) -> BoxFuture<'_, Result<Change>> {
        Box::pin(
            self.repo
                .call(|| Ok(change_to(self.repo.text(&self.root)?))),
        )
    }

    fn change_of<'a>(&'a self, commit: &'a Commit) -> BoxFuture<'a, Result<Change>> {
        Box::pin(self.repo.call(|| {
            let commits = self.repo.commits.lock().unwrap();
            Ok(change_to(
                commits.get(&commit.id).map(|(text, _)| text.clone()),
            ))
        }))
    }

    fn commit(&self, message: String) -> BoxFuture<'_, Result<Commit>> {
        Box::pin(self.repo.call(move || {
            let Some(text) = self.repo.text(&self.root)? else {
                return Ok(Commit {
                    id: self.base().to_owned(),
                    tree: "tree of the base".to_owned(),
                });
            };
            let id = format!("commit of {} with {text}", self.root.display());
            let mut commits = self.repo.commits.lock().unwrap();
            commits.insert(id.clone(), (text.clone(), message));
            let mut contents = self.repo.contents.lock().unwrap();
            contents.insert(id.clone(), self.base.contents.clone());
            let tree = format!("tree of {text}");
            Ok(Commit { id, tree })
        }))
    }

    fn publish<'a>(&'a self, commit: &'a Commit, branch: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.repo.call(move || {
            let mut branches = self.repo.branches.lock().unwrap();
            let current = branches.get(branch);
            if current == Some(&commit.id) {
                return Ok(());
            }
            if current != self.branch_at_open.as_ref() {
                return Err(Error::InvalidInput(format!("{branch} has moved")));
            }
            branches.insert(branch.to_owned(), commit.id.clone());
            let mut published = self.repo.published.lock().unwrap();
            published.push((branch.to_owned(), commit.id.clone()));
            Ok(())
        }))
    }

    fn keep(&self, message: String) -> BoxFuture<'_, Result<Option<Commit>>> {
        Box::pin(self.repo.call(move || {
            let Some(text) = self.changed() else {
                return Ok(None);
            };
            let id = format!("kept of {}", self.root.display());
            let tree = format!("tree of {text}");
            let mut commits = self.repo.commits.lock().unwrap();
            commits.insert(id.clone(), (text, message));
            let mut kept = self.repo.kept.lock().unwrap();
            kept.insert(self.root.clone(), id.clone());
            Ok(Some(Commit { id, tree }))
        }))
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<()>> {
        Box::pin(async move {
            let is_kept = self.repo.kept.lock().unwrap().contains_key(&self.root);
            assert!(is_kept || self.changed().is_none(), "the change is lost");
            self.repo.clones.lock().unwrap().remove(&self.root);
            Ok(())
        })
    }
}

/// Returns the change that makes the only file this text.
fn change_to(text: Option<String>) -> Change {
    Change {
        files: text.iter().map(|_| "src/lib.rs".to_owned()).collect(),
        diff: text.map(|text| format!("+{text}")).unwrap_or_default(),
        lines: 1,
        weakened_tests: Vec::new(),
    }
}

/// The tests of the repository.
#[derive(Debug)]
pub(crate) struct SimTests(pub(crate) Arc<Repo>);

impl Verifier for SimTests {
    fn plan<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<TestPlan>> {
        Box::pin(async { Ok(self.0.plan.lock().unwrap().clone()) })
    }

    fn baseline<'a>(
        &'a self,
        _: &'a dyn WorkingCopy,
        _: &'a [String],
    ) -> BoxFuture<'a, Result<Baseline>> {
        Box::pin(self.0.call(|| {
            Ok(Baseline {
                result: test_result(&self.0.base_text.lock().unwrap()),
                setup: Vec::new(),
                obstacle: self.0.obstacle.lock().unwrap().clone(),
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
            *self.0.runs.lock().unwrap() += 1;
            let fault = self.0.test_faults.lock().unwrap().pop();
            match fault {
                Some(TestFault::Panic) => panic!("a bug in the tests"),
                Some(TestFault::DiskFull) => {
                    return Err(Error::Agent {
                        code: ErrorCode::BackendError,
                        message: "no space left".to_owned(),
                        retry_after: Some(Duration::from_secs(30)),
                    });
                }
                None => {}
            }
            let duration = Duration::from_millis(u64::from(self.0.faults.below(20_000)));
            self.0.clock.sleep(duration).await;
            let commit = &request.commit.id;
            let text = self
                .0
                .call(|| Ok(self.0.commits.lock().unwrap()[commit].0.clone()));
            Ok(Check {
                own: TestRun {
                    result: test_result(&text.await?),
                    flaky: Vec::new(),
                },
                base_tests: BaseTests::Same,
                warnings: Vec::new(),
                part: None,
            })
        })
    }
}

/// Returns the test result of a text. Two tests run; one of them fails unless the text passes.
fn test_result(text: &str) -> TestResult {
    let passes = [GOOD, WEAK, NO_TESTS].contains(&text);
    let mut cases = CaseResults::default();
    let adds = if passes {
        CaseStatus::Passed
    } else {
        CaseStatus::Failed
    };
    if text != NO_TESTS {
        cases.insert("zero", CaseStatus::Passed);
    }
    if text != NO_TESTS && text != WEAK {
        cases.insert("adds", adds);
    }
    let total = cases.len() as u64;
    TestResult {
        command: vec!["check".to_owned()],
        status: if passes {
            TestStatus::Passed
        } else {
            TestStatus::Failed
        },
        exit_code: Some(i32::from(!passes)),
        counts: TestCounts {
            passed: total - u64::from(!passes),
            failed: u64::from(!passes),
            errors: 0,
            total,
        },
        cases: Some(cases),
        notes: Vec::new(),
        failures: (!passes)
            .then(|| TestCase {
                name: "adds".to_owned(),
                message: "left: 4, right: 5".to_owned(),
            })
            .into_iter()
            .collect(),
        duration_ms: 1500,
        output: format!("output over {text}"),
        output_sha256: format!("hash over {text}"),
    }
}

/// Reports one relevant file.
#[derive(Debug)]
pub(crate) struct SimContext;

impl ContextSource for SimContext {
    fn build_context<'a>(
        &'a self,
        _: &'a Path,
        task: &'a Task,
        issue: Option<&'a Issue>,
    ) -> BoxFuture<'a, Result<TaskContext>> {
        Box::pin(async move {
            Ok(TaskContext {
                task: task.clone(),
                related_files: vec![RelatedFile {
                    path: "src/lib.rs".to_owned(),
                    score: 1.0,
                    why: "it is the only file".to_owned(),
                }],
                related_symbols: Vec::new(),
                issue_context: issue.cloned(),
            })
        })
    }
}
