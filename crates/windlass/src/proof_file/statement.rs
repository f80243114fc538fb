//! A proof as an in-toto statement with a test-result predicate about a commit.

use serde::{Deserialize, Serialize};
use windlass_tasks::{Proof, TaskId};

/// The type of all in-toto statements of version 1.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// The type of the predicate.
const PREDICATE_TYPE: &str = "https://in-toto.io/attestation/test-result/v0.1";

/// A statement: this commit has this test result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Statement {
    #[serde(rename = "_type")]
    statement_type: String,
    subject: Vec<ResourceDescriptor>,
    predicate_type: String,
    predicate: Predicate,
}

/// A resource, by its name and hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ResourceDescriptor {
    name: String,
    digest: Digest,
}

/// A git object by its hash.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Digest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    git_commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    git_tree: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Predicate {
    result: TestVerdict,
    configuration: Vec<ResourceDescriptor>,
    passed_tests: Vec<String>,
    warned_tests: Vec<String>,
    failed_tests: Vec<String>,
    /// The complete proof. Other consumers ignore it.
    windlass: Details,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Details {
    task: TaskId,
    title: String,
    proof: Proof,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum TestVerdict {
    Passed,
    Warned,
}

impl Statement {
    /// Creates the statement of a task's proof.
    pub(crate) fn new(task: TaskId, title: &str, proof: &Proof) -> Self {
        let cases = proof.cases.clone().unwrap_or_default();
        Self {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: subject(proof),
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: Predicate {
                result: if proof.needs_review() {
                    TestVerdict::Warned
                } else {
                    TestVerdict::Passed
                },
                configuration: configuration(proof),
                passed_tests: cases.fixed,
                warned_tests: [cases.flaky, cases.skipped].concat(),
                failed_tests: cases.still_failing,
                windlass: Details {
                    task,
                    title: title.to_owned(),
                    proof: proof.clone(),
                },
            },
        }
    }

    /// Returns the proof.
    pub(crate) fn proof(&self) -> &Proof {
        &self.predicate.windlass.proof
    }

    /// Returns the title of the task.
    pub(crate) fn title(&self) -> &str {
        &self.predicate.windlass.title
    }

    /// Returns each contradiction within the statement, as a sentence.
    pub(crate) fn contradictions(&self) -> Vec<String> {
        let expected = Self::new(self.predicate.windlass.task, self.title(), self.proof());
        let mut found = Vec::new();
        let mut check = |is_same: bool, what: &str| {
            if !is_same {
                found.push(format!("{what} differs from the proof"));
            }
        };
        check(self.statement_type == STATEMENT_TYPE, "the statement type");
        check(self.predicate_type == PREDICATE_TYPE, "the predicate type");
        check(self.subject == expected.subject, "the subject");
        check(
            self.predicate == expected.predicate,
            "the test result of the statement",
        );
        if self.proof().exit_code != 0 {
            found.push(format!("the tests exited {}", self.proof().exit_code));
        }
        found
    }
}

/// Returns what the statement is about: the commit and its tree.
fn subject(proof: &Proof) -> Vec<ResourceDescriptor> {
    let tree = ResourceDescriptor {
        name: "tree".to_owned(),
        digest: Digest {
            git_tree: Some(proof.tree.clone()),
            ..Digest::default()
        },
    };
    vec![commit("commit", &proof.commit), tree]
}

/// Returns what the tested change is based on.
fn configuration(proof: &Proof) -> Vec<ResourceDescriptor> {
    let parts = proof.base_parts.iter();
    let parts = parts.map(|part| commit(&format!("task-{}", part.task), &part.commit));
    std::iter::once(commit("base", &proof.base))
        .chain(parts)
        .collect()
}

fn commit(name: &str, hash: &str) -> ResourceDescriptor {
    ResourceDescriptor {
        name: name.to_owned(),
        digest: Digest {
            git_commit: Some(hash.to_owned()),
            ..Digest::default()
        },
    }
}
