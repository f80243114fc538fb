//! An attempt that deals with the comments of reviewers.

use windlass_runner::ResultStatus;
use windlass_tasks::{
    AttemptRecords, AuthorKind, NewReview, ReviewComment, ReviewDecision, Reviews, Task, TaskQueue,
};

use super::sim::agent::Action;
use super::sim::harness::Harness;
use super::sim::repo::GOOD;

const WRITE: Action = Action::Write(GOOD);

/// Completes a task, and requests changes of its version.
async fn sent_back(harness: &Harness) -> Task {
    let task = harness.add_task("a task");
    assert_eq!(harness.run(&task).await.status, ResultStatus::Completed);
    let review = NewReview {
        task_id: task.id,
        attempt: 1,
        decision: ReviewDecision::RequestChanges,
        author: "Ada".to_owned(),
        author_kind: AuthorKind::Person,
        text: "Nearly.".to_owned(),
        comments: vec![ReviewComment {
            path: "src/lib.rs".to_owned(),
            line: Some(3),
            quote: Some("let x = 1;".to_owned()),
            text: "Rename it.".to_owned(),
            ..ReviewComment::default()
        }],
    };
    harness.store.add_review(review).await.unwrap().1
}

fn has_review(prompt: &str) -> bool {
    let parts = [
        "# Review of version 1",
        "> Nearly.",
        "src/lib.rs, line 3: `let x = 1;`",
        "> Rename it.",
    ];
    parts.iter().all(|part| prompt.contains(part))
}

async fn sessions(harness: &Harness, task: &Task) -> Vec<Option<String>> {
    let attempts = harness.store.attempts(task.id).await.unwrap();
    let sessions = attempts.into_iter().map(|attempt| attempt.session);
    sessions.map(|one| one.map(|one| one.id)).collect()
}

#[tokio::test(start_paused = true)]
async fn comments_continue_the_session_that_made_the_change() {
    let harness = Harness::with_actions(&[WRITE]);
    let task = sent_back(&harness).await;
    assert_eq!(harness.run(&task).await.status, ResultStatus::Completed);
    let prompts = harness.prompts();
    assert!(prompts[0].contains("# Task: a task"), "{}", prompts[0]);
    assert!(!prompts[0].contains("Review of version"), "{}", prompts[0]);
    assert!(has_review(&prompts[1]), "{}", prompts[1]);
    assert!(!prompts[1].contains("# Task:"), "{}", prompts[1]);
    let sessions = sessions(&harness, &task).await;
    assert_eq!(sessions[0], sessions[1]);
    assert!(sessions[0].is_some());
    // The version is new: its comments are done.
    let now = harness.store.task(task.id).await.unwrap();
    assert_eq!(now.review, None);
    assert_eq!(harness.store.open_reviews(task.id).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn lost_session_is_replaced_by_one_with_the_whole_task() {
    let harness = Harness::with_actions(&[WRITE, Action::LoseSession, WRITE]);
    let task = sent_back(&harness).await;
    assert_eq!(harness.run(&task).await.status, ResultStatus::Completed);
    let prompts = harness.prompts();
    assert_eq!(prompts.len(), 3, "{prompts:?}");
    assert!(has_review(&prompts[2]), "{}", prompts[2]);
    assert!(prompts[2].contains("# Task: a task"), "{}", prompts[2]);
    let reviews = prompts[2].matches("# Review of version 1").count();
    assert_eq!(reviews, 1, "{}", prompts[2]);
    let sessions = sessions(&harness, &task).await;
    assert_ne!(sessions[0], sessions[1]);
}

#[tokio::test(start_paused = true)]
async fn comments_stay_open_until_an_attempt_completes_the_task() {
    let fail = Action::Fail { recoverable: true };
    let harness = Harness::with_actions(&[WRITE, fail, WRITE]);
    let task = sent_back(&harness).await;
    assert_eq!(harness.run(&task).await.status, ResultStatus::Failed);
    let again = harness.store.task(task.id).await.unwrap();
    assert_eq!(again.review, Some(ReviewDecision::RequestChanges));
    assert_eq!(harness.run(&again).await.status, ResultStatus::Completed);
    let prompts = harness.prompts();
    assert!(has_review(&prompts[2]), "{}", prompts[2]);
}

/// A model without tools gets the comments with the whole task.
#[tokio::test(start_paused = true)]
async fn comments_reach_a_model_that_returns_files() {
    let harness = Harness::with_actions(&[WRITE]).without_tools();
    let task = sent_back(&harness).await;
    assert_eq!(harness.run(&task).await.status, ResultStatus::Completed);
    let prompts = harness.prompts();
    assert!(has_review(&prompts[1]), "{}", prompts[1]);
    assert!(prompts[1].contains("# Task: a task"), "{}", prompts[1]);
    assert_eq!(sessions(&harness, &task).await, [None, None]);
}
