//! A proof is verified in a fresh checkout.

use windlass_core::Timestamp;
use windlass_tasks::{Proof, TestCounts, TestStatus};
use windlass_workspace::{TestRunner, TestSettings};

use super::harness::{Harness, publish};

/// A test command that passes while the notes contain `good`.
fn settings() -> TestSettings {
    let script = "grep -q good notes.txt && echo 1 passed, 0 failed";
    TestSettings {
        command: Some(["sh", "-c", script].map(str::to_owned).to_vec()),
        ..TestSettings::default()
    }
}

async fn prove(harness: &Harness, tests: &TestRunner) -> Proof {
    let clone = harness.open().await;
    let commit = publish(&*clone, 1, "good\n").await;
    let result = tests.verify(clone.root()).await.unwrap();
    assert_eq!(result.status, TestStatus::Passed, "{}", result.output);
    let base = clone.base().to_owned();
    clone.close().await.unwrap();
    Proof {
        base,
        base_parts: Vec::new(),
        commit: commit.id,
        tree: commit.tree,
        command: result.command,
        part: None,
        exit_code: 0,
        counts: result.counts,
        log_sha256: result.output_sha256,
        duration_ms: result.duration_ms,
        setup: Vec::new(),
        cases: None,
        baseline: None,
        base_tests: None,
        lines: None,
        warnings: Vec::new(),
        at: Timestamp(0),
    }
}

#[tokio::test]
async fn valid_and_invalid_proofs_are_distinguished() {
    let harness = Harness::new();
    let tests = TestRunner::new(harness.sandbox().await, settings());
    let clones = harness.clones().await;
    let proof = prove(&harness, &tests).await;
    harness.write("notes.txt", "an edit in the checkout\n");
    let verification = clones
        .verify(&harness.root(), &proof, &tests)
        .await
        .unwrap();
    assert!(verification.is_valid(), "{:?}", verification.differences);
    let result = verification.result.unwrap();
    assert_eq!(result.output_sha256, proof.log_sha256);

    let bad = Proof {
        commit: proof.base.clone(),
        ..proof.clone()
    };
    let verification = clones.verify(&harness.root(), &bad, &tests).await.unwrap();
    assert!(verification.differences[0].contains("the commit's tree is"));
    assert!(verification.result.is_none(), "another tree is not tested");

    let tree = harness.git(&["rev-parse", &format!("{}^{{tree}}", proof.base)]);
    let red = Proof { tree, ..bad };
    let verification = clones.verify(&harness.root(), &red, &tests).await.unwrap();
    let expected = [
        "the tests exited with 1, the proof has 0",
        "0 of 0 tests passed, the proof has 1 of 1",
    ];
    assert_eq!(verification.differences, expected);

    let counted = Proof {
        counts: TestCounts::default(),
        ..proof.clone()
    };
    let verification = clones
        .verify(&harness.root(), &counted, &tests)
        .await
        .unwrap();
    assert_eq!(
        verification.differences,
        ["1 of 1 tests passed, the proof has 0 of 0"]
    );
    assert!(
        harness.clone_names().is_empty(),
        "{:?}",
        harness.clone_names()
    );
}

#[tokio::test]
async fn missing_commit_is_reported() {
    let harness = Harness::new();
    let tests = TestRunner::new(harness.sandbox().await, settings());
    let clones = harness.clones().await;
    let proof = prove(&harness, &tests).await;
    for commit in ["0".repeat(40), "--all".into(), "main".into()] {
        let proof = Proof {
            commit,
            ..proof.clone()
        };
        let error = clones
            .verify(&harness.root(), &proof, &tests)
            .await
            .unwrap_err();
        assert!(
            error.to_string().contains("no longer has commit"),
            "{error}"
        );
    }
}
