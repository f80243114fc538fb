//! What is shown and checked for a task that has landed or waits to land.

use windlass_runner::LandingResult;
use windlass_tasks::{
    Landing, LandingFilter, LandingSite as _, LandingState, NewLanding, Task, TaskId, TaskStatus,
    TaskStore,
};
use windlass_workspace::{Clones, MergeOutcome};

use super::super::app::App;
use super::super::exit::CliError;
use crate::git_settings::GitSettings;

/// Maximum number of failing cases that are listed.
const MAX_CASES: usize = 10;

/// Selects the landings of a task.
pub(in super::super) fn of_task(task: TaskId) -> LandingFilter {
    LandingFilter {
        task: Some(task),
        ..LandingFilter::default()
    }
}

/// Describes whether a task has landed, and its landings.
pub(super) fn landing_lines(task: &Task, landings: &[Landing]) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(landed) = &task.landed {
        let mut text = format!("{} at {} by {}", landed.commit, landed.at, landed.by);
        let entry = landings
            .iter()
            .rev()
            .find(|one| one.commit.as_ref() == Some(&landed.commit));
        if let Some(worker) = entry.and_then(|one| one.worker.as_ref())
            && *worker != landed.by
        {
            text.push_str(&format!(", with {worker}"));
        }
        lines.push(("landed", text));
    }
    for landing in landings {
        let (target, attempt) = (&landing.target, landing.attempt);
        match landing.state {
            LandingState::Landed => {}
            LandingState::Returned => {
                let reason = landing.reason.as_deref().unwrap_or_default();
                let text = format!("attempt {attempt} was not landed on {target}: {reason}");
                lines.push(("landing", text));
                let cases = landing.cases.iter().take(MAX_CASES);
                lines.extend(cases.map(|case| ("", format!("fails: {case}"))));
            }
            LandingState::Queued | LandingState::Landing => {
                lines.push(("landing", waiting_line(landing)));
            }
        }
    }
    let is_waiting = lines.iter().any(|(name, _)| *name == "landing");
    if task.land && task.landed.is_none() && !is_waiting {
        let text = match task.status {
            TaskStatus::Completed if task.needs_review => "after a person accepts the warnings",
            TaskStatus::Completed if task.unverified => "waits: the change is not verified",
            TaskStatus::Completed => "with the next worker",
            _ => "when it is proved",
        };
        lines.push(("landing", text.to_owned()));
    }
    lines
}

/// Describes an entry that waits or lands.
pub(in super::super) fn waiting_line(landing: &Landing) -> String {
    let target = &landing.target;
    if landing.state == LandingState::Landing {
        let worker = landing.worker.as_deref().unwrap_or_default();
        return format!("{worker} lands it on {target}");
    }
    let waits_for: Vec<String> = landing.waits_for.iter().map(TaskId::to_string).collect();
    match (waits_for.as_slice(), &landing.reason) {
        ([], Some(reason)) => format!("queued for {target}: {reason}"),
        ([], None) => format!("queued for {target}"),
        (tasks, _) => format!("queued for {target} after task {}", tasks.join(", ")),
    }
}

/// Refuses to retry a landed task without confirmation; with it, the task counts as not landed.
pub(super) async fn check_retry(
    store: &dyn TaskStore,
    id: TaskId,
    yes: bool,
) -> Result<(), CliError> {
    let task = store.task(id).await?;
    match &task.landed {
        Some(_) if yes => {
            store.forget_landed(id).await?;
            Ok(())
        }
        Some(landed) => Err(CliError::usage(format!(
            "task {id} has landed with commit {}: to work on it again, add --yes",
            landed.commit
        ))),
        None => Ok(()),
    }
}

/// Refuses to cancel a landed task without confirmation. With it, the task counts as not landed and not completed, and
/// the commit with which it landed is returned.
pub(super) async fn before_cancel(
    store: &dyn TaskStore,
    id: TaskId,
    yes: bool,
) -> Result<Option<String>, CliError> {
    let task = store.task(id).await?;
    match task.landed {
        Some(landed) if yes => {
            // A worker that claims it in between stops with its next heartbeat.
            store.forget_landed(id).await?;
            store.retry(id, false).await?;
            Ok(Some(landed.commit))
        }
        Some(landed) => Err(CliError::usage(format!(
            "task {id} has landed with commit {}: to cancel it all the same, add --yes; its change stays on the branch, \
             undo it with git revert",
            landed.commit
        ))),
        None => Ok(None),
    }
}

/// Returns who works at this terminal: git's user, else the user of the system.
pub(in super::super) async fn person(app: &App<'_>) -> String {
    let settings = GitSettings::read(&app.inputs.cwd).await;
    if let Some((name, _)) = settings.author() {
        return name.to_string();
    }
    let user = app.inputs.environment.get(std::ffi::OsStr::new("USER"));
    user.map_or_else(
        || "a person".to_owned(),
        |user| user.to_string_lossy().into_owned(),
    )
}

/// Returns why a task is not merged alone, if its branch has changes of other tasks that the current branch does not
/// have.
pub(super) async fn unlanded(
    store: &dyn TaskStore,
    clones: &Clones,
    task: &Task,
) -> Result<Option<String>, CliError> {
    let Some(proof) = store.proof(task.id).await? else {
        return Ok(None);
    };
    let project = store.project(task.project_id).await?;
    let Some(branch) = clones.current_branch(&project).await? else {
        return Ok(None);
    };
    let mut others = Vec::new();
    for part in &proof.base_parts {
        if !clones.contains(&project, &branch, &part.commit).await? {
            others.push(part.task.to_string());
        }
    }
    let (id, others) = (task.id, others.join(", "));
    Ok((!others.is_empty()).then(|| {
        format!(
            "nothing was merged: the branch of task {id} has the changes of tasks that have not landed ({others}); land \
             them with windlass land {id}, or merge all with windlass task merge {id} --with-dependencies"
        )
    }))
}

/// Records that a branch was merged by hand.
pub(super) async fn record_merged(
    store: &dyn TaskStore,
    clones: &Clones,
    task: &Task,
    merged: &MergeOutcome,
    by: &str,
) -> Result<(), CliError> {
    let (target, commit) = match merged {
        MergeOutcome::Merged(done) => (Some(done.into.clone()), Some(done.after.clone())),
        MergeOutcome::UpToDate => {
            let project = store.project(task.project_id).await?;
            let proof = store.proof(task.id).await?;
            let commit = proof.map(|proof| proof.commit);
            (clones.current_branch(&project).await?, commit)
        }
        _ => (None, None),
    };
    if let (Some(target), Some(commit)) = (target, commit)
        && task.status == TaskStatus::Completed
    {
        let by = by.to_owned();
        let task = task.id;
        let new = NewLanding { task, target, by };
        store.record_landed(new, commit).await?;
    }
    Ok(())
}

/// Formats the result of a landing.
pub(in super::super) fn result_line(task: TaskId, target: &str, result: &LandingResult) -> String {
    match result {
        LandingResult::Landed { commit, .. } => {
            format!("landed task {task} on {target}: {commit}")
        }
        LandingResult::Returned { reason, cases } => {
            let mut text = format!("task {task} was not landed on {target}: {reason}");
            for case in cases.iter().take(MAX_CASES) {
                text.push_str(&format!("\n  fails: {case}"));
            }
            text
        }
        LandingResult::Waits(why) => format!("task {task} waits to land on {target}: {why}"),
        _ => format!("task {task} has no change to land any more"),
    }
}
