//! One attempt at one task, where only the agent may fail.

use windlass_runner::{ResultStatus, RunnerSettings, StopSignals, branch_name, trace_id};
use windlass_tasks::{
    BlockerId, Blockers, Broadcast, ProjectId, TaskId, TaskStatus, TestPlan, TestStatus,
};

use super::sim::agent::Action;
use super::sim::harness::Harness;
use super::sim::repo::{GOOD, WEAK};

#[tokio::test(start_paused = true)]
async fn failing_test_is_corrected_and_change_is_proved() {
    let harness = Harness::with_actions(&[Action::Write("bad"), Action::Write(GOOD)]);
    let task = harness.add_task("add two numbers");
    let (result, broadcasts) = harness.run_with(&task, RunnerSettings::default()).await;

    assert_eq!(result.status, ResultStatus::Completed);
    assert_eq!(result.files_modified, ["src/lib.rs"]);
    assert_eq!(result.output, "wrote good");
    assert_eq!(result.error, None);
    let task = harness.task(task.id);
    assert_eq!(task.status, TaskStatus::Completed);
    assert_eq!(task.branch.as_deref(), Some("windlass/task-1"));
    assert!(task.completed_at.is_some() && !task.unverified);
    assert_eq!(task.usage.input_tokens, 20);

    let mut memory = harness.store.memory();
    let row = memory.row(task.id).unwrap();
    let proof = row.proof.clone().unwrap();
    assert_eq!(proof.base, "base");
    assert_eq!(proof.tree, "tree of good");
    assert_eq!(proof.log_sha256, "hash over good");
    let statuses: Vec<TestStatus> = row.tests.iter().map(|(_, test)| test.status).collect();
    assert_eq!(statuses, [TestStatus::Failed, TestStatus::Passed]);
    let (_, round) = &row.corrections[0];
    assert_eq!((round.round, round.status), (1, TestStatus::Passed));
    assert_eq!(round.fix_description, "wrote good");
    drop(memory);

    let (text, message) = harness.repo.commits.lock().unwrap()[&proof.commit].clone();
    assert_eq!(text, GOOD);
    assert!(message.ends_with("\nTask-Id: 1\nAttempt: 1\n"), "{message}");
    assert_eq!(
        harness.repo.branches.lock().unwrap()[&branch_name(None, TaskId::from(1))],
        proof.commit
    );
    assert!(
        harness.repo.clones.lock().unwrap().is_empty(),
        "the clone was not removed"
    );
    let prompts = harness.prompts();
    assert!(prompts[1].contains("left: 4, right: 5"), "{}", prompts[1]);
    assert!(prompts[1].contains("output over bad"), "{}", prompts[1]);
    let kinds: Vec<&str> = broadcasts.iter().filter_map(kind).collect();
    assert_eq!(
        kinds,
        [
            "in_progress",
            "test failed",
            "round in_progress",
            "test passed",
            "round success",
            "completed"
        ]
    );
    let trace = &harness.store.memory().traces[&trace_id(windlass_tasks::AttemptRef {
        task: TaskId::from(1),
        number: 1,
    })]
        .1;
    let steps: Vec<&str> = trace
        .children
        .iter()
        .map(|step| step.name.as_str())
        .collect();
    assert_eq!(
        steps,
        [
            "claim", "clone", "baseline", "context", "prompt", "commit", "change", "tests",
            "prompt", "commit", "change", "tests", "publish"
        ]
    );
}

fn kind(message: &Broadcast) -> Option<&'static str> {
    Some(match message {
        Broadcast::TaskStatus { status, .. } => status.as_str(),
        Broadcast::TestResult {
            status: TestStatus::Passed,
            ..
        } => "test passed",
        Broadcast::TestResult { .. } => "test failed",
        Broadcast::CorrectionAttempt { status, .. } if status == "success" => "round success",
        Broadcast::CorrectionAttempt { status, .. } if status == "failed" => "round failed",
        Broadcast::CorrectionAttempt { .. } => "round in_progress",
        _ => return None,
    })
}

#[tokio::test(start_paused = true)]
async fn model_without_tools_returns_files() {
    let harness =
        Harness::with_actions(&[Action::Write("bad"), Action::Write(GOOD)]).without_tools();
    let task = harness.add_task("add two numbers");
    let result = harness.run(&task).await;
    assert_eq!(result.status, ResultStatus::Completed, "{result:?}");
    let prompts = harness.prompts();
    assert!(
        prompts[0].contains("the text of src/lib.rs"),
        "{}",
        prompts[0]
    );
    assert!(prompts[1].contains("+bad"), "{}", prompts[1]);
    assert!(prompts[1].contains("left: 4, right: 5"), "{}", prompts[1]);
    let (_, round) = harness.store.memory().row(task.id).unwrap().corrections[0].clone();
    assert_eq!(round.error_analysis, "it was wrong");
    assert_eq!(round.fix_description, "wrote good");
    assert_eq!(round.code_changes[0]["content"], GOOD);
}

#[tokio::test(start_paused = true)]
async fn unappliable_files_are_reported_to_model() {
    let harness =
        Harness::with_actions(&[Action::Write("outside"), Action::Write(GOOD)]).without_tools();
    let task = harness.add_task("add two numbers");
    let result = harness.run(&task).await;
    assert_eq!(result.status, ResultStatus::Completed, "{result:?}");
    assert!(harness.prompts()[1].contains("path escapes sandbox"));
}

#[tokio::test(start_paused = true)]
async fn weakened_tests_are_listed_in_proof() {
    let harness = Harness::with_actions(&[Action::Write(WEAK)]);
    let task = harness.add_task("make it green");
    assert_eq!(harness.run(&task).await.status, ResultStatus::Completed);
    let proof = harness.store.memory().row(task.id).unwrap().proof.clone();
    let warnings = proof.unwrap().warnings;
    assert_eq!(
        warnings[0].to_string(),
        "removed-tests: these tests are gone: adds"
    );
    assert!(harness.task(task.id).needs_review);
}

#[tokio::test(start_paused = true)]
async fn attempt_without_change_is_blocked() {
    let harness = Harness::with_actions(&[Action::NoChange]);
    let task = harness.add_task("do something");
    let result = harness.run(&task).await;
    assert_eq!(result.status, ResultStatus::Blocked);
    assert!(
        result.output.contains("without changing any file"),
        "{}",
        result.output
    );
    assert!(
        result.output.contains("no change is needed"),
        "{}",
        result.output
    );
    assert_eq!(harness.prompts().len(), 4);
    assert!(harness.prompts()[1].contains("no file in the project differs"));
    assert_eq!(
        *harness.repo.runs.lock().unwrap(),
        0,
        "the tests were run without a change"
    );

    let harness = Harness::with_actions(&[Action::NoChange, Action::Write(GOOD)]);
    let task = harness.add_task("do something");
    assert_eq!(harness.run(&task).await.status, ResultStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn failing_tests_after_last_round_block_with_question() {
    let harness = Harness::with_actions(&[Action::Write("bad")]);
    let task = harness.add_task("add two numbers");
    let (result, broadcasts) = harness.run_with(&task, RunnerSettings::default()).await;
    assert_eq!(result.status, ResultStatus::Blocked);
    assert!(result.output.contains("3 rounds"), "{}", result.output);
    assert!(
        result.output.contains("1 of 2 failed (adds)"),
        "{}",
        result.output
    );
    assert_eq!(harness.task(task.id).status, TaskStatus::Blocked);
    assert_eq!(
        harness
            .store
            .memory()
            .row(task.id)
            .unwrap()
            .corrections
            .len(),
        3
    );
    assert!(harness.repo.branches.lock().unwrap().is_empty());
    let failed = broadcasts
        .iter()
        .filter_map(kind)
        .filter(|kind| *kind == "round failed");
    assert_eq!(failed.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn answer_is_in_next_prompt() {
    let harness = Harness::with_actions(&[
        Action::Write("bad"),
        Action::Write("bad"),
        Action::Write("bad"),
        Action::Write("bad"),
        Action::Write(GOOD),
    ]);
    let task = harness.add_task("add two numbers");
    assert_eq!(harness.run(&task).await.status, ResultStatus::Blocked);
    let task = harness
        .store
        .answer_blocker(BlockerId::from(1), "numbers may be negative".to_owned())
        .await
        .unwrap();
    assert_eq!(harness.run(&task).await.status, ResultStatus::Completed);
    let prompt = &harness.prompts()[4];
    assert!(prompt.contains("numbers may be negative"), "{prompt}");
}

#[tokio::test(start_paused = true)]
async fn unknown_test_command_asks_before_agent_runs() {
    let harness = Harness::with_actions(&[Action::Write(GOOD)]);
    *harness.repo.plan.lock().unwrap() = TestPlan::Unknown;
    let task = harness.add_task("add two numbers");
    let result = harness.run(&task).await;
    assert_eq!(result.status, ResultStatus::Blocked);
    assert!(
        result.output.contains("No test command is known"),
        "{}",
        result.output
    );
    assert!(harness.prompts().is_empty(), "an agent has run");
}

#[tokio::test(start_paused = true)]
async fn project_without_tests_completes_unverified() {
    let harness = Harness::with_actions(&[Action::Write("whatever")]);
    *harness.repo.plan.lock().unwrap() = TestPlan::None;
    let task = harness.add_task("add two numbers");
    assert_eq!(harness.run(&task).await.status, ResultStatus::Completed);
    assert!(harness.task(task.id).unverified);
    assert!(harness.task(task.id).branch.is_some());
}

#[tokio::test(start_paused = true)]
async fn invalid_task_is_rejected_before_status_changes() {
    let harness = Harness::with_actions(&[]);
    let runner = harness.runner(RunnerSettings::default());
    let valid = harness.add_task("a task");
    let invalid = [
        {
            let mut task = valid.clone();
            task.title = " ".to_owned();
            (task, "it has no title")
        },
        {
            let mut task = valid.clone();
            task.id = TaskId::from(0);
            (task, "its id")
        },
        {
            let mut task = valid.clone();
            task.priority = 5;
            (task, "its priority")
        },
        {
            let mut task = valid.clone();
            task.workflow_step = 16;
            (task, "its workflow_step")
        },
        {
            let mut task = valid.clone();
            task.project_id = ProjectId::from(7);
            (task, "there is no project 7")
        },
        {
            let mut task = valid.clone();
            task.id = TaskId::from(99);
            (task, "there is no task 99")
        },
    ];
    for (task, why) in invalid {
        let error = runner
            .execute_task(&task, StopSignals::default())
            .await
            .unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    harness.faults.set(|rates| rates.unavailable = true);
    let error = runner
        .execute_task(&valid, StopSignals::default())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("unavailable"), "{error}");
    assert_eq!(harness.task(valid.id).status, TaskStatus::Pending);
    assert_eq!(harness.task(valid.id).attempt, 0);
}

#[tokio::test(start_paused = true)]
async fn lost_session_is_recreated_with_full_prompt() {
    let harness = Harness::with_actions(&[
        Action::Write("bad"),
        Action::LoseSession,
        Action::Write(GOOD),
    ]);
    let task = harness.add_task("add two numbers");
    assert_eq!(harness.run(&task).await.status, ResultStatus::Completed);
    let prompt = &harness.prompts()[2];
    assert!(
        prompt.contains("add two numbers") && prompt.contains("left: 4, right: 5"),
        "{prompt}"
    );
}
