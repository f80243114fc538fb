//! Commits are tested in fresh checkouts, against the tests of the base.

use windlass_tasks::{
    BaseTests, Baseline, Check, CheckRequest, TestStatus, Verifier, WarningKind, WorkingCopy,
};
use windlass_workspace::{Judge, TestRunner, TestSettings};

use super::harness::{Harness, message, put};

fn shell(script: &str) -> Vec<String> {
    ["sh", "-c", script].map(str::to_owned).to_vec()
}

async fn judge(harness: &Harness) -> Judge {
    let tests = TestRunner::new(harness.sandbox().await, TestSettings::default());
    Judge::new(harness.clones().await, tests)
}

/// Commits the files of a clone, and tests the commit.
async fn check(judge: &Judge, clone: &dyn WorkingCopy, command: &[String]) -> Check {
    let baseline = judge.baseline(clone, command).await.unwrap();
    let commit = clone.commit(message(1)).await.unwrap();
    let request = CheckRequest {
        commit: &commit,
        command,
        baseline: &baseline,
        edits_tests: false,
    };
    judge.check(clone, request).await.unwrap()
}

#[tokio::test]
async fn p20_ignored_files_and_later_edits_are_not_tested() {
    let harness = Harness::new();
    harness.write(".gitignore", "build/\n");
    harness.commit("ignore");
    let clone = harness.open().await;
    put(clone.root(), "notes.txt", "committed\n");
    put(clone.root(), "build/planted", "x");
    let judge = judge(&harness).await;
    let command = shell(
        "cat notes.txt; ls; test ! -e build && git status --porcelain && echo 1 passed, 0 failed",
    );
    let baseline = judge.baseline(&*clone, &command).await.unwrap();
    let commit = clone.commit(message(1)).await.unwrap();
    put(clone.root(), "notes.txt", "edited after the commit\n");
    let request = CheckRequest {
        commit: &commit,
        command: &command,
        baseline: &baseline,
        edits_tests: false,
    };
    let check = judge.check(&*clone, request).await.unwrap();
    let result = check.own.result;
    assert_eq!(result.status, TestStatus::Passed, "{}", result.output);
    assert!(
        result.output.starts_with("committed\n"),
        "{}",
        result.output
    );
    assert_eq!(check.base_tests, BaseTests::Same);
    // A test that edits its source changes neither the commit nor the clone.
    let command = shell("echo rewritten > notes.txt; echo 1 passed, 0 failed");
    let request = CheckRequest {
        command: &command,
        ..request
    };
    judge.check(&*clone, request).await.unwrap();
    let text = std::fs::read_to_string(clone.root().join("notes.txt")).unwrap();
    assert_eq!(text, "edited after the commit\n");
    assert_eq!(
        harness.clone_names().len(),
        2,
        "{:?}",
        harness.clone_names()
    );
}

#[tokio::test]
async fn p20_tests_and_scripts_of_the_base_judge_the_change() {
    let harness = Harness::new();
    harness.write(
        "check.sh",
        "grep -q good notes.txt && echo 1 passed, 0 failed\n",
    );
    harness.write("tests/old.sh", "old\n");
    harness.commit("tests");
    let clone = harness.open().await;
    put(clone.root(), "notes.txt", "bad\n");
    put(clone.root(), "check.sh", "echo 1 passed, 0 failed\n");
    put(clone.root(), "tests/new.sh", "new\n");
    std::fs::remove_file(clone.root().join("tests/old.sh")).unwrap();
    let command = ["sh", "check.sh"].map(str::to_owned);
    let check = check(&judge(&harness).await, &*clone, &command).await;
    assert_eq!(check.own.result.status, TestStatus::Passed);
    let BaseTests::Run { run, restored } = check.base_tests else {
        panic!("the tests of the base did not run");
    };
    assert_eq!(
        run.result.status,
        TestStatus::Failed,
        "{}",
        run.result.output
    );
    assert_eq!(restored, ["check.sh", "tests/new.sh", "tests/old.sh"]);
    let kinds: Vec<WarningKind> = check.warnings.iter().map(|w| w.kind).collect();
    assert_eq!(kinds, [WarningKind::ChangedRunner]);
}

#[tokio::test]
async fn baseline_is_kept_for_the_same_files_and_command() {
    let harness = Harness::new();
    let clone = harness.open().await;
    let judge = judge(&harness).await;
    let command = shell("date +%N; echo 1 passed, 0 failed");
    let run = async |command: &[String]| judge.baseline(&*clone, command).await.unwrap();
    let first: Baseline = run(&command).await;
    assert_eq!(run(&command).await, first);
    let other = shell("date +%N; echo 2 passed, 0 failed");
    assert_ne!(run(&other).await.result.output, first.result.output);

    // What is missing may be installed later, so that is not kept.
    let missing = ["no-such-runner".to_owned()];
    let baseline = run(&missing).await;
    let obstacle = baseline.obstacle.unwrap();
    assert!(obstacle.reason.contains("not found"), "{obstacle:?}");
    assert_eq!(run(&missing).await.result.exit_code, Some(127));
}

#[tokio::test]
async fn failing_tests_are_a_baseline_and_missing_modules_are_not() {
    let harness = Harness::new();
    harness.write("requirements.txt", "pytest\n");
    harness.write("tests/test_a.py", "def test_a(): pass\n");
    harness.commit("python");
    let clone = harness.open().await;
    let judge = judge(&harness).await;
    let red = shell("echo 3 passed, 1 failed; exit 1");
    let baseline = judge.baseline(&*clone, &red).await.unwrap();
    assert_eq!(baseline.obstacle, None);
    assert_eq!(baseline.result.counts.failed, 1);
    let missing = shell("echo /usr/bin/python3: No module named pytest; exit 1");
    let baseline = judge.baseline(&*clone, &missing).await.unwrap();
    let obstacle = baseline.obstacle.unwrap();
    assert_eq!(obstacle.reason, "/usr/bin/python3: No module named pytest");
    let proposal = obstacle.proposal.unwrap();
    assert!(proposal.starts_with("[tests]\ncommand = "), "{proposal}");
    assert!(proposal.contains("setup = "), "{proposal}");
    assert!(!obstacle.in_files);

    let not_built = shell("echo error: could not compile \\`shop\\`; exit 101");
    let baseline = judge.baseline(&*clone, &not_built).await.unwrap();
    let obstacle = baseline.obstacle.unwrap();
    assert!(
        obstacle.in_files && obstacle.proposal.is_none(),
        "{obstacle:?}"
    );
    // A test that is about errors of a compiler ran.
    let red = shell("echo SyntaxError; echo 0 passed, 1 failed; exit 1");
    let baseline = judge.baseline(&*clone, &red).await.unwrap();
    assert_eq!(baseline.obstacle, None);
}
