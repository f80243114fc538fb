//! Makes a task of a prompt and runs it: plan, work, proof.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use windlass_acp::{TaskEvent, TaskReport, TaskRequest};
use windlass_core::{DirAccess, Error, SessionOptions};
use windlass_runner::{
    AgentResolver, Listener, Plan, PlanOptions, ResultStatus, RunnerSettings, StopSignals,
    TaskResult, get_plan,
};
use windlass_tasks::{Broadcast, NewTask, Proof, Task, TaskId};

use crate::agent_catalog::AgentCatalog;
use crate::cli::app::App;
use crate::cli::exit::CliError;
use crate::cli::proof_lines::proof_lines;
use crate::cli::queue::ProjectQueue;
use crate::cli::run::description;
use crate::cli::task_runtime::{TaskRuntime, runner_settings, test_settings};

/// Grace period of a task after the client is gone.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// Runs a prompt as a task to its end. The task and its history are in the store, as with `windlass run`.
pub(super) async fn run(
    app: &App<'static>,
    agents: &AgentCatalog,
    request: TaskRequest,
) -> Result<TaskReport, CliError> {
    let queue = ProjectQueue::open(app).await?;
    let runtime = TaskRuntime::for_store(app, &queue, test_settings(&queue.config)).await?;
    let task = match request.answers {
        Some(task) => answer(&queue, task, &request.text).await?,
        None => add(app, agents, &queue, &request).await?,
    };
    let clones = runtime.clones_dir().to_owned();
    send(
        &request.events,
        TaskEvent::Added {
            task: task.id,
            clones,
        },
    )
    .await;
    let settings = RunnerSettings {
        approver: request.approver,
        stop_grace: STOP_GRACE,
        ..runner_settings(&queue.config)
    };
    let listener: Arc<dyn Listener> = Arc::new(Progress(request.events));
    let runner = runtime.runner(
        Arc::clone(&queue.store),
        Arc::new(agents.clone()),
        Some(listener),
        settings,
    );
    let signals = StopSignals {
        stop: request.stop,
        cancel: request.cancel,
    };
    let result = runner.execute_task(&task, signals).await?;
    let done = queue.store.task(task.id).await?;
    let proof = queue.store.proof(task.id).await?;
    Ok(report(&done, &result, proof.as_ref()))
}

/// Answers the question of a blocked task, which can then be claimed again.
async fn answer(queue: &ProjectQueue, task: TaskId, text: &str) -> Result<Task, CliError> {
    for blocker in queue.store.task_blockers(task).await? {
        if blocker.answer.is_none() {
            queue
                .store
                .answer_blocker(blocker.id, text.to_owned())
                .await?;
        }
    }
    Ok(queue.store.task(task).await?)
}

/// Plans the task and adds it to the store.
async fn add(
    app: &App<'static>,
    agents: &AgentCatalog,
    queue: &ProjectQueue,
    request: &TaskRequest,
) -> Result<Task, CliError> {
    // An unknown agent is reported before a planner is paid.
    agents.find(Some(&request.agent))?;
    send(&request.events, TaskEvent::Planning).await;
    let plan = tokio::select! {
        plan = plan(app, agents, queue, request) => plan?,
        () = request.cancel.cancelled() => return Err(Error::Cancelled.into()),
        () = request.stop.cancelled() => return Err(Error::Cancelled.into()),
    };
    send(&request.events, TaskEvent::Planned(plan.plan.clone())).await;
    let title = request
        .text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty());
    let new = NewTask {
        description: description(&request.text, &plan),
        agent: Some(request.agent.clone()),
        ..NewTask::new(queue.project.id, title.unwrap_or_default())
    };
    let added = queue.store.enqueue(vec![new]).await?.into_iter().next();
    let added =
        added.ok_or_else(|| CliError::failed("internal error: the store returned no task"))?;
    Ok(added.task)
}

/// Requests a plan from the configured planner, else from the session's agent.
async fn plan(
    app: &App<'static>,
    agents: &AgentCatalog,
    queue: &ProjectQueue,
    request: &TaskRequest,
) -> Result<Plan, CliError> {
    let configured = queue.config.run.planner.as_ref();
    let name = configured.unwrap_or(&request.agent);
    let planner = agents.resolve(Some(name), Default::default())?;
    let options = PlanOptions {
        session: SessionOptions {
            model: agents.find(Some(name))?.model,
            access: DirAccess::ReadOnly,
            ..SessionOptions::in_dir(&app.inputs.cwd)
        },
        with_tools: queue.config.run.planner_tools,
        ..PlanOptions::default()
    };
    let plan = get_plan(&request.text, &planner, options).await;
    plan.map_err(|error| CliError::from(error).with_context(&format!("planner {name}")))
}

/// Sends progress. A client that is gone needs none.
async fn send(events: &mpsc::Sender<TaskEvent>, event: TaskEvent) {
    let _ = events.send(event).await;
}

/// Forwards the runner's messages to the client.
struct Progress(mpsc::Sender<TaskEvent>);

impl Listener for Progress {
    fn on_broadcast(&self, message: Broadcast) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let event = TaskEvent::Broadcast(Box::new(message));
            self.0.send(event).await.is_ok()
        })
    }
}

/// Returns the end of a task as Markdown, with the next command.
fn report(task: &Task, result: &TaskResult, proof: Option<&Proof>) -> TaskReport {
    let id = task.id;
    let message = result.error.as_deref().unwrap_or(&result.output).trim();
    let text = match result.status {
        ResultStatus::Completed => {
            let branch = task.branch.as_deref().unwrap_or_default();
            let proof = proof.map(proof_lines).unwrap_or_default();
            let lines: String = proof
                .iter()
                .map(|(name, value)| format!("- {name}: {value}\n"))
                .collect();
            format!(
                "**Task {id} is completed.**\n\n- branch: `{branch}`\n{lines}\nTo merge it, run `windlass task merge {id}`."
            )
        }
        ResultStatus::Blocked => format!(
            "**Task {id} needs an answer.** {message}\n\nAnswer with your next prompt, or run `windlass blockers`."
        ),
        ResultStatus::Cancelled => format!("**Task {id} was cancelled.**"),
        ResultStatus::Released => {
            format!("**Task {id} was released.** Run `windlass worker --once` to continue it.")
        }
        status => format!(
            "**Task {id} ended as {status}.** {message}\n\n`windlass task log {id}` has the details."
        ),
    };
    TaskReport {
        task: id,
        is_completed: result.status == ResultStatus::Completed,
        is_blocked: result.status == ResultStatus::Blocked,
        is_stopped: matches!(
            result.status,
            ResultStatus::Cancelled | ResultStatus::Released
        ),
        text,
    }
}
