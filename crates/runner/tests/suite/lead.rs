//! A goal becomes tasks, and the tasks are run.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use windlass_runner::{
    AgentPoolManager, GoalParent, LeadAgent, PlanError, PlanOptions, RunnerSettings,
};
use windlass_tasks::{Dependency, ProjectId, TaskId, TaskStatus, WorkerKind};

use super::sim::agent::{Action, Script, SimAgent};
use super::sim::faults::Rates;
use super::sim::harness::Harness;
use super::sim::repo::GOOD;

fn parent() -> GoalParent {
    GoalParent {
        project_id: ProjectId::from(1),
        issue_id: None,
    }
}

const DIAMOND: &str = r#"{"tasks":[
    {"title":"model","description":"a","priority":1,"workflow_step":1,"kind":"backend","depends_on":[]},
    {"title":"server","description":"b","priority":1,"workflow_step":2,"kind":"backend","depends_on":[1]},
    {"title":"page","description":"c","priority":1,"workflow_step":3,"kind":"frontend","depends_on":[1]},
    {"title":"end to end","description":"d","priority":2,"workflow_step":4,"kind":"test","depends_on":[2,3]}
]}"#;

fn lead(harness: &Harness, answer: &'static str) -> LeadAgent {
    let script: Script = Arc::new(move |_| Action::Answer(answer));
    LeadAgent {
        runner: Arc::new(harness.runner(RunnerSettings::default())),
        pool: AgentPoolManager::default(),
        planner: SimAgent::handle(&harness.repo, script, true, &Arc::default()),
        options: PlanOptions::default(),
    }
}

#[tokio::test(start_paused = true)]
async fn goal_becomes_diamond_and_two_tasks_run_concurrently() {
    let harness = Harness::with_actions(&[Action::Write(GOOD)]);
    let lead = lead(&harness, DIAMOND);
    let tasks = lead.plan("a shop", parent()).await.unwrap();
    assert_eq!(tasks.len(), 4);
    assert_eq!(tasks[2].kind, WorkerKind::Frontend);
    assert_eq!(
        tasks[3].dependencies,
        [Dependency::Sibling(1), Dependency::Sibling(2)]
    );

    let done = lead.run(tasks, CancellationToken::new()).await.unwrap();
    assert!(
        done.iter().all(|task| task.status == TaskStatus::Completed),
        "{done:?}"
    );
    let history = harness.store.memory().history.clone();
    let mut running = 0;
    let mut max_running = 0;
    for (_, status) in &history {
        match status {
            TaskStatus::InProgress => running += 1,
            TaskStatus::Completed => running -= 1,
            _ => {}
        }
        max_running = max_running.max(running);
    }
    assert_eq!(max_running, 2);
    let ends: Vec<TaskId> = history
        .iter()
        .filter(|(_, status)| status.is_final())
        .map(|(id, _)| *id)
        .collect();
    assert_eq!((ends[0], ends[3]), (TaskId::from(1), TaskId::from(4)));
    let prompts = harness.prompts();
    assert!(
        prompts
            .iter()
            .any(|prompt| prompt.contains("frontend engineer"))
    );
}

#[tokio::test(start_paused = true)]
async fn failed_task_blocks_dependents_with_reason() {
    let script: Script = Arc::new(|turn| match turn {
        0 => Action::Write(GOOD),
        1 => Action::Fail { recoverable: false },
        _ => Action::Write(GOOD),
    });
    let harness = Harness::new(1, Rates::default(), script, true);
    let lead = lead(&harness, DIAMOND);
    let tasks = lead.plan("a shop", parent()).await.unwrap();
    let done = lead.run(tasks, CancellationToken::new()).await.unwrap();
    let statuses: Vec<TaskStatus> = done.iter().map(|task| task.status).collect();
    let failed = done
        .iter()
        .find(|task| task.status == TaskStatus::Failed)
        .unwrap();
    assert_eq!(statuses[0], TaskStatus::Completed);
    assert_eq!(statuses[3], TaskStatus::Blocked);
    assert_eq!(
        done[3].output.as_deref(),
        Some(format!("task {} is failed", failed.id).as_str())
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_task_plan_is_rejected() {
    let harness = Harness::with_actions(&[]);
    for (answer, why) in [
        (r#"{"tasks":[]}"#, "0 tasks"),
        (
            r#"{"tasks":[{"title":"a","description":"","priority":1,"workflow_step":1,"kind":"backend","depends_on":[1]}]}"#,
            "only on earlier tasks",
        ),
        (
            r#"{"tasks":[{"title":" ","description":"","priority":1,"workflow_step":1,"kind":"backend","depends_on":[]}]}"#,
            "no title",
        ),
    ] {
        match lead(&harness, answer).plan("a shop", parent()).await {
            Err(PlanError::Invalid { problem, .. }) => assert!(problem.contains(why), "{problem}"),
            other => panic!("{answer}: {other:?}"),
        }
    }
}
