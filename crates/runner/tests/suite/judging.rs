//! What counts as done: baselines, broken and named tests, and warnings.

use windlass_runner::{ResultStatus, RunnerSettings, branch_name};
use windlass_tasks::{
    BlockerId, Blockers, NewTask, Obstacle, ProjectId, Proof, TaskId, TaskStatus, WarningKind,
};

use super::sim::agent::Action;
use super::sim::harness::Harness;
use super::sim::repo::{GOOD, NO_TESTS};

fn proof(harness: &Harness) -> Proof {
    harness
        .store
        .memory()
        .row(TaskId::from(1))
        .unwrap()
        .proof
        .clone()
        .unwrap()
}

fn kinds(proof: &Proof) -> Vec<WarningKind> {
    proof.warnings.iter().map(|warning| warning.kind).collect()
}

#[tokio::test(start_paused = true)]
async fn p20_change_without_a_test_is_never_green() {
    let harness = Harness::with_actions(&[Action::Write(NO_TESTS)]);
    let task = harness.add_task("make it green");
    let result = harness.run(&task).await;
    assert_eq!(result.status, ResultStatus::Blocked);
    assert!(result.output.contains("no test ran"), "{}", result.output);
    assert!(harness.prompts()[1].contains("no test ran"));
    assert!(harness.repo.branches.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn agent_is_not_started_if_tests_cannot_run() {
    let harness = Harness::with_actions(&[Action::Write(GOOD)]);
    *harness.repo.base_text.lock().unwrap() = "broken";
    *harness.repo.obstacle.lock().unwrap() = Some(Obstacle {
        reason: "No module named pytest".to_owned(),
        proposal: Some("[tests]\nsetup = [\"make\", \"venv\"]".to_owned()),
        in_files: false,
    });
    let task = harness.add_task("a task");
    let result = harness.run(&task).await;
    assert_eq!(result.status, ResultStatus::Blocked);
    for text in [
        "`check` exited with 1",
        "No module named pytest",
        "setup = [\"make\", \"venv\"]",
        "windlass task accept-setup 1",
    ] {
        assert!(result.output.contains(text), "{text}: {}", result.output);
    }
    assert!(harness.prompts().is_empty(), "an agent was started");
}

#[tokio::test(start_paused = true)]
async fn agent_repairs_a_base_that_does_not_build_only_if_a_person_says_so() {
    let harness = Harness::with_actions(&[Action::Write(GOOD)]);
    *harness.repo.base_text.lock().unwrap() = "broken";
    *harness.repo.obstacle.lock().unwrap() = Some(Obstacle {
        reason: "error: could not compile `shop`".to_owned(),
        proposal: None,
        in_files: true,
    });
    let task = harness.add_task("a task");
    let result = harness.run(&task).await;
    assert_eq!(result.status, ResultStatus::Blocked);
    assert!(
        result.output.contains("could not compile"),
        "{}",
        result.output
    );
    assert!(harness.prompts().is_empty(), "an agent was started");

    let answered = harness
        .store
        .answer_blocker(BlockerId::from(1), "repair it".to_owned());
    let task = answered.await.unwrap();
    assert_eq!(harness.run(&task).await.status, ResultStatus::Completed);
    assert!(harness.prompts()[0].contains("repair it"));
}

#[tokio::test(start_paused = true)]
async fn question_has_failing_tests_messages_command_and_change() {
    let harness = Harness::with_actions(&[Action::Write("bad")]);
    let task = harness.add_task("a task");
    let question = harness.run(&task).await.output;
    for text in ["`check`", "adds: left: 4, right: 5", "+bad"] {
        assert!(question.contains(text), "{text}: {question}");
    }
}

#[tokio::test(start_paused = true)]
async fn tests_that_failed_before_are_asked_about_once_and_reported() {
    let harness = Harness::with_actions(&[Action::Write("bad")]);
    *harness.repo.base_text.lock().unwrap() = "red";
    let task = harness.add_task("a task");
    assert_eq!(harness.run(&task).await.status, ResultStatus::Completed);
    let prompts = harness.prompts();
    assert_eq!(prompts.len(), 2);
    assert!(prompts[0].contains("Before your change: 1 of 2 failed (adds)"));
    assert!(
        prompts[1].contains("still fail:\n\n- adds"),
        "{}",
        prompts[1]
    );
    let proof = proof(&harness);
    assert_eq!(kinds(&proof), [WarningKind::StillFailing]);
    assert_eq!(proof.cases.unwrap().still_failing, ["adds"]);
    assert!(harness.task(task.id).needs_review);

    // A round for another reason does not count, unless it was the last.
    let (empty, bad, good) = (Action::NoChange, Action::Write("bad"), Action::Write(GOOD));
    for (actions, needs_review) in [
        (vec![bad, good], false),
        (vec![empty, bad, good], false),
        (vec![empty, empty, empty, bad], true),
    ] {
        let harness = Harness::with_actions(&actions);
        *harness.repo.base_text.lock().unwrap() = "red";
        let task = harness.add_task("a task");
        assert_eq!(harness.run(&task).await.status, ResultStatus::Completed);
        assert_eq!(harness.task(task.id).needs_review, needs_review);
    }
}

#[tokio::test(start_paused = true)]
async fn named_test_must_pass() {
    let named = |name: &str| NewTask {
        tests: vec![name.to_owned()],
        ..NewTask::new(ProjectId::from(1), "fix it")
    };
    let harness = Harness::with_actions(&[Action::Write("bad"), Action::Write(GOOD)]);
    *harness.repo.base_text.lock().unwrap() = "red";
    let task = harness.add(named("adds"));
    assert_eq!(harness.run(&task).await.status, ResultStatus::Completed);
    let prompts = harness.prompts();
    assert!(prompts[0].contains("These tests must pass: adds."));
    assert!(prompts[1].contains("the test adds, which the task is about, did not pass"));
    let fixed = proof(&harness).cases.unwrap().fixed;
    assert_eq!(fixed, ["adds"]);

    let harness = Harness::with_actions(&[Action::Write(GOOD)]);
    let task = harness.add(named("add"));
    let result = harness.run(&task).await;
    assert_eq!(result.status, ResultStatus::Blocked);
    assert!(result.output.contains("did not run"), "{}", result.output);
}

#[tokio::test(start_paused = true)]
async fn p20_edit_after_the_tested_commit_is_not_published() {
    let harness = Harness::with_actions(&[Action::WriteInBackground("bad")]);
    let task = harness.add_task("a task");
    let (result, _) = harness.run_with(&task, RunnerSettings::default()).await;
    assert_eq!(result.status, ResultStatus::Completed);
    assert_eq!(harness.task(task.id).status, TaskStatus::Completed);
    let proof = proof(&harness);
    assert_eq!(kinds(&proof), [WarningKind::EditedAfterTests]);
    assert_eq!(proof.tree, "tree of good");
    let branches = harness.repo.branches.lock().unwrap();
    let commits = harness.repo.commits.lock().unwrap();
    assert_eq!(
        commits[&branches[&branch_name(None, TaskId::from(1))]].0,
        GOOD
    );
}
