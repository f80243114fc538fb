//! Verifies a proof: checks out its commit, runs its command and compares the results.

use std::path::Path;

use windlass_tasks::{Proof, TestResult};

use crate::clone::{Checkout, CheckoutSource, Clones};
use crate::error::{Error, Result};
use crate::git::Repository;
use crate::setup::{Preparation, Source};
use crate::test_runner::TestRunner;

/// The result of verifying a proof.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// The result of the new test run. `None` if the commit is not the one that was tested; then
    /// nothing was run.
    pub result: Option<TestResult>,
    /// The differences between the proof and the new result, each as a sentence. Empty if the proof
    /// is valid.
    pub differences: Vec<String>,
}

impl Verification {
    /// Returns `true` if the proof is valid.
    pub fn is_valid(&self) -> bool {
        self.differences.is_empty()
    }
}

impl Clones {
    /// Verifies a proof in a fresh checkout of its commit from the repository at `root`.
    pub async fn verify(
        &self,
        root: &Path,
        proof: &Proof,
        tests: &TestRunner,
    ) -> Result<Verification> {
        let repository = Repository::find(root)?;
        let (format, _) = repository.head(&self.git).await?;
        let tree = self.tree_of(&repository, &proof.commit).await?;
        let mut differences = Vec::new();
        if tree != proof.tree {
            differences.push(format!(
                "the commit's tree is {tree}, the proof has {}",
                proof.tree
            ));
            return Ok(Verification {
                result: None,
                differences,
            });
        }
        let descends = ["merge-base", "--is-ancestor", &proof.base, &proof.commit];
        if repository.query(&self.git, &descends).await?.code != 0 {
            differences.push(format!("the commit does not descend from {}", proof.base));
        }
        let from = CheckoutSource::repository(self, repository, &format).await?;
        let checkout = Checkout::create(self, &from, &proof.commit, &tree).await?;
        let source = Source::Change(&proof.commit);
        let result = match tests.prepare(&checkout.work, source).await? {
            Preparation::Ready(_) => tests.run(&checkout.work, &proof.command).await?,
            Preparation::Failed(result) => *result,
        };
        compare(proof, &result, &mut differences);
        Ok(Verification {
            result: Some(result),
            differences,
        })
    }

    /// Returns the tree of a commit, which must be in the repository.
    pub(crate) async fn tree_of(&self, repository: &Repository, commit: &str) -> Result<String> {
        let is_hash = commit.len() >= 40 && commit.chars().all(|c| c.is_ascii_hexdigit());
        let tree = format!("{commit}^{{tree}}");
        let missing =
            || Error::repository(&repository.root, format!("no longer has commit {commit}"));
        if !is_hash {
            return Err(missing());
        }
        let output = repository
            .query(&self.git, &["rev-parse", "--verify", "--quiet", &tree])
            .await?;
        if output.code == 0 {
            Ok(output.text())
        } else {
            Err(missing())
        }
    }
}

fn compare(proof: &Proof, result: &TestResult, differences: &mut Vec<String>) {
    if result.exit_code != Some(proof.exit_code) {
        let actual = result.exit_code.map_or_else(
            || result.status.as_str().to_owned(),
            |code| code.to_string(),
        );
        differences.push(format!(
            "the tests exited with {actual}, the proof has {}",
            proof.exit_code
        ));
    }
    let (expected, actual) = (proof.counts, result.counts);
    if actual != expected {
        differences.push(format!(
            "{} of {} tests passed, the proof has {} of {}",
            actual.passed, actual.total, expected.passed, expected.total
        ));
    }
}
