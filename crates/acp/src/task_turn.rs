//! Runs one prompt as a task: plan, work, proof.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::Error as ProtocolError;
use agent_client_protocol::v1::schema::{PromptResponse, StopReason};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use windlass_core::{AgentEvent, ErrorCode};
use windlass_tasks::Broadcast;

use crate::content;
use crate::error;
use crate::host::{TaskEvent, TaskReport, TaskRequest};
use crate::paths::Paths;
use crate::permission::TurnWriter;
use crate::session::{RunningTurn, Session};
use crate::task_updates::{self, Stage, TaskPlan};
use crate::turn::CANCEL_WAIT;
use crate::updates::UpdateWriter;

/// Maximum number of messages that wait for a client that reads slowly.
const QUEUE: usize = 256;
/// How long the last messages of a task may take.
const LAST_MESSAGES_WAIT: Duration = Duration::from_secs(2);

/// Runs the prompt to the end of its task. The task runs in `tasks`: after a cancelled turn was answered, it may
/// still need to clean up.
pub(crate) async fn run(
    turn: &RunningTurn,
    text: String,
    tasks: &TaskTracker,
) -> Result<PromptResponse, ProtocolError> {
    let RunningTurn {
        session,
        number,
        signals,
    } = turn;
    let root = session
        .dir
        .task_root()
        .map_err(|error| error::to_protocol(&error))?;
    let paths = |clones| Paths {
        cwd: session.cwd.clone(),
        root: root.clone(),
        clones,
    };
    let writer = TurnWriter::new(UpdateWriter::new(*number, paths(None)));
    *session.turn_writer.lock() = Some(writer.clone());
    let (events, mut progress) = mpsc::channel(QUEUE);
    let record = session.record();
    let cancel = CancellationToken::new();
    let request = TaskRequest {
        text,
        agent: record.agent,
        answers: record.blocked_task,
        events,
        approver: session.approver(),
        cancel: cancel.clone(),
        stop: signals.stop.clone(),
    };
    let dir = Arc::clone(&session.dir);
    let mut work = tasks.spawn(async move { dir.run_task(request).await });
    let mut plan = TaskPlan::default();
    let cancelled = async {
        signals.cancel.cancelled().await;
        // If the client is gone, the task is released instead, so that a worker can run it.
        if !signals.stop.is_cancelled() {
            cancel.cancel();
        }
        tokio::time::sleep(CANCEL_WAIT).await;
    };
    tokio::pin!(cancelled);
    let report = loop {
        tokio::select! {
            biased;
            () = &mut cancelled => return Ok(PromptResponse::new(StopReason::Cancelled)),
            Some(event) = progress.recv() => {
                if let TaskEvent::Added { clones, .. } = &event {
                    writer.writer.lock().set_paths(paths(Some(clones.clone())));
                }
                show(session, &event, &mut plan, &writer).await;
            }
            report = &mut work => break report,
        }
    };
    // The last messages may still be in transit.
    let rest = async {
        while let Some(event) = progress.recv().await {
            show(session, &event, &mut plan, &writer).await;
        }
    };
    let _ = tokio::time::timeout(LAST_MESSAGES_WAIT, rest).await;
    let report = match report {
        Ok(report) => report,
        Err(panic) => return Err(ProtocolError::internal_error().data(panic.to_string())),
    };
    finish(turn, &mut plan, report).await
}

/// Sends the end of the task to the client, and answers the prompt.
async fn finish(
    turn: &RunningTurn,
    plan: &mut TaskPlan,
    report: windlass_core::Result<TaskReport>,
) -> Result<PromptResponse, ProtocolError> {
    let cancelled = || Ok(PromptResponse::new(StopReason::Cancelled));
    let report = match report {
        Ok(report) => report,
        Err(error) if error.code() == ErrorCode::Cancelled => return cancelled(),
        Err(error) => return Err(error::to_protocol(&error)),
    };
    let session = &turn.session;
    session.change(|record| record.blocked_task = report.is_blocked.then_some(report.task));
    if report.is_stopped && turn.signals.cancel.is_cancelled() {
        return cancelled();
    }
    if report.is_completed
        && let Some(update) = plan.set_stage(Stage::Done)
    {
        session.send(update).await;
    }
    session.send(content::message(&report.text)).await;
    Ok(PromptResponse::new(StopReason::EndTurn))
}

/// Shows the progress of the task.
async fn show(session: &Session, event: &TaskEvent, plan: &mut TaskPlan, writer: &TurnWriter) {
    let updates = match event {
        TaskEvent::Planning => vec![plan.update()],
        TaskEvent::Planned(steps) => vec![plan.set_steps(steps.clone())],
        TaskEvent::Added { task, .. } => vec![content::message(&format!("Task {task}\n\n"))],
        TaskEvent::Broadcast(message) => {
            if let Broadcast::AgentEvent { envelope, .. } = &**message
                && let AgentEvent::PermissionRequest { id, .. } = &envelope.event
            {
                writer.mark_seen(id);
            }
            task_updates::updates(message, plan, &mut writer.writer.lock())
        }
    };
    for update in updates {
        session.send(update).await;
    }
}
