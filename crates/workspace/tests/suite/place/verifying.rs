//! A proof is checked again from scratch.

use windlass_core::Timestamp;
use windlass_core::task::{Proof, TestCounts, TestStatus};
use windlass_core::workspace::Verifier;
use windlass_workspace::{TestRunner, TestSettings};

use super::world::{World, publish};

/// Passes while the notes say so.
fn settings() -> TestSettings {
    let script = "grep -q good notes.txt && echo 1 passed, 0 failed";
    TestSettings {
        command: Some(["sh", "-c", script].map(str::to_owned).to_vec()),
        ..TestSettings::default()
    }
}

async fn proven(world: &World, tests: &TestRunner) -> Proof {
    let place = world.open().await;
    let commit = publish(&*place, 1, "good\n").await;
    let result = tests.verify(place.root()).await.unwrap();
    assert_eq!(result.status, TestStatus::Passed, "{}", result.output);
    let base = place.base().to_owned();
    place.close().await.unwrap();
    Proof {
        base,
        commit: commit.id,
        tree: commit.tree,
        command: result.command,
        exit_code: 0,
        counts: result.counts,
        log_sha256: result.output_sha256,
        duration_ms: result.duration_ms,
        warnings: Vec::new(),
        at: Timestamp(0),
    }
}

#[tokio::test]
async fn a_proof_that_holds_and_proofs_that_do_not() {
    let world = World::new();
    let tests = TestRunner::new(world.sandbox().await, settings());
    let clones = world.clones().await;
    let proof = proven(&world, &tests).await;
    world.write("notes.txt", "the checkout has nothing to do with it\n");
    let verified = clones.verify(&world.root(), &proof, &tests).await.unwrap();
    assert!(verified.is_valid(), "{:?}", verified.differences);
    let result = verified.result.unwrap();
    assert_eq!(result.output_sha256, proof.log_sha256);

    let bad = Proof {
        commit: proof.base.clone(),
        ..proof.clone()
    };
    let verified = clones.verify(&world.root(), &bad, &tests).await.unwrap();
    assert!(verified.differences[0].contains("the commit's tree is"));
    assert!(verified.result.is_none(), "another tree is not even tested");

    let tree = world.git(&["rev-parse", &format!("{}^{{tree}}", proof.base)]);
    let red = Proof { tree, ..bad };
    let verified = clones.verify(&world.root(), &red, &tests).await.unwrap();
    let expected = [
        "the tests ended with 1, the proof says 0",
        "0 of 0 tests passed, the proof says 1 of 1",
    ];
    assert_eq!(verified.differences, expected);

    let counted = Proof {
        counts: TestCounts::default(),
        ..proof.clone()
    };
    let verified = clones
        .verify(&world.root(), &counted, &tests)
        .await
        .unwrap();
    assert_eq!(
        verified.differences,
        ["1 of 1 tests passed, the proof says 0 of 0"]
    );
    assert!(world.places().is_empty(), "{:?}", world.places());
}

#[tokio::test]
async fn a_commit_that_is_gone_is_said_to_be() {
    let world = World::new();
    let tests = TestRunner::new(world.sandbox().await, settings());
    let clones = world.clones().await;
    let proof = proven(&world, &tests).await;
    for commit in ["0".repeat(40), "--all".into(), "main".into()] {
        let proof = Proof {
            commit,
            ..proof.clone()
        };
        let error = clones
            .verify(&world.root(), &proof, &tests)
            .await
            .unwrap_err();
        assert!(error.to_string().contains("has no commit"), "{error}");
    }
}
