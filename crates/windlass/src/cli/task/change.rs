//! `windlass task diff` and `windlass task merge`: show and merge a task's change.

use clap::Args;
use serde_json::json;
use windlass_core::{escape_control, escape_line};
use windlass_runner::keep_stale_changes;
use windlass_tasks::{AttemptNumber, AttemptRef, Task, TaskId, TaskStatus, TaskStore};
use windlass_workspace::{self as workspace, Clones};

use super::super::app::App;
use super::super::exit::{CliError, Exit};
use super::super::proof_lines::proof_lines;
use super::super::queue::ProjectQueue;
use super::super::remote;
use super::super::task_runtime::{TaskRuntime, test_settings};
use super::landed::{person, record_merged, unlanded};

#[derive(Debug, Args)]
pub(super) struct Diff {
    /// Task number
    id: TaskId,
    /// Print the change of this attempt, whatever its outcome (default: the task's change, else the last one kept)
    #[arg(long, value_name = "NUMBER")]
    attempt: Option<AttemptNumber>,
    /// Print the difference between the changes of two attempts, such as 1..2
    #[arg(long, value_name = "FROM..TO", conflicts_with = "attempt", value_parser = parse_versions)]
    between: Option<(AttemptNumber, AttemptNumber)>,
}

/// Parses `FROM..TO`.
fn parse_versions(text: &str) -> Result<(AttemptNumber, AttemptNumber), String> {
    let parsed = text.split_once("..").and_then(|(from, to)| {
        let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        Some((from, to))
    });
    parsed.ok_or_else(|| "expected two attempt numbers, such as 1..2".to_owned())
}

#[derive(Debug, Args)]
pub(super) struct Merge {
    /// Task number
    id: TaskId,
    /// Accept the warnings in the proof of a task that needs a review
    #[arg(long)]
    accept: bool,
    /// Merge the changes of dependencies that have not landed, too
    #[arg(long)]
    with_dependencies: bool,
    /// Dry run: print what would be merged
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Diff {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let task = queue.store.task(self.id).await?;
        let task_runtime =
            TaskRuntime::for_store(app, &queue, test_settings(&queue.config)).await?;
        let clones = &task_runtime.clones;
        let diff = match self.between {
            Some(versions) => version_diff(&*queue.store, clones, &task, versions).await?,
            None => diff(&*queue.store, clones, &task, self.attempt).await?,
        };
        app.console.text(&diff)?;
        Ok(Exit::Done)
    }
}

/// Returns the change of an attempt as a git diff. Without an attempt, it is the change on the task's branch, or the
/// last one that is kept.
pub(in super::super) async fn diff(
    store: &dyn TaskStore,
    clones: &Clones,
    task: &Task,
    attempt: Option<AttemptNumber>,
) -> Result<String, CliError> {
    let root = remote::root_of(store, task).await?;
    let diff = match &task.branch {
        Some(branch) if attempt.is_none_or(|number| number == task.attempt) => {
            let proof = store.proof(task.id).await?;
            let (base, commit) = match &proof {
                Some(proof) => (Some(proof.base.as_str()), proof.commit.as_str()),
                None => (None, branch.as_str()),
            };
            clones.diff(&root, base, commit).await
        }
        _ => {
            let commit = kept_commit(store, clones, task, attempt).await?;
            clones.kept_diff(&root, &commit).await
        }
    };
    Ok(diff.map_err(windlass_core::Error::from)?)
}

/// Returns the difference between the changes of two attempts as a git diff.
pub(in super::super) async fn version_diff(
    store: &dyn TaskStore,
    clones: &Clones,
    task: &Task,
    (from, to): (AttemptNumber, AttemptNumber),
) -> Result<String, CliError> {
    let root = remote::root_of(store, task).await?;
    let old = kept_commit(store, clones, task, Some(from)).await?;
    let new = kept_commit(store, clones, task, Some(to)).await?;
    let diff = clones.version_diff(&root, &old, &new).await;
    Ok(diff.map_err(windlass_core::Error::from)?)
}

/// Returns the commit that keeps the change of an attempt, or of the last one that has a change.
pub(in super::super) async fn kept_commit(
    store: &dyn TaskStore,
    clones: &Clones,
    task: &Task,
    attempt: Option<AttemptNumber>,
) -> Result<String, CliError> {
    // The worker of an attempt may have been killed. The clone of one that runs is in use. What goes to a remote is
    // kept there by the next worker.
    if store.project(task.project_id).await?.remote.is_none() {
        let is_live = |other: AttemptRef| other.task != task.id;
        keep_stale_changes(clones, store, &is_live).await?;
    }
    let attempts = store.attempts(task.id).await?;
    let Some(number) = attempt else {
        let last = attempts
            .into_iter()
            .rev()
            .find_map(|attempt| attempt.commit);
        return match last {
            Some(commit) => Ok(commit),
            None => Err(no_change(task)),
        };
    };
    let (id, found) = (
        task.id,
        attempts.into_iter().find(|one| one.number == number),
    );
    let Some(found) = found else {
        return Err(CliError::usage(format!(
            "task {id} has no attempt {number}"
        )));
    };
    if found.commit.is_none() {
        // The change of a completed task is stored shortly after its proof.
        let version = AttemptRef { task: id, number };
        if let Some(proof) = store.proof_of(version).await? {
            return Ok(proof.commit);
        }
    }
    found.commit.ok_or_else(|| {
        let why = match found.outcome {
            Some(_) => "changed no files",
            None => "has not ended yet",
        };
        CliError::usage(format!("attempt {number} of task {id} {why}"))
    })
}

/// Merges a task's branch, records that it has landed, and returns the outcome as JSON.
pub(in super::super) async fn merge(
    store: &dyn TaskStore,
    clones: &Clones,
    task: &Task,
    by: &str,
) -> Result<serde_json::Value, CliError> {
    let branch = branch(task)?;
    if let Some(why) = review_needed(task) {
        return Err(CliError::usage(why));
    }
    if let Some(why) = unlanded(store, clones, task).await? {
        return Err(CliError::usage(why));
    }
    let root = remote::root_of(store, task).await?;
    let merged = clones.merge(&root, branch).await;
    let merged = merged.map_err(windlass_core::Error::from)?;
    match not_merged(branch, &merged) {
        Some(why) => Err(CliError::usage(why)),
        None => {
            record_merged(store, clones, task, &merged, by).await?;
            Ok(merge_json(&merged))
        }
    }
}

/// Returns what merging a task's branch would do, as JSON. Changes nothing.
pub(in super::super) async fn preview_merge(
    store: &dyn TaskStore,
    clones: &Clones,
    task: &Task,
) -> Result<serde_json::Value, CliError> {
    let branch = branch(task)?;
    let root = remote::root_of(store, task).await?;
    let preview = clones.preview(&root, branch).await;
    let preview = preview.map_err(windlass_core::Error::from)?;
    match not_merged(branch, &preview) {
        Some(why) => Err(CliError::usage(why)),
        None => Ok(merge_json(&preview)),
    }
}

impl Merge {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let mut task = queue.store.task(self.id).await?;
        branch(&task)?;
        if task.needs_review && self.accept && !self.dry_run {
            task = queue.store.accept(self.id).await?;
        }
        if !self.json {
            print_warnings(app, &queue, &task).await?;
        }
        if let Some(why) = review_needed(&task).filter(|_| !self.dry_run) {
            return Err(CliError::blocked(why));
        }
        let branch = branch(&task)?;
        let root = remote::root_of(&*queue.store, &task).await?;
        let task_runtime =
            TaskRuntime::for_store(app, &queue, test_settings(&queue.config)).await?;
        if !self.with_dependencies
            && let Some(why) = unlanded(&*queue.store, &task_runtime.clones, &task).await?
        {
            return Err(CliError::blocked(why));
        }
        let merged = if self.dry_run {
            task_runtime.clones.preview(&root, branch).await
        } else {
            task_runtime.clones.merge(&root, branch).await
        };
        let merged = merged.map_err(windlass_core::Error::from)?;
        if !self.dry_run {
            let by = person(app).await;
            record_merged(&*queue.store, &task_runtime.clones, &task, &merged, &by).await?;
        }
        if self.json {
            app.console.pretty_json(&merge_json(&merged))?;
        }
        if self.dry_run {
            return preview(app, branch, &merged, self.json);
        }
        report(app, branch, &merged, self.json)
    }
}

/// Returns why a task cannot be merged yet, if a person must accept the warnings in its proof first.
pub(in super::super) fn review_needed(task: &Task) -> Option<String> {
    task.needs_review.then(|| {
        format!(
            "nothing was merged: the proof of task {} has warnings; look at the change, then run windlass task merge {} --accept",
            task.id, task.id
        )
    })
}

/// Prints the proof of a task in full if it has warnings.
pub(in super::super) async fn print_warnings(
    app: &App<'_>,
    queue: &ProjectQueue,
    task: &Task,
) -> Result<(), CliError> {
    let proof = queue.store.proof(task.id).await?;
    for (name, value) in proof
        .iter()
        .filter(|proof| proof.needs_review())
        .flat_map(proof_lines)
    {
        let value = escape_line(&value);
        app.console.line(&format!("{name:>13}  {value}"))?;
    }
    Ok(())
}

/// Prints what a merge would do, or returns an error if nothing would be merged.
fn preview(
    app: &App<'_>,
    branch: &str,
    merged: &workspace::MergeOutcome,
    quiet: bool,
) -> Result<Exit, CliError> {
    match merged {
        workspace::MergeOutcome::Merged(done) if !quiet => {
            app.console.line(&escape_control(&format!(
                "would merge {branch} into {}: {}",
                done.into,
                done.files.join(", ")
            )))?;
            Ok(Exit::Done)
        }
        merged => report(app, branch, merged, quiet),
    }
}

/// Prints the outcome of a merge, or returns an error if nothing was merged.
pub(in super::super) fn report(
    app: &App<'_>,
    branch: &str,
    merged: &workspace::MergeOutcome,
    quiet: bool,
) -> Result<Exit, CliError> {
    match merged {
        workspace::MergeOutcome::Merged(done) if !quiet => {
            let files = match done.files.join(", ") {
                files if files.is_empty() => "no files changed".to_owned(),
                files => files,
            };
            app.console.line(&escape_control(&format!(
                "merged {branch} into {}: {files}",
                done.into
            )))?;
            app.console.line(&format!("to undo it: {}", done.undo()))?;
            Ok(Exit::Done)
        }
        workspace::MergeOutcome::UpToDate if !quiet => {
            app.console.line("already up to date")?;
            Ok(Exit::Done)
        }
        merged => match not_merged(branch, merged) {
            Some(why) => Err(CliError::failed(why)),
            None => Ok(Exit::Done),
        },
    }
}

/// Returns the reason why nothing was merged, if nothing was.
fn not_merged(branch: &str, merged: &workspace::MergeOutcome) -> Option<String> {
    match merged {
        workspace::MergeOutcome::Conflicts(files) => Some(format!(
            "nothing was merged: conflicts in {}; run git merge {branch} to resolve them by hand",
            files.join(", ")
        )),
        workspace::MergeOutcome::WouldOverwrite(files) => Some(format!(
            "nothing was merged: your uncommitted edits in {} would be lost; commit or stash them first",
            files.join(", ")
        )),
        _ => None,
    }
}

/// Returns `true` if the branch is now part of the current one.
pub(in super::super) fn is_merged(merged: &workspace::MergeOutcome) -> bool {
    not_merged("", merged).is_none()
}

/// Describes a merge as JSON.
pub(in super::super) fn merge_json(merged: &workspace::MergeOutcome) -> serde_json::Value {
    match merged {
        workspace::MergeOutcome::Merged(done) => json!({
            "status": "merged",
            "into": done.into,
            "before": done.before,
            "after": done.after,
            "fast_forward": done.fast_forward,
            "files": done.files,
            "undo": done.undo(),
        }),
        workspace::MergeOutcome::Conflicts(files) => {
            json!({ "status": "conflicts", "files": files })
        }
        workspace::MergeOutcome::WouldOverwrite(files) => {
            json!({ "status": "overwrites", "files": files })
        }
        _ => json!({ "status": "nothing" }),
    }
}

/// Returns the branch with a task's change.
pub(super) fn branch(task: &Task) -> Result<&str, CliError> {
    task.branch.as_deref().ok_or_else(|| no_change(task))
}

fn no_change(task: &Task) -> CliError {
    let why = match task.status {
        TaskStatus::Completed => "it changed nothing".to_owned(),
        status if task.outdated => format!(
            "it is {status} and outdated, because a change that it builds on was replaced; a worker brings it up to date"
        ),
        status => format!("it is {status}"),
    };
    CliError::usage(format!("task {} has no change: {why}", task.id))
}
