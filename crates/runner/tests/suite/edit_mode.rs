//! How a model that does not use its tools gets its change done.

use windlass_core::{EditMode, PermissionPolicy};
use windlass_runner::{ResultStatus, RunnerSettings};

use super::sim::agent::Action;
use super::sim::harness::Harness;
use super::sim::repo::GOOD;

fn harness(mode: EditMode, actions: &[Action]) -> Harness {
    let harness = Harness::with_actions(actions);
    harness.agent.lock().unwrap().edit_mode = Some(mode);
    harness
}

/// Returns for each turn whether a call was required, and whether there were no tools.
fn turns(harness: &Harness) -> Vec<(bool, bool)> {
    harness.agent.lock().unwrap().turns.clone()
}

#[tokio::test(start_paused = true)]
async fn model_that_changes_nothing_must_call_a_tool_and_then_returns_files() {
    let actions = [Action::NoChange, Action::NoChange, Action::Write(GOOD)];
    let harness = harness(EditMode::Auto, &actions);
    let task = harness.add_task("do something");
    let result = harness.run(&task).await;
    assert_eq!(result.status, ResultStatus::Completed, "{}", result.output);
    let expected = [(false, false), (true, false), (false, true)];
    assert_eq!(turns(&harness), expected);
    let last = &harness.prompts()[2];
    assert!(last.contains("complete new content"), "{last}");
    assert!(last.contains("src/lib.rs"), "{last}");
}

#[tokio::test(start_paused = true)]
async fn required_call_that_changes_a_file_is_enough() {
    let actions = [Action::NoChange, Action::Write(GOOD)];
    let harness = harness(EditMode::Auto, &actions);
    let task = harness.add_task("do something");
    assert_eq!(harness.run(&task).await.status, ResultStatus::Completed);
    assert_eq!(turns(&harness), [(false, false), (true, false)]);
}

#[tokio::test(start_paused = true)]
async fn whole_files_are_used_from_the_start_and_in_every_round() {
    let actions = [Action::Write("bad"), Action::Write(GOOD)];
    let harness = harness(EditMode::WholeFiles, &actions);
    let task = harness.add_task("do something");
    let result = harness.run(&task).await;
    assert_eq!(result.status, ResultStatus::Completed, "{}", result.output);
    assert_eq!(turns(&harness), [(false, true), (false, true)]);
}

#[tokio::test(start_paused = true)]
async fn unusable_files_get_another_round() {
    let actions = [
        Action::Answer("I fixed it."),
        Action::Answer("I fixed it."),
        Action::Answer("I fixed it."),
        Action::Write(GOOD),
    ];
    let harness = harness(EditMode::WholeFiles, &actions);
    let task = harness.add_task("do something");
    let result = harness.run(&task).await;
    assert_eq!(result.status, ResultStatus::Completed, "{}", result.output);
    assert_eq!(harness.prompts().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn agent_with_its_own_tools_is_never_asked_for_files() {
    for (mode, permissions) in [
        (EditMode::Tools, PermissionPolicy::Allow),
        (EditMode::Auto, PermissionPolicy::Ask),
        (EditMode::WholeFiles, PermissionPolicy::Deny),
    ] {
        let harness = harness(mode, &[Action::NoChange]);
        let task = harness.add_task("do something");
        let settings = RunnerSettings {
            permissions,
            ..RunnerSettings::default()
        };
        let (result, _) = harness.run_with(&task, settings).await;
        assert_eq!(result.status, ResultStatus::Blocked, "{mode:?}");
        assert_eq!(turns(&harness), [(false, false); 4], "{mode:?}");
    }
}
