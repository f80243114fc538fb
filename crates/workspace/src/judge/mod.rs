//! Tests commits: the base before a change, and the change in fresh checkouts.
//!
//! A change is tested with its own tests. If it has test files, runner configuration or scripts, it is
//! tested once more with those of the base instead, because a change must not choose its judge.

mod baseline;
mod files;
mod inline;
mod manifest;
mod obstacle;
mod overlay;
mod part;
mod rerun;
mod roles;
mod signs;

use std::path::Path;

use futures::future::BoxFuture;
use windlass_tasks::{
    BaseTests, Baseline, Check, CheckRequest, StartPoint, TestPlan, TestResult, TestRun, Verifier,
    WorkingCopy,
};

use crate::clone::{Checkout, CheckoutSource, Clones};
use crate::error::Result;
use crate::setup::{Preparation, Source};
use crate::test_runner::TestRunner;

use baseline::BaselineStore;
use files::changed_files;
pub use obstacle::proposed_settings;
use overlay::Overlay;

/// Tests the commits of attempts.
#[derive(Debug, Clone)]
pub struct Judge {
    clones: Clones,
    tests: TestRunner,
    baselines: BaselineStore,
}

impl Judge {
    /// Creates a judge that makes its checkouts next to these clones, and keeps the results of base commits
    /// there.
    pub fn new(clones: Clones, tests: TestRunner) -> Self {
        let baselines = BaselineStore::new(clones.dir.path().join("baselines"));
        Self {
            clones,
            tests,
            baselines,
        }
    }

    async fn check_commit(
        &self,
        copy: &dyn WorkingCopy,
        request: CheckRequest<'_>,
    ) -> Result<Check> {
        let source = CheckoutSource::attempt(copy.root())?;
        let commit = request.commit;
        let git = &self.clones.git;
        let trees = (copy.base(), commit.tree.as_str());
        // The checkout is needed whatever the files are, so they are read meanwhile.
        let (files, checkout) = futures::try_join!(
            changed_files(git, &source.git, trees, request.command),
            Checkout::create(&self.clones, &source, &commit.id, &commit.tree),
        )?;
        let part = self.touched_part(copy, &files, request.baseline).await?;
        let request = match &part {
            Some(part) => CheckRequest {
                command: &part.baseline.result.command,
                baseline: &part.baseline,
                ..request
            },
            None => request,
        };
        let own = self.run(checkout, &commit.tree, request).await?;
        let overlay = Overlay::new(&files);
        let base_tests = if request.edits_tests {
            BaseTests::Skipped
        } else if overlay.is_empty() {
            BaseTests::Same
        } else {
            let tree = overlay.write(git, &source.git, &commit.tree).await?;
            let checkout = Checkout::create(&self.clones, &source, &commit.id, &tree).await?;
            BaseTests::Run {
                run: Box::new(self.run(checkout, &tree, request).await?),
                restored: overlay.paths,
            }
        };
        Ok(Check {
            own,
            base_tests,
            warnings: signs::warnings(&files, request.edits_tests),
            part: part.map(Box::new),
        })
    }

    /// Runs the tests in a fresh checkout of a tree.
    async fn run(
        &self,
        checkout: Checkout,
        tree: &str,
        request: CheckRequest<'_>,
    ) -> Result<TestRun> {
        let before = &request.baseline.result;
        let result = self
            .run_in(&checkout, Source::Change(tree), request.command)
            .await?;
        rerun::find_flaky(&self.tests, &checkout.work, before, result).await
    }

    /// Prepares a checkout, and runs the tests in it.
    async fn run_in(
        &self,
        checkout: &Checkout,
        source: Source<'_>,
        command: &[String],
    ) -> Result<TestResult> {
        match self.tests.prepare(&checkout.work, source).await? {
            Preparation::Ready(_) => self.tests.run(&checkout.work, command).await,
            Preparation::Failed(result) => Ok(*result),
        }
    }
}

impl Verifier for Judge {
    fn plan<'a>(&'a self, root: &'a Path) -> BoxFuture<'a, windlass_core::Result<TestPlan>> {
        Box::pin(async move { Ok(self.tests.plan_in(root)) })
    }

    fn baseline<'a>(
        &'a self,
        copy: &'a dyn WorkingCopy,
        command: &'a [String],
    ) -> BoxFuture<'a, windlass_core::Result<Baseline>> {
        Box::pin(async move { Ok(self.test_base(copy, command).await?) })
    }

    fn prepare<'a>(
        &'a self,
        copy: &'a dyn WorkingCopy,
    ) -> BoxFuture<'a, windlass_core::Result<()>> {
        Box::pin(async move {
            // A set-up that fails now did so on the base too, or fails the check.
            let root = copy.root().to_string_lossy();
            let source = match copy.start() {
                StartPoint::Change | StartPoint::Conflict(_) => Source::Change(&root),
                StartPoint::Base | StartPoint::NotApplied(_) => Source::Base(copy.base()),
            };
            self.tests.prepare(copy.root(), source).await?;
            Ok(())
        })
    }

    fn check<'a>(
        &'a self,
        copy: &'a dyn WorkingCopy,
        request: CheckRequest<'a>,
    ) -> BoxFuture<'a, windlass_core::Result<Check>> {
        Box::pin(async move { Ok(self.check_commit(copy, request).await?) })
    }
}
