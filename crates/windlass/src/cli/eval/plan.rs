//! What an evaluation consists of: a directory with a store and repositories, and a task in the store for each result.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use windlass_store::StoreSettings;
use windlass_tasks::{AgentSettings, ModelCalls, NewTask, ProjectId, TaskId, TaskStore};

use super::repository;
use super::suite::{AgentChoice, EvalTask, Suite};
use crate::cli::app::App;
use crate::cli::exit::CliError;
use crate::cli::{queue, repository::repository as user_repository};
use crate::registry;

/// What a command does with the results of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EvalAccess {
    Read,
    Continue,
    Restart,
}

/// The directory of the evaluations of one file.
pub(super) struct EvalDir {
    path: PathBuf,
    /// The file of the evaluation, or the directory in which it runs.
    file: String,
    lock: Option<File>,
}

/// One agent doing one task once.
#[derive(Debug, Clone)]
pub(super) struct EvalCell {
    pub(super) agent: AgentChoice,
    /// The name of the task in the file.
    pub(super) task: String,
    pub(super) repeat: u32,
    /// The task in the store.
    pub(super) id: TaskId,
}

/// The repository of a task.
pub(super) struct EvalRepository {
    pub(super) task: EvalTask,
    pub(super) project: ProjectId,
}

/// Everything that is to be done, stored.
pub(super) struct EvalPlan {
    pub(super) dir: PathBuf,
    /// The file of the evaluation, or the directory in which it runs.
    pub(super) file: String,
    pub(super) store: Arc<dyn TaskStore>,
    pub(super) calls: Arc<dyn ModelCalls>,
    pub(super) repositories: Vec<EvalRepository>,
    pub(super) cells: Vec<EvalCell>,
    /// Held until the end: two runs would do everything twice.
    _lock: Option<File>,
}

impl EvalDir {
    /// Opens the directory of this file to read the results, or to add some, which only one process can do.
    pub(super) fn open(
        app: &App<'_>,
        file: Option<&Path>,
        access: EvalAccess,
    ) -> Result<Self, CliError> {
        let state = app
            .inputs
            .state_dir()
            .ok_or_else(|| CliError::usage("no state directory: set HOME or XDG_STATE_HOME"))?;
        // The results belong to the file in this place, or to the directory.
        let key = match file {
            Some(file) => std::path::absolute(file),
            None => Ok(app.inputs.cwd.clone()),
        };
        let failed =
            |error: std::io::Error| CliError::failed(format!("{}: {error}", state.display()));
        let key = key.map_err(failed)?;
        let hash = Sha256::digest(key.as_os_str().as_encoded_bytes());
        let name: String = hash
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let path = state.join("eval").join(name);
        std::fs::create_dir_all(&path).map_err(failed)?;
        let file = key.display().to_string();
        let mut dir = Self {
            path,
            file,
            lock: None,
        };
        if access == EvalAccess::Read {
            return Ok(dir);
        }
        let lock = File::create(dir.path.join("lock")).map_err(failed)?;
        if lock.try_lock().is_err() {
            return Err(CliError::usage(
                "another process runs this evaluation: wait for its end",
            ));
        }
        dir.lock = Some(lock);
        if access == EvalAccess::Restart {
            dir.clear().map_err(failed)?;
        }
        Ok(dir)
    }

    /// Removes everything but the lock.
    fn clear(&self) -> std::io::Result<()> {
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_name() == "lock" {
                continue;
            }
            if entry.file_type()?.is_dir() {
                std::fs::remove_dir_all(entry.path())?;
            } else {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Creates the repositories that are missing, and adds the tasks that are missing in the store.
    pub(super) async fn plan(self, app: &App<'_>, suite: &Suite) -> Result<EvalPlan, CliError> {
        let url = format!("sqlite:{}", self.path.join("tasks.db").display());
        let opened = windlass_store::open_all(&url, StoreSettings::default()).await?;
        if let Some(bridge) = &app.bridge {
            bridge.store_in(Arc::clone(&opened.calls));
        }
        let sandbox = registry::sandbox(app.config()?)
            .await
            .map_err(CliError::failed)?;
        let source = user_repository(&app.inputs.cwd).ok();
        let mut plan = EvalPlan {
            dir: self.path.clone(),
            file: self.file.clone(),
            store: opened.tasks,
            calls: opened.calls,
            repositories: Vec::new(),
            cells: Vec::new(),
            _lock: self.lock,
        };
        for task in &suite.tasks {
            let print = task.fingerprint();
            let parent = self.path.join("repositories").join(&print);
            let root = repository::create(&sandbox, &parent, task, source.as_deref()).await?;
            let project = plan.store.add_project(queue::project_in(root)).await?.id;
            for agent in &suite.agents {
                for repeat in 1..=suite.repeats {
                    let key = format!("eval {agent} {} {print} {repeat}", task.name);
                    let id = plan.add(project, task, agent, key).await?;
                    plan.cells.push(EvalCell {
                        agent: agent.clone(),
                        task: task.name.clone(),
                        repeat,
                        id,
                    });
                }
            }
            plan.repositories.push(EvalRepository {
                task: task.clone(),
                project,
            });
        }
        Ok(plan)
    }
}

impl EvalPlan {
    /// Adds a task, or finds the one that was added before.
    async fn add(
        &self,
        project: ProjectId,
        task: &EvalTask,
        agent: &AgentChoice,
        key: String,
    ) -> Result<TaskId, CliError> {
        let settings = AgentSettings {
            model: agent.model.clone(),
            ..AgentSettings::default()
        };
        let new = NewTask {
            description: task.description.clone(),
            kind: task.kind,
            agent: Some(agent.name.clone()),
            agent_settings: (!settings.is_empty()).then_some(settings),
            idempotency_key: Some(key),
            ..NewTask::new(project, task.title.clone())
        };
        let added = self.store.enqueue(vec![new]).await?;
        match added.first() {
            Some(added) => Ok(added.task.id),
            None => Err(CliError::failed(
                "internal error: the store returned no task id",
            )),
        }
    }
}
