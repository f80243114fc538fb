//! Checking a proof again: a fresh checkout of its commit, its command, and whether both say the same.

use std::path::Path;

use windlass_core::task::{Proof, TestResult};

use crate::clone::{Clones, LockedDir, OpenClone};
use crate::error::{Error, Result};
use crate::git::Repository;
use crate::test_runner::TestRunner;

/// What checking a proof again has shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// How the tests ended this time. `None`: the commit is not the one that was tested, and nothing was run.
    pub result: Option<TestResult>,
    /// Where proof and present differ, each as a sentence. Empty: the proof holds.
    pub differences: Vec<String>,
}

impl Verification {
    /// Whether the proof holds.
    pub fn is_valid(&self) -> bool {
        self.differences.is_empty()
    }
}

impl Clones {
    /// Checks a proof again, in a fresh checkout of its commit from the repository at `root`.
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
                "the commit's tree is {tree}, the proof says {}",
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
        let room = LockedDir::new(&self.folder)?;
        let opened =
            OpenClone::create_in(self, repository, &format, &proof.commit, &room.path).await?;
        let result = tests.run(&opened.work, &proof.command).await?;
        compare(proof, &result, &mut differences);
        Ok(Verification {
            result: Some(result),
            differences,
        })
    }

    async fn tree_of(&self, repository: &Repository, commit: &str) -> Result<String> {
        let is_hash = commit.len() >= 40 && commit.chars().all(|c| c.is_ascii_hexdigit());
        let tree = format!("{commit}^{{tree}}");
        let missing =
            || Error::repository(&repository.root, format!("has no commit {commit} any more"));
        if !is_hash {
            return Err(missing());
        }
        let said = repository
            .query(&self.git, &["rev-parse", "--verify", "--quiet", &tree])
            .await?;
        if said.code == 0 {
            Ok(said.text())
        } else {
            Err(missing())
        }
    }
}

fn compare(proof: &Proof, result: &TestResult, differences: &mut Vec<String>) {
    if result.exit_code != Some(proof.exit_code) {
        let now = result.exit_code.map_or_else(
            || result.status.as_str().to_owned(),
            |code| code.to_string(),
        );
        differences.push(format!(
            "the tests ended with {now}, the proof says {}",
            proof.exit_code
        ));
    }
    let (then, now) = (proof.counts, result.counts);
    if now != then {
        differences.push(format!(
            "{} of {} tests passed, the proof says {} of {}",
            now.passed, now.total, then.passed, then.total
        ));
    }
}
