//! What a run needs before a planner is paid.

use windlass_tasks::TestPlan;

use super::roles::Roles;
use crate::cli::agents;
use crate::cli::app::App;
use crate::cli::exit::CliError;
use crate::cli::queue::ProjectQueue;
use crate::cli::task_runtime::{TaskRuntime, test_settings};

/// A repository in which a plan can be executed.
pub(super) struct Ready {
    pub(super) queue: ProjectQueue,
    pub(super) task_runtime: TaskRuntime,
}

impl Ready {
    /// Checks the repository, its commits, its tests and the coder.
    pub(super) async fn check(
        app: &App<'_>,
        roles: &Roles,
        no_tests: bool,
    ) -> Result<Self, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let mut tests = test_settings(&queue.config);
        tests.none |= no_tests;
        let task_runtime = TaskRuntime::for_store(app, &queue, tests).await?;
        let root = &queue.project.root;
        let noted = task_runtime.note_uncommitted_edits(app, root).await;
        // Nothing can be done before there is a commit.
        noted.map_err(|error| CliError::usage(error.to_string()))?;
        if task_runtime.tests.plan_in(root) == TestPlan::Unknown {
            return Err(CliError::usage(
                "no test command is known for this project, so a change could not be verified: set `tests.command` in \
                windlass.toml (windlass init proposes one), or pass --no-tests",
            ));
        }
        roles.coder.open(&roles.agents)?;
        agents::check_installed(app, &roles.coder.agent).await?;
        Ok(Self {
            queue,
            task_runtime,
        })
    }
}
