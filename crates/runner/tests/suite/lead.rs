//! A goal becomes tasks, and the tasks are seen through.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use windlass_core::task::{Dependency, TaskStatus, WorkerKind};
use windlass_runner::{
    AgentPoolManager, GoalParent, LeadAgent, PlanError, PlanOptions, RunnerSettings,
};

use super::sim::agent::{Act, Script, SimAgent};
use super::sim::faults::Rates;
use super::sim::place::GOOD;
use super::sim::world::World;

const PARENT: GoalParent = GoalParent {
    project_id: 1,
    issue_id: None,
};

const DIAMOND: &str = r#"{"tasks":[
    {"title":"model","description":"a","priority":1,"workflow_step":1,"kind":"backend","depends_on":[]},
    {"title":"server","description":"b","priority":1,"workflow_step":2,"kind":"backend","depends_on":[1]},
    {"title":"page","description":"c","priority":1,"workflow_step":3,"kind":"frontend","depends_on":[1]},
    {"title":"end to end","description":"d","priority":2,"workflow_step":4,"kind":"test","depends_on":[2,3]}
]}"#;

fn lead(world: &World, says: &'static str) -> LeadAgent {
    let script: Script = Arc::new(move |_| Act::Say(says));
    LeadAgent {
        runner: Arc::new(world.runner(RunnerSettings::default())),
        pool: AgentPoolManager::default(),
        planner: SimAgent::handle(&world.repo, script, true, &Arc::default()),
        options: PlanOptions::default(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_goal_becomes_a_diamond_and_two_of_it_run_at_once() {
    let world = World::calm(&[Act::Write(GOOD)]);
    let lead = lead(&world, DIAMOND);
    let tasks = lead.plan("a shop", PARENT).await.unwrap();
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
    let history = world.store.look().history.clone();
    let mut at_once = 0;
    let mut most = 0;
    for (_, status) in &history {
        match status {
            TaskStatus::InProgress => at_once += 1,
            TaskStatus::Completed => at_once -= 1,
            _ => {}
        }
        most = most.max(at_once);
    }
    assert_eq!(most, 2);
    let ends: Vec<i64> = history
        .iter()
        .filter(|(_, status)| status.is_final())
        .map(|(id, _)| *id)
        .collect();
    assert_eq!((ends[0], ends[3]), (1, 4));
    let prompts = world.prompts();
    assert!(
        prompts
            .iter()
            .any(|prompt| prompt.contains("frontend engineer"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_failed_task_blocks_its_dependants_with_the_reason() {
    let script: Script = Arc::new(|turn| match turn {
        0 => Act::Write(GOOD),
        1 => Act::Fail { recoverable: false },
        _ => Act::Write(GOOD),
    });
    let world = World::new(1, Rates::default(), script, true);
    let lead = lead(&world, DIAMOND);
    let tasks = lead.plan("a shop", PARENT).await.unwrap();
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
async fn a_plan_of_tasks_that_makes_no_sense_is_refused() {
    let world = World::calm(&[]);
    for (said, why) in [
        (r#"{"tasks":[]}"#, "0 tasks"),
        (
            r#"{"tasks":[{"title":"a","description":"","priority":1,"workflow_step":1,"kind":"backend","depends_on":[1]}]}"#,
            "only tasks before it",
        ),
        (
            r#"{"tasks":[{"title":" ","description":"","priority":1,"workflow_step":1,"kind":"backend","depends_on":[]}]}"#,
            "no title",
        ),
    ] {
        match lead(&world, said).plan("a shop", PARENT).await {
            Err(PlanError::Invalid { problem, .. }) => assert!(problem.contains(why), "{problem}"),
            other => panic!("{said}: {other:?}"),
        }
    }
}
