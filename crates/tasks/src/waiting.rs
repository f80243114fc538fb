//! Why no registered worker can take a task.

use crate::task::{Task, TaskStatus};
use crate::worker::{RegisteredWorker, WorkerState};

/// Returns why no registered worker can take a pending task, or `None` if one can. `reaches` says whether a worker can
/// get the files of the task's project.
///
/// Without any worker, only what the task needs is a reason: a worker that is started next may be the one.
pub fn waiting_reason(
    task: &Task,
    workers: &[RegisteredWorker],
    reaches: impl Fn(&RegisteredWorker) -> bool,
) -> Option<String> {
    if task.status != TaskStatus::Pending || task.paused {
        return None;
    }
    let is_active = |worker: &&RegisteredWorker| worker.state == WorkerState::Active;
    let mut left: Vec<&RegisteredWorker> = workers.iter().filter(is_active).collect();
    if left.is_empty() && task.needs.is_empty() {
        return None;
    }
    // Each condition in turn excludes workers; the one that excludes the last is the reason.
    left.retain(|worker| worker.project_id.is_none_or(|id| id == task.project_id));
    if left.is_empty() && task.needs.is_empty() {
        return Some("no worker is for this project".to_owned());
    }
    for label in &task.needs {
        left.retain(|worker| worker.labels.contains(label));
        if left.is_empty() {
            return Some(match task.needs.as_slice() {
                [_] => format!("no worker has the label {label}"),
                several => format!("no worker has the labels {}", several.join(", ")),
            });
        }
    }
    left.retain(|worker| worker.kinds.is_empty() || worker.kinds.contains(&task.kind));
    if left.is_empty() {
        return Some(format!("no worker is for the kind {}", task.kind.as_str()));
    }
    if let Some(agent) = &task.agent {
        left.retain(|worker| has_agent(&worker.agents, agent));
        if left.is_empty() {
            return Some(format!("no worker has the agent {agent}"));
        }
    }
    left.retain(|worker| reaches(worker));
    let is_unreachable = left.is_empty();
    is_unreachable.then(|| "no worker has a checkout or a remote of its project".to_owned())
}

/// Returns `true` if a task's agent is one of these: by its name, or by its name and a model, `NAME/MODEL`.
pub fn has_agent(agents: &[String], agent: &str) -> bool {
    agents.iter().any(|name| {
        let rest = agent.strip_prefix(name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ProjectId, TaskId, WorkerId};
    use crate::task::WorkerKind;
    use windlass_core::{Timestamp, Usage};

    fn task() -> Task {
        let json = serde_json::json!({
            "id": TaskId::from(1), "project_id": 1, "issue_id": null, "title": "a task", "description": "",
            "status": "pending", "priority": 2, "workflow_step": 1, "dependencies": [], "kind": "backend",
            "agent": null, "idempotency_key": null, "attempt": 0, "max_attempts": 3, "output": null,
            "unverified": false, "branch": null, "usage": Usage::default(), "created_at": 0, "updated_at": 0,
            "completed_at": null,
        });
        serde_json::from_value(json).unwrap()
    }

    fn worker() -> RegisteredWorker {
        RegisteredWorker {
            id: WorkerId::from(1),
            name: "a worker".to_owned(),
            machine: "a machine".to_owned(),
            version: "0.1.0".to_owned(),
            state: WorkerState::Active,
            labels: vec!["linux".to_owned()],
            kinds: Vec::new(),
            agents: vec!["codex".to_owned()],
            project_id: None,
            lanes: 1,
            running: 0,
            started_at: Timestamp(0),
            seen_at: Timestamp(0),
            seen_seconds_ago: 0,
        }
    }

    #[track_caller]
    fn check(change: impl Fn(&mut Task, &mut RegisteredWorker), expected: Option<&str>) {
        let (mut task, mut worker) = (task(), worker());
        change(&mut task, &mut worker);
        let reason = waiting_reason(&task, &[worker], |worker| worker.machine == "a machine");
        assert_eq!(reason.as_deref(), expected);
    }

    #[test]
    fn reason_names_the_first_thing_that_no_worker_has() {
        check(|_, _| {}, None);
        check(|task, _| task.needs = vec!["linux".to_owned()], None);
        let needs = |task: &mut Task, labels: &[&str]| {
            task.needs = labels.iter().map(|label| (*label).to_owned()).collect();
        };
        check(
            |task, _| needs(task, &["gpu"]),
            Some("no worker has the label gpu"),
        );
        check(
            |task, _| needs(task, &["gpu", "linux"]),
            Some("no worker has the labels gpu, linux"),
        );
        check(|task, _| task.agent = Some("codex/gpt-5".to_owned()), None);
        check(
            |task, _| task.agent = Some("codexes".to_owned()),
            Some("no worker has the agent codexes"),
        );
        check(
            |_, worker| worker.kinds = vec![WorkerKind::Test],
            Some("no worker is for the kind backend"),
        );
        check(
            |_, worker| worker.project_id = Some(ProjectId::from(2)),
            Some("no worker is for this project"),
        );
        check(
            |_, worker| worker.machine = "another".to_owned(),
            Some("no worker has a checkout or a remote of its project"),
        );
    }

    #[test]
    fn only_active_workers_count_and_only_for_tasks_that_wait() {
        // Without a worker, a task that needs nothing waits for the next one to be started.
        check(|_, worker| worker.state = WorkerState::Draining, None);
        let gpu = |task: &mut Task| task.needs = vec!["gpu".to_owned()];
        check(
            |task, worker| {
                gpu(task);
                worker.labels.push("gpu".to_owned());
                worker.state = WorkerState::Lost;
            },
            Some("no worker has the label gpu"),
        );
        check(
            |task, _| {
                gpu(task);
                task.paused = true;
            },
            None,
        );
        check(
            |task, _| {
                gpu(task);
                task.status = TaskStatus::Completed;
            },
            None,
        );
    }
}
