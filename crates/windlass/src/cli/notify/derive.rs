//! Derives notifications from the event log: a task needs a person, failed or landed.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windlass_core::escape_line;
use windlass_tasks::{
    Approval, Blocker, Broadcast, Channel, LoggedEvent, NewNotification, Project, PushState,
    StoreResult, Task, TaskId, TaskStatus, TaskStore,
};

/// Maximum length of a title and of a text, in characters.
const MAX_TITLE: usize = 200;
const MAX_TEXT: usize = 2_000;

/// A reason to notify a person.
struct Cause {
    /// Unique for the task: one notification for each cause.
    key: String,
    /// `needs_person`, `failed` or `landed`.
    event: &'static str,
    /// What happened, after the task's number.
    what: &'static str,
    text: String,
    /// The command that helps.
    next: String,
}

/// Returns the notifications for these events, for each channel. They describe the tasks as they are now: what was
/// settled in the meantime is omitted.
pub(in super::super) async fn derive(
    store: &dyn TaskStore,
    project: &Project,
    events: &[LoggedEvent],
    channels: &[Channel],
) -> StoreResult<Vec<NewNotification>> {
    let mut tasks = BTreeSet::new();
    for event in events {
        match &event.message {
            Broadcast::TaskStatus { task_id, .. } => {
                tasks.insert(*task_id);
            }
            Broadcast::ActivityUpdate {
                activity_type,
                task_id: Some(task),
                ..
            } if ["approval_requested", "push_failed"].contains(&activity_type.as_str()) => {
                tasks.insert(*task);
            }
            _ => {}
        }
    }
    let approvals = if tasks.is_empty() {
        Vec::new()
    } else {
        store.approvals(true).await?
    };
    let mut notifications = Vec::new();
    for id in tasks {
        let task = store.task(id).await?;
        for cause in causes(store, &task, &approvals).await? {
            let body = body(project, &task, &cause);
            notifications.extend(channels.iter().map(|channel| NewNotification {
                project_id: project.id,
                task_id: task.id,
                cause: cause.key.clone(),
                channel: *channel,
                body: body.clone(),
            }));
        }
    }
    Ok(notifications)
}

/// Returns what a person should know about a task now.
async fn causes(
    store: &dyn TaskStore,
    task: &Task,
    approvals: &[Approval],
) -> StoreResult<Vec<Cause>> {
    let id = task.id;
    let mut causes: Vec<Cause> = approvals
        .iter()
        .filter(|approval| approval.request.attempt.task == id)
        .map(|approval| Cause {
            key: format!("approval:{}", approval.id),
            event: "needs_person",
            what: "asks for permission",
            text: approval.request.tool.clone(),
            next: format!("windlass decide {}", approval.id),
        })
        .collect();
    // A candidate is reported with its task, when that ends.
    if task.candidate_of.is_some() {
        return Ok(causes);
    }
    let output = task.output.clone().unwrap_or_default();
    match task.status {
        TaskStatus::Blocked => {
            let open = store.task_blockers(id).await?.into_iter();
            let open = open.filter(|blocker| blocker.answer.is_none());
            causes.extend(open.map(question));
        }
        TaskStatus::Failed => causes.push(Cause {
            key: format!("failed:{}", task.attempt),
            event: "failed",
            what: "failed",
            text: output,
            next: format!("windlass task show {id}"),
        }),
        TaskStatus::Completed if task.needs_review && task.landed.is_none() => causes.push(Cause {
            key: format!("review:{}", task.attempt),
            event: "needs_person",
            what: "needs a review",
            text: "its proof has warnings".to_owned(),
            next: format!("windlass task show {id}"),
        }),
        _ => {}
    }
    if let Some(landed) = &task.landed {
        causes.push(Cause {
            key: format!("landed:{}", landed.commit),
            event: "landed",
            what: "landed",
            text: format!("commit {}, by {}", landed.commit, landed.by),
            next: format!("windlass task show {id}"),
        });
    }
    for push in store.pushes(id).await? {
        if push.state == PushState::Failed {
            causes.push(Cause {
                key: format!("push:{}:{}", push.remote, push.at.0),
                event: "needs_person",
                what: "was not pushed",
                text: push.error.unwrap_or_default(),
                next: format!("windlass task push {id}"),
            });
        }
    }
    Ok(causes)
}

fn question(blocker: Blocker) -> Cause {
    Cause {
        key: format!("blocked:{}", blocker.id),
        event: "needs_person",
        what: "has a question",
        text: blocker.question,
        next: format!("windlass answer {} TEXT", blocker.id),
    }
}

/// Returns the message. `text` is for people, and is what chat programs show.
fn body(project: &Project, task: &Task, cause: &Cause) -> Value {
    let title = title(task.id, cause.what, &task.title);
    let details: String = cause.text.trim().chars().take(MAX_TEXT).collect();
    json!({
        "event": cause.event,
        "cause": cause.key,
        "title": title,
        "text": format!("{title}\n{details}\nnext: {}", cause.next),
        "details": details,
        "next": cause.next,
        "task": {
            "id": task.id,
            "title": task.title,
            "status": task.status,
            "agent": task.agent,
            "attempt": task.attempt,
            "branch": task.branch,
        },
        "project": { "id": project.id, "name": project.name },
    })
}

fn title(task: TaskId, what: &str, title: &str) -> String {
    let text = format!("task {task} {what}: {title}");
    escape_line(&text).chars().take(MAX_TITLE).collect()
}
