//! `windlass task open`: a person takes over a task, edits its files and hands them back.

use std::path::Path;

use clap::Args;
use windlass_core::escape_line;
use windlass_tasks::{
    AttemptRef, BaseChange, BasePart, BaseRequest, Opened, StartPoint, Task, TaskId, TaskStatus,
    TaskStore, WorkingCopy, Workspace,
};
use windlass_workspace::Clones;

use super::super::app::App;
use super::super::console::QUIET;
use super::super::editor;
use super::super::exit::{CliError, Exit};
use super::super::queue::ProjectQueue;
use super::super::task_runtime::{TaskRuntime, test_settings};
use super::hand_back::hand_back;
use super::program_session::ProgramSession;

#[derive(Debug, Args)]
pub(super) struct Open {
    /// Task number
    id: TaskId,
    /// Start $EDITOR instead of $SHELL
    #[arg(long)]
    editor: bool,
    /// Start the agent's own program on the session of the last attempt, outside the sandbox
    #[arg(long, conflicts_with = "editor")]
    agent: bool,
    /// Hand the result back without asking
    #[arg(long)]
    hand_back: bool,
}

impl Open {
    /// Returns `true` if the command needs the agents of this machine.
    pub(super) fn needs_agents(&self) -> bool {
        self.agent
    }

    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let task = queue.store.task(self.id).await?;
        check_free(&task)?;
        let session = if self.agent {
            Some(ProgramSession::find(app, &*queue.store, &task).await?)
        } else {
            None
        };
        let runtime = TaskRuntime::for_store(app, &queue, test_settings(&queue.config)).await?;
        let hold = Hold::take(&*queue.store, &task).await?;
        let result = self.work(app, &queue, &runtime, &task, session).await;
        let is_unfinished = matches!(result, Ok(None));
        hold.release(app, &*queue.store, is_unfinished).await?;
        Ok(result?.unwrap_or(Exit::Done))
    }

    /// Opens the files, starts the program, and hands the result back. Returns `None` if the person continues later.
    async fn work(
        &self,
        app: &App<'_>,
        queue: &ProjectQueue,
        runtime: &TaskRuntime,
        task: &Task,
        session: Option<ProgramSession>,
    ) -> Result<Option<Exit>, CliError> {
        let clones = runtime.open_clones(app, queue).await?;
        let copy = open_copy(queue, &clones, task, task.attempt + 1).await?;
        report_start(app, task, &*copy);
        self.start(copy.root(), session).await?;
        let message = format!("Change of task {} by hand\n", task.id);
        let Some(commit) = copy.keep(message).await? else {
            app.console.line("nothing was changed")?;
            copy.close().await?;
            return Ok(Some(Exit::Done));
        };
        if !self.wants_hand_back(app)? {
            app.console.line(&format!(
                "not handed back: your change is kept as {}; to continue, run: windlass task open {}",
                commit.id, task.id
            ))?;
            return Ok(None);
        }
        let exit = hand_back(app, queue, runtime, task, commit.id).await?;
        copy.close().await?;
        Ok(Some(exit))
    }

    async fn start(&self, root: &Path, session: Option<ProgramSession>) -> Result<(), CliError> {
        if self.editor {
            return editor::open(root, root).await;
        }
        if let Some(session) = session {
            return session.run(root).await;
        }
        let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
        let shell = shell.unwrap_or_else(|| "/bin/sh".into());
        // The exit code of a shell is that of its last command; it does not depend on the edits.
        editor::run(shell, Vec::new(), Vec::new(), root).await?;
        Ok(())
    }

    fn wants_hand_back(&self, app: &App<'_>) -> Result<bool, CliError> {
        let question = "hand the result back, to be tested as the task's next version? [y/N] ";
        Ok(self.hand_back || app.console.confirm(question)? == Some(true))
    }
}

/// Refuses a task that an agent works on, or that has its change on its branch.
fn check_free(task: &Task) -> Result<(), CliError> {
    let (id, attempt) = (task.id, task.attempt);
    if let Some(landed) = &task.landed {
        return Err(CliError::usage(format!(
            "task {id} has landed with commit {}: add a new task instead",
            landed.commit
        )));
    }
    if task.status != TaskStatus::InProgress {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "attempt {attempt} at task {id} is running: follow it with windlass task attach {id}, \
         or stop it with windlass task cancel {id}"
    )))
}

/// Opens the files of a task: those that an interrupted `task open` left, or the change of the last attempt.
async fn open_copy(
    queue: &ProjectQueue,
    clones: &Clones,
    task: &Task,
    number: u32,
) -> Result<Box<dyn WorkingCopy>, CliError> {
    let attempt = AttemptRef {
        task: task.id,
        number,
    };
    let left = clones
        .stale(&|other: AttemptRef| other.task != task.id)
        .await?;
    if let Some((_, copy)) = left.into_iter().next() {
        return Ok(copy);
    }
    let project = queue.store.project(task.project_id).await?;
    let earlier = queue.store.earlier_change(task.id).await?;
    let commit = earlier.as_ref().map(|change| change.commit.as_str());
    let changes = queue.store.dependency_changes(task.id).await?;
    let changes = changes.into_iter().filter_map(|change| {
        let part = BasePart {
            task: change.task,
            commit: change.commit?,
        };
        let landed = change.landed;
        Some(BaseChange { part, landed })
    });
    let base = BaseRequest {
        target: task.target.clone(),
        changes: changes.collect(),
        keeps_conflicts: task.merges,
    };
    match clones.open_on(&project, attempt, &base, commit).await? {
        Opened::Copy(copy) => Ok(copy),
        Opened::Conflict(_) => Err(CliError::usage(format!(
            "the changes that task {} depends on conflict: run a worker, which has them merged",
            task.id
        ))),
    }
}

fn report_start(app: &App<'_>, task: &Task, copy: &dyn WorkingCopy) {
    let start = match copy.start() {
        StartPoint::Base => "the base, without a change".to_owned(),
        StartPoint::Change => "the change of the last attempt".to_owned(),
        StartPoint::Conflict(files) => format!("conflicts in {}", files.join(", ")),
        StartPoint::NotApplied(why) => {
            format!("the base: the change of the last attempt cannot be applied ({why})")
        }
    };
    let title = escape_line(&task.title);
    app.console.progress(
        QUIET,
        &format!("task {}: {title}; you start from {start}", task.id),
    );
    app.console.progress(
        QUIET,
        &format!("in {}; exit to continue", copy.root().display()),
    );
}

/// Keeps workers from the task while a person works on it.
struct Hold {
    task: TaskId,
    /// This process paused the task.
    paused: bool,
}

impl Hold {
    /// Pauses a task that a worker could claim.
    async fn take(store: &dyn TaskStore, task: &Task) -> Result<Self, CliError> {
        let is_open = !task.status.is_final() && !task.paused;
        if is_open {
            let now = store.pause_task(task.id).await?;
            if now.status == TaskStatus::InProgress {
                store.resume_task(task.id).await?;
                check_free(&now)?;
            }
        }
        Ok(Self {
            task: task.id,
            paused: is_open,
        })
    }

    /// Ends the pause, unless the person continues later.
    async fn release(
        self,
        app: &App<'_>,
        store: &dyn TaskStore,
        is_unfinished: bool,
    ) -> Result<(), CliError> {
        let id = self.task;
        if self.paused && !is_unfinished {
            store.resume_task(id).await?;
        } else if store.task(id).await?.paused {
            app.console.notice(&format!(
                "task {id} is paused; resume it with: windlass task resume {id}"
            ));
        }
        Ok(())
    }
}

impl TaskRuntime {
    /// Returns the clones that people work in. Workers neither use nor remove them.
    async fn open_clones(&self, app: &App<'_>, queue: &ProjectQueue) -> Result<Clones, CliError> {
        let name = self.clones_dir().file_name().unwrap_or_default();
        let state = app
            .inputs
            .state_dir()
            .ok_or_else(|| CliError::usage("no state directory: set HOME or XDG_STATE_HOME"))?;
        let dir = state.join("open").join(name);
        let tests = test_settings(&queue.config);
        let runtime = Self::in_dir(app, dir, tests).await?;
        let id = queue.store.store_id().await?;
        Ok(runtime.clones.with_store(&id))
    }
}
