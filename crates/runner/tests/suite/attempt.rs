//! One attempt at one task, in a world where only the agent may be at fault.

use windlass_core::task::{Broadcast, TaskStatus, TestStatus};
use windlass_core::workspace::TestPlan;
use windlass_runner::{ResultStatus, RunnerSettings, StopSignals, branch_name, trace_id};

use super::sim::agent::Act;
use super::sim::place::{GOOD, WEAK};
use super::sim::world::World;

#[tokio::test(start_paused = true)]
async fn a_red_test_is_corrected_and_the_change_proven() {
    let world = World::calm(&[Act::Write("bad"), Act::Write(GOOD)]);
    let task = world.task("add two numbers");
    let (result, told) = world.watch(&task, RunnerSettings::default()).await;

    assert_eq!(result.status, ResultStatus::Completed);
    assert_eq!(result.files_modified, ["src/lib.rs"]);
    assert_eq!(result.output, "wrote good");
    assert_eq!(result.error, None);
    let task = world.now(task.id);
    assert_eq!(task.status, TaskStatus::Completed);
    assert_eq!(task.branch.as_deref(), Some("windlass/task-1"));
    assert!(task.completed_at.is_some() && !task.unverified);
    assert_eq!(task.usage.input_tokens, 20);

    let mut memory = world.store.look();
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

    let (text, message) = world.repo.commits.lock().unwrap()[&proof.commit].clone();
    assert_eq!(text, GOOD);
    assert!(
        message.ends_with("\n\nTask-Id: 1\nAttempt: 1\n"),
        "{message}"
    );
    assert_eq!(
        world.repo.branches.lock().unwrap()[&branch_name(1)],
        proof.commit
    );
    assert!(
        world.repo.folders.lock().unwrap().is_empty(),
        "the clone stays behind"
    );
    let prompts = world.prompts();
    assert!(prompts[1].contains("left: 4, right: 5"), "{}", prompts[1]);
    assert!(prompts[1].contains("output over bad"), "{}", prompts[1]);
    let kinds: Vec<&str> = told.iter().filter_map(kind).collect();
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
    let trace = &world.store.look().traces
        [&trace_id(windlass_core::task::AttemptRef { task: 1, number: 1 })]
        .1;
    let steps: Vec<&str> = trace
        .children
        .iter()
        .map(|step| step.name.as_str())
        .collect();
    assert_eq!(
        steps,
        [
            "claim", "clone", "context", "prompt", "change", "tests", "prompt", "change", "tests",
            "commit", "publish"
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
async fn a_model_without_tools_gives_the_files_back() {
    let world = World::calm(&[Act::Write("bad"), Act::Write(GOOD)]).generating();
    let task = world.task("add two numbers");
    let result = world.run(&task).await;
    assert_eq!(result.status, ResultStatus::Completed, "{result:?}");
    let prompts = world.prompts();
    assert!(
        prompts[0].contains("the text of src/lib.rs"),
        "{}",
        prompts[0]
    );
    assert!(prompts[1].contains("+bad"), "{}", prompts[1]);
    assert!(prompts[1].contains("left: 4, right: 5"), "{}", prompts[1]);
    let (_, round) = world.store.look().row(task.id).unwrap().corrections[0].clone();
    assert_eq!(round.error_analysis, "it was wrong");
    assert_eq!(round.fix_description, "wrote good");
    assert_eq!(round.code_changes[0]["content"], GOOD);
}

#[tokio::test(start_paused = true)]
async fn files_that_cannot_be_put_in_place_go_back_to_the_model() {
    let world = World::calm(&[Act::Write("outside"), Act::Write(GOOD)]).generating();
    let task = world.task("add two numbers");
    let result = world.run(&task).await;
    assert_eq!(result.status, ResultStatus::Completed, "{result:?}");
    assert!(world.prompts()[1].contains("path escapes sandbox"));
}

#[tokio::test(start_paused = true)]
async fn weakened_tests_stand_in_the_proof() {
    let world = World::calm(&[Act::Write(WEAK)]);
    let task = world.task("make it green");
    assert_eq!(world.run(&task).await.status, ResultStatus::Completed);
    let proof = world.store.look().row(task.id).unwrap().proof.clone();
    assert_eq!(proof.unwrap().warnings, ["tests/all.rs: deleted"]);
}

#[tokio::test(start_paused = true)]
async fn done_without_a_change_is_not_done() {
    let world = World::calm(&[Act::Nothing]);
    let task = world.task("do something");
    let result = world.run(&task).await;
    assert_eq!(result.status, ResultStatus::Blocked);
    assert!(
        result.output.contains("no file has changed"),
        "{}",
        result.output
    );
    assert!(
        result.output.contains("all is well already"),
        "{}",
        result.output
    );
    assert_eq!(world.prompts().len(), 4);
    assert!(world.prompts()[1].contains("no file in the project differs"));
    assert_eq!(
        *world.repo.runs.lock().unwrap(),
        0,
        "nothing was there to test"
    );

    let world = World::calm(&[Act::Nothing, Act::Write(GOOD)]);
    let task = world.task("do something");
    assert_eq!(world.run(&task).await.status, ResultStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn red_after_the_last_round_is_a_question() {
    let world = World::calm(&[Act::Write("bad")]);
    let task = world.task("add two numbers");
    let (result, told) = world.watch(&task, RunnerSettings::default()).await;
    assert_eq!(result.status, ResultStatus::Blocked);
    assert!(result.output.contains("3 rounds"), "{}", result.output);
    assert!(
        result.output.contains("1 of 2 failed (adds)"),
        "{}",
        result.output
    );
    assert_eq!(world.now(task.id).status, TaskStatus::Blocked);
    assert_eq!(
        world.store.look().row(task.id).unwrap().corrections.len(),
        3
    );
    assert!(world.repo.branches.lock().unwrap().is_empty());
    let failed = told
        .iter()
        .filter_map(kind)
        .filter(|kind| *kind == "round failed");
    assert_eq!(failed.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_answer_stands_in_the_next_prompt() {
    use windlass_core::TaskStore;
    let world = World::calm(&[
        Act::Write("bad"),
        Act::Write("bad"),
        Act::Write("bad"),
        Act::Write("bad"),
        Act::Write(GOOD),
    ]);
    let task = world.task("add two numbers");
    assert_eq!(world.run(&task).await.status, ResultStatus::Blocked);
    let task = world
        .store
        .answer_blocker(1, "numbers may be negative".to_owned())
        .await
        .unwrap();
    assert_eq!(world.run(&task).await.status, ResultStatus::Completed);
    let prompt = &world.prompts()[4];
    assert!(prompt.contains("numbers may be negative"), "{prompt}");
}

#[tokio::test(start_paused = true)]
async fn nobody_knows_the_tests_so_a_person_is_asked_first() {
    let world = World::calm(&[Act::Write(GOOD)]);
    *world.repo.plan.lock().unwrap() = TestPlan::Unknown;
    let task = world.task("add two numbers");
    let result = world.run(&task).await;
    assert_eq!(result.status, ResultStatus::Blocked);
    assert!(
        result.output.contains("No test command is known"),
        "{}",
        result.output
    );
    assert!(world.prompts().is_empty(), "an agent has run");
}

#[tokio::test(start_paused = true)]
async fn without_tests_it_is_completed_unverified() {
    let world = World::calm(&[Act::Write("whatever")]);
    *world.repo.plan.lock().unwrap() = TestPlan::None;
    let task = world.task("add two numbers");
    assert_eq!(world.run(&task).await.status, ResultStatus::Completed);
    assert!(world.now(task.id).unverified);
    assert!(world.now(task.id).branch.is_some());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_worked_on_is_refused_before_anything_changes() {
    let world = World::calm(&[]);
    let runner = world.runner(RunnerSettings::default());
    let good = world.task("a task");
    let bad = [
        {
            let mut task = good.clone();
            task.title = " ".to_owned();
            (task, "it has no title")
        },
        {
            let mut task = good.clone();
            task.id = 0;
            (task, "its id")
        },
        {
            let mut task = good.clone();
            task.priority = 5;
            (task, "its priority")
        },
        {
            let mut task = good.clone();
            task.workflow_step = 16;
            (task, "its workflow_step")
        },
        {
            let mut task = good.clone();
            task.project_id = 7;
            (task, "there is no project 7")
        },
        {
            let mut task = good.clone();
            task.id = 99;
            (task, "there is no task 99")
        },
    ];
    for (task, why) in bad {
        let refused = runner
            .execute_task(&task, StopSignals::default())
            .await
            .unwrap_err();
        assert!(refused.to_string().contains(why), "{refused}");
    }
    world.faults.set(|rates| rates.away = true);
    let refused = runner
        .execute_task(&good, StopSignals::default())
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("away"), "{refused}");
    assert_eq!(world.now(good.id).status, TaskStatus::Pending);
    assert_eq!(world.now(good.id).attempt, 0);
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_is_begun_anew_with_all_that_matters() {
    let world = World::calm(&[Act::Write("bad"), Act::Orphan, Act::Write(GOOD)]);
    let task = world.task("add two numbers");
    assert_eq!(world.run(&task).await.status, ResultStatus::Completed);
    let prompt = &world.prompts()[2];
    assert!(
        prompt.contains("add two numbers") && prompt.contains("left: 4, right: 5"),
        "{prompt}"
    );
}
