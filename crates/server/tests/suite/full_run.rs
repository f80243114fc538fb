//! A task that goes through every stage.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use windlass_core::Usage;
use windlass_tasks::{
    Approvals, AttemptRecords, AttemptRef, Broadcast, Claim, EventLog, Leases, NewApproval,
    NewWorker, Outcome, ProjectId, Traces, WorkerKind, Workers,
};

use super::harness::Harness;

/// Returns a worker for a project, or for all.
pub(crate) fn worker(project_id: Option<ProjectId>) -> NewWorker {
    NewWorker {
        name: "build-7/42".to_owned(),
        machine: "build-7".to_owned(),
        version: "0.1.0".to_owned(),
        labels: vec!["linux".to_owned()],
        kinds: vec![WorkerKind::Backend],
        agents: vec!["codex".to_owned()],
        project_id,
        lanes: 4,
        interval: Duration::from_secs(10),
    }
}

fn from_json<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Runs a task through a question, a failing test, a correction, a permission request, and completion with
/// proof.
pub(crate) async fn run_full_task(harness: &Harness) {
    harness.add("sell tea").await;
    let store = &harness.store;
    store.register_worker(worker(None)).await.unwrap();
    let first = claim(harness).await;
    let blocked = Outcome::Blocked {
        question: "green or black?".to_owned(),
    };
    store
        .finish(first, blocked, Usage::default())
        .await
        .unwrap();
    let text = json!({"text": "green"});
    let answered = harness.post("/blockers/1/answer", &text).await;
    assert_eq!(answered.status, 200, "{answered:?}");
    let second = claim(harness).await;
    let counts = json!({"passed": 1, "failed": 1, "errors": 0, "total": 2});
    let result = json!({
        "command": ["make"], "status": "failed", "exit_code": 1, "counts": counts,
        "failures": [{"name": "tea", "message": "cold"}], "duration_ms": 5,
        "output": "\u{1b}[31mred", "output_sha256": "00"
    });
    store.record_test(second, from_json(result)).await.unwrap();
    let correction = json!({
        "round": 1, "error_analysis": "cold", "fix_description": "boil",
        "code_changes": [{"path": "tea"}], "status": "passed"
    });
    store
        .record_correction(second, from_json(correction))
        .await
        .unwrap();
    let session = json!({"agent": "codex", "id": "s"});
    store
        .record_session(second, from_json(session))
        .await
        .unwrap();
    request_permission(harness, second).await;
    broadcast_all(harness, second).await;
    let trace = json!({
        "name": "attempt", "agent": "codex", "start": 1, "duration_ms": 2,
        "children": [{"name": "prompt", "start": 1, "duration_ms": 1}]
    });
    let id = "task-1-attempt-2".to_owned();
    let put = store.put_trace(id, Some(second.task), from_json(trace));
    put.await.unwrap();
    let option = json!({"option": "yes"});
    let decided = harness.post("/approvals/1/decision", &option).await;
    assert_eq!(decided.status, 200, "{decided:?}");
    let proof = json!({
        "base": "a", "commit": "b", "tree": "c", "command": ["make"], "exit_code": 0,
        "counts": counts, "log_sha256": "00", "duration_ms": 5, "at": 1
    });
    let done = Outcome::Completed {
        proof: Some(Box::new(from_json(proof))),
        branch: Some("windlass/task-1".to_owned()),
        output: "sold".to_owned(),
    };
    let usage = json!({"input_tokens": 10, "output_tokens": 1, "cost_usd": 0.5});
    store.finish(second, done, from_json(usage)).await.unwrap();
}

pub(crate) async fn claim(harness: &Harness) -> AttemptRef {
    let claim = Claim {
        worker: "w".to_owned(),
        lease: Duration::from_secs(30),
        ..Claim::default()
    };
    let claimed = harness.store.claim(claim).await.unwrap();
    claimed.unwrap().attempt
}

pub(crate) async fn request_permission(harness: &Harness, attempt: AttemptRef) {
    let approval: NewApproval = from_json(json!({
        "attempt": attempt, "agent": "codex", "tool": "shell", "input": {"command": "boil"},
        "options": [
            {"id": "yes", "label": "Yes", "kind": "allow_once"},
            {"id": "no", "label": "No", "kind": "reject_once"}
        ]
    }));
    harness.store.request_approval(approval).await.unwrap();
}

/// Appends every kind of broadcast that the store does not create itself.
async fn broadcast_all(harness: &Harness, attempt: AttemptRef) {
    let (project, task) = (harness.project.id, attempt.task);
    let all: Vec<Broadcast> = from_json(json!([
        {"type": "test_result", "project_id": project, "task_id": task, "status": "passed",
            "passed": 1, "failed": 0, "errors": 0, "total": 1, "duration": 0.5},
        {"type": "correction_attempt", "project_id": project, "task_id": task, "attempt_num": 1,
            "max_attempts": 3, "status": "in_progress", "error_summary": null},
        {"type": "agent_event", "project_id": project, "task_id": task, "attempt": 2, "envelope":
            {"seq": 1, "at": 1, "session": "s", "turn": 1, "event": {"type": "Text", "text": "tea"}}}
    ]));
    harness
        .store
        .append_events(Some(attempt), all)
        .await
        .unwrap();
}
