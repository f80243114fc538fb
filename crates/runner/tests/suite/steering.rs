//! What people tell agents: the note of the project, and messages.

use std::sync::Arc;

use windlass_runner::RunnerSettings;
use windlass_tasks::{Steering, TakeOver, TaskStatus};

use super::sim::agent::Action;
use super::sim::harness::Harness;
use super::sim::repo::GOOD;

#[tokio::test(start_paused = true)]
async fn prompt_contains_the_note_and_the_messages() {
    let harness = Harness::with_actions(&[Action::Write(GOOD)]);
    let task = harness.add_task("a task");
    let note = "Use tabs.\n```\nnot the end\n```\n";
    harness
        .store
        .set_project_note(task.project_id, note.to_owned())
        .await
        .unwrap();
    let send = |text: &str| {
        harness
            .store
            .send_message(task.id, "ann".to_owned(), text.to_owned())
    };
    send("be quick").await.unwrap();
    harness.run(&task).await;
    let prompts = harness.prompts();
    assert!(prompts[0].contains("````\nUse tabs."), "{}", prompts[0]);
    assert!(prompts[0].contains("**ann:** be quick"), "{}", prompts[0]);
    assert_eq!(
        prompts.len(),
        1,
        "a message in the first prompt needs no turn"
    );
    let messages = harness.store.messages(task.id).await.unwrap();
    assert_eq!(messages[0].attempt, Some(1));
}

#[tokio::test(start_paused = true)]
async fn message_during_a_turn_is_the_next_turn() {
    let harness = Arc::new(Harness::with_actions(&[
        Action::Write(GOOD),
        Action::NoChange,
    ]));
    let task = harness.add_task("a task");
    let running = {
        let (harness, task) = (Arc::clone(&harness), task.clone());
        async move { harness.run_with(&task, RunnerSettings::default()).await.0 }
    };
    let talking = async {
        while harness.prompts().is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        let text = "also the docs".to_owned();
        let sent = harness.store.send_message(task.id, "ann".to_owned(), text);
        sent.await.unwrap();
    };
    tokio::join!(running, talking);
    assert_eq!(harness.task(task.id).status, TaskStatus::Completed);
    let prompts = harness.prompts();
    let with_message = prompts
        .iter()
        .filter(|prompt| prompt.contains("also the docs"));
    assert_eq!(with_message.count(), 1, "{prompts:#?}");
    assert_eq!(prompts.len(), 2, "{prompts:#?}");
}
