//! A simulated repository, its clones and their tests.
//!
//! A clone contains one text: none (no change), one that passes the tests, or one that does not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use windlass_core::{Clock, Error, ErrorCode, Result};
use windlass_tasks::{
    AttemptRef, Change, Commit, ContextSource, FileChange, Issue, Project, RelatedFile, Task,
    TaskContext, TestCase, TestCounts, TestPlan, TestResult, TestStatus, Verifier, WorkingCopy,
    Workspace,
};

use super::faults::Faults;

/// The text that passes the tests.
pub(crate) const GOOD: &str = "good";
/// A text that passes because its tests were deleted.
pub(crate) const WEAK: &str = "weak";

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
    /// The text and the message of each commit.
    pub(crate) commits: Mutex<BTreeMap<String, (String, String)>>,
    pub(crate) plan: Mutex<TestPlan>,
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
            commits: Mutex::default(),
            plan: Mutex::new(TestPlan::Command(vec!["check".to_owned()])),
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

    /// Runs an operation with delays and injected faults before and after it.
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
}

/// Creates clones of the repository.
#[derive(Debug)]
pub(crate) struct SimWorkspace(pub(crate) Arc<Repo>);

impl Workspace for SimWorkspace {
    fn open<'a>(
        &'a self,
        _: &'a Project,
        attempt: AttemptRef,
    ) -> BoxFuture<'a, Result<Box<dyn WorkingCopy>>> {
        let repo = &self.0;
        Box::pin(repo.call(move || {
            let root = PathBuf::from(format!("/clones/{}-{}", attempt.task, attempt.number));
            repo.clones.lock().unwrap().insert(root.clone(), None);
            let branch = format!("windlass/task-{}", attempt.task);
            let branch_at_open = repo.branches.lock().unwrap().get(&branch).cloned();
            let repo = Arc::clone(repo);
            Ok(Box::new(SimWorkingCopy {
                repo,
                root,
                branch_at_open,
            }) as Box<dyn WorkingCopy>)
        }))
    }

    fn remove_stale<'a>(&'a self, live: &'a [AttemptRef]) -> BoxFuture<'a, Result<u32>> {
        Box::pin(async move {
            let live: Vec<PathBuf> = live
                .iter()
                .map(|at| PathBuf::from(format!("/clones/{}-{}", at.task, at.number)))
                .collect();
            let mut clones = self.0.clones.lock().unwrap();
            let before = clones.len();
            clones.retain(|root, _| live.contains(root));
            Ok((before - clones.len()) as u32)
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
}

/// One clone.
#[derive(Debug)]
struct SimWorkingCopy {
    repo: Arc<Repo>,
    root: PathBuf,
    branch_at_open: Option<String>,
}

impl WorkingCopy for SimWorkingCopy {
    fn root(&self) -> &Path {
        &self.root
    }

    fn base(&self) -> &str {
        "base"
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
        Box::pin(self.repo.call(|| {
            let text = self.repo.text(&self.root)?;
            let weak = text.as_deref() == Some(WEAK);
            Ok(Change {
                files: text.iter().map(|_| "src/lib.rs".to_owned()).collect(),
                diff: text.map(|text| format!("+{text}")).unwrap_or_default(),
                weakened_tests: weak
                    .then(|| "tests/all.rs: deleted".to_owned())
                    .into_iter()
                    .collect(),
            })
        }))
    }

    fn commit(&self, message: String) -> BoxFuture<'_, Result<Commit>> {
        Box::pin(self.repo.call(move || {
            let text = self.repo.text(&self.root)?.unwrap_or_default();
            let id = format!("commit of {}", self.root.display());
            let mut commits = self.repo.commits.lock().unwrap();
            commits.insert(id.clone(), (text.clone(), message));
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

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<()>> {
        Box::pin(async move {
            self.repo.clones.lock().unwrap().remove(&self.root);
            Ok(())
        })
    }
}

/// The tests of the repository.
#[derive(Debug)]
pub(crate) struct SimTests(pub(crate) Arc<Repo>);

impl Verifier for SimTests {
    fn plan<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<TestPlan>> {
        Box::pin(async { Ok(self.0.plan.lock().unwrap().clone()) })
    }

    fn verify<'a>(&'a self, root: &'a Path) -> BoxFuture<'a, Result<TestResult>> {
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
            let text = self.0.call(|| self.0.text(root)).await?;
            Ok(test_result(text.as_deref().unwrap_or_default()))
        })
    }
}

/// Returns the test result of a text.
fn test_result(text: &str) -> TestResult {
    let passes = [GOOD, WEAK].contains(&text);
    TestResult {
        command: vec!["check".to_owned()],
        status: if passes {
            TestStatus::Passed
        } else {
            TestStatus::Failed
        },
        exit_code: Some(i32::from(!passes)),
        counts: TestCounts {
            passed: 1 + u64::from(passes),
            failed: u64::from(!passes),
            errors: 0,
            total: 2,
        },
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
