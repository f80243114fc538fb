//! Deletes the refs of tasks that ended long ago, on the remote and on this machine, and mirrors that nothing uses.
//!
//! A ref is deleted only if it still has the commit with which it was listed. What it kept is on a branch, or was given up:
//! the change of a task that is not finished, or that is not merged, stays unless the caller says otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use windlass_core::Error;
use windlass_tasks::{
    Project, StoreError, StoreResult, Task, TaskFilter, TaskId, TaskStatus, TaskStore,
};

use super::git::RemoteGit;
use super::mirror::{RemoteMirror, Results};

/// How many refs one push deletes.
const BATCH: usize = 50;
/// How many tasks one read returns.
const PAGE_SIZE: u32 = 500;
/// Where a mirror has what it fetched of kept changes.
const FETCHED: &str = "refs/windlass-remote/kept/";

/// What may be deleted.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct RefRetention {
    /// Only refs of tasks that ended longer ago.
    pub(in crate::cli) age: Duration,
    /// Also the changes of ended tasks that are on no branch.
    pub(in crate::cli) unmerged: bool,
    /// Deletes nothing.
    pub(in crate::cli) dry_run: bool,
}

/// Why a ref is not needed any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::cli) enum DeleteReason {
    /// The commit with which the change landed is on the branch that it is for.
    Landed,
    /// The change is on the branch that it is for.
    Merged,
    /// The task was cancelled.
    Cancelled,
    /// The task ended, and the change is on no branch.
    Unmerged,
}

/// A deleted ref.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::cli) struct DeletedRef {
    project: String,
    /// The address of the remote; without it, the ref was on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    remote: Option<String>,
    name: String,
    commit: String,
    reason: DeleteReason,
}

/// The refs of one repository: their commits by name.
type Refs = BTreeMap<String, String>;

/// Finds and deletes refs of one store.
#[derive(Debug)]
pub(in crate::cli) struct RefPruner {
    pub(in crate::cli) store: Arc<dyn TaskStore>,
    pub(in crate::cli) store_id: String,
    pub(in crate::cli) retention: RefRetention,
    /// The time now.
    pub(in crate::cli) now: Duration,
}

impl RefPruner {
    /// Deletes the refs of a project on its remote, in its mirror and in its checkout on this machine.
    pub(in crate::cli) async fn prune(
        &self,
        project: &Project,
        mirrors: Option<&Path>,
    ) -> Result<Vec<DeletedRef>, Error> {
        let needed = self.needed(project).await.map_err(unavailable)?;
        let mirror = mirrors.and_then(|dir| RemoteMirror::of(project, dir, &self.store_id));
        let mut deleted = Vec::new();
        if let Some(mirror) = &mirror {
            mirror.sync(Results::Of(&[])).await?;
            let git = mirror.git().await?;
            let pruning = Pruning {
                pruner: self,
                project,
                git: &git,
                branches: "refs/windlass-remote/branches/",
                needed: &needed,
            };
            deleted.extend(pruning.remote(&mirror.url).await?);
            deleted.extend(pruning.local().await?);
        }
        if project.here {
            // No command here talks to the remote.
            let git = RemoteGit::new(&project.root, "/").await?;
            let pruning = Pruning {
                pruner: self,
                project,
                git: &git,
                branches: "refs/heads/",
                needed: &needed,
            };
            deleted.extend(pruning.local().await?);
        }
        Ok(deleted)
    }

    /// Returns the tasks of a project that are not finished, with those that they depend on, and the branches that they are for.
    async fn needed(&self, project: &Project) -> StoreResult<Needed> {
        let mut needed = Needed::default();
        for status in [
            TaskStatus::Pending,
            TaskStatus::InProgress,
            TaskStatus::Blocked,
        ] {
            let mut filter = TaskFilter {
                project_id: Some(project.id),
                status: Some(status),
                limit: PAGE_SIZE,
                ..TaskFilter::default()
            };
            loop {
                let page = self.store.tasks(filter.clone()).await?;
                let Some(last) = page.last() else { break };
                filter.after = Some(last.id);
                for task in page {
                    needed.tasks.insert(task.id);
                    needed.tasks.extend(task.dependencies);
                    needed.all_targets |= task.target.is_none();
                    needed.targets.extend(task.target);
                }
            }
        }
        Ok(needed)
    }
}

fn unavailable(error: StoreError) -> Error {
    Error::InvalidInput(error.to_string())
}

/// What must stay.
#[derive(Debug, Default)]
struct Needed {
    tasks: BTreeSet<TaskId>,
    targets: BTreeSet<String>,
    /// A task is for the branch that is checked out when it starts, whichever that is.
    all_targets: bool,
}

/// The refs of a project that one repository can judge.
struct Pruning<'a> {
    pruner: &'a RefPruner,
    project: &'a Project,
    git: &'a RemoteGit<'a>,
    /// Where the repository has the branches that changes are merged into.
    branches: &'a str,
    needed: &'a Needed,
}

impl Pruning<'_> {
    fn prefix(&self) -> String {
        format!("refs/windlass/{}/", self.pruner.store_id)
    }

    /// Deletes refs of the remote.
    async fn remote(&self, url: &str) -> Result<Vec<DeletedRef>, Error> {
        let listed = self.git.list(&format!("{}*", self.prefix())).await?;
        let chosen = self.choose(&listed, Some(url)).await?;
        if self.pruner.retention.dry_run || chosen.is_empty() {
            return Ok(chosen);
        }
        for batch in chosen.chunks(BATCH) {
            let refs = batch
                .iter()
                .map(|one| (one.name.as_str(), one.commit.as_str()));
            self.git.delete_remote(&refs.collect::<Vec<_>>()).await?;
        }
        // A push may have failed for some of them: another process may have moved one.
        let left = self.git.list(&format!("{}*", self.prefix())).await?;
        let gone: Vec<DeletedRef> = chosen
            .into_iter()
            .filter(|one| !left.contains_key(&one.name))
            .collect();
        self.forget_fetched(&gone).await?;
        Ok(gone)
    }

    /// Deletes what the mirror has fetched of refs that the remote has no more.
    async fn forget_fetched(&self, gone: &[DeletedRef]) -> Result<(), Error> {
        let names = gone
            .iter()
            .filter_map(|one| one.name.strip_prefix("refs/windlass/"));
        let lines: String = names
            .map(|name| format!("delete {FETCHED}{name}\n"))
            .collect();
        self.git
            .run_with(&["update-ref", "--stdin"], lines)
            .await
            .map(drop)
    }

    /// Deletes refs of the repository on this machine.
    async fn local(&self) -> Result<Vec<DeletedRef>, Error> {
        let format = "--format=%(objectname) %(refname)";
        let text = self
            .git
            .run(&["for-each-ref", format, &self.prefix()])
            .await?;
        let rows = text.lines().filter_map(|line| line.split_once(' '));
        let listed: Refs = rows
            .map(|(commit, name)| (name.to_owned(), commit.to_owned()))
            .collect();
        let chosen = self.choose(&listed, None).await?;
        if !self.pruner.retention.dry_run {
            for one in &chosen {
                // One that another process has moved stays.
                let _ = self
                    .git
                    .run(&["update-ref", "-d", &one.name, &one.commit])
                    .await;
            }
        }
        Ok(chosen)
    }

    async fn choose(&self, listed: &Refs, remote: Option<&str>) -> Result<Vec<DeletedRef>, Error> {
        let prefix = self.prefix();
        let mut tasks: BTreeMap<i64, Option<DeleteReason>> = BTreeMap::new();
        let mut chosen = Vec::new();
        for (name, commit) in listed {
            let Some(rest) = name.strip_prefix(&prefix) else {
                continue;
            };
            let reason = if let Some(branch) = rest.strip_prefix("target/") {
                self.target_reason(branch, commit).await
            } else if let Some(number) = task_number(rest) {
                if let Some(known) = tasks.get(&number) {
                    *known
                } else {
                    let reason = self.task_reason(TaskId::from(number)).await?;
                    tasks.insert(number, reason);
                    reason
                }
            } else {
                None
            };
            let deleted = reason.map(|reason| DeletedRef {
                project: self.project.name.clone(),
                remote: remote.map(str::to_owned),
                name: name.clone(),
                commit: commit.clone(),
                reason,
            });
            chosen.extend(deleted);
        }
        Ok(chosen)
    }

    /// Returns why commits that `task add` pushed for a branch are not needed, if they are not.
    async fn target_reason(&self, branch: &str, commit: &str) -> Option<DeleteReason> {
        let name = format!("{}{branch}", self.branches);
        if self.git.is_ancestor(commit, &name).await {
            return Some(DeleteReason::Merged);
        }
        let is_needed = self.needed.all_targets || self.needed.targets.contains(branch);
        (self.pruner.retention.unmerged && !is_needed).then_some(DeleteReason::Unmerged)
    }

    /// Returns why the changes of a task are not needed any more, if they are not.
    async fn task_reason(&self, id: TaskId) -> Result<Option<DeleteReason>, Error> {
        let task = match self.pruner.store.task(id).await {
            Ok(task) => task,
            // Nothing says what it was.
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(unavailable(error)),
        };
        let is_this = task.project_id == self.project.id;
        if !is_this || self.needed.tasks.contains(&id) || !self.is_old(&task) {
            return Ok(None);
        }
        let unmerged = self
            .pruner
            .retention
            .unmerged
            .then_some(DeleteReason::Unmerged);
        Ok(match task.status {
            TaskStatus::Cancelled => Some(DeleteReason::Cancelled),
            TaskStatus::Completed => self.merged_reason(&task).await?.or(unmerged),
            TaskStatus::Failed => unmerged,
            TaskStatus::Pending | TaskStatus::InProgress | TaskStatus::Blocked => None,
        })
    }

    fn is_old(&self, task: &Task) -> bool {
        let ended = Duration::from_millis(task.completed_at.unwrap_or(task.updated_at).0);
        self.pruner.now.saturating_sub(ended) >= self.pruner.retention.age
    }

    /// Returns how the change came onto the branch that it is for, or onto the default branch. A change that landed in a checkout
    /// alone is not on the remote's branch.
    async fn merged_reason(&self, task: &Task) -> Result<Option<DeleteReason>, Error> {
        let proof = self
            .pruner
            .store
            .proof(task.id)
            .await
            .map_err(unavailable)?;
        let landed = task.landed.as_ref().map(|landed| landed.commit.clone());
        let commits = [
            (landed, DeleteReason::Landed),
            (proof.map(|proof| proof.commit), DeleteReason::Merged),
        ];
        let target = task.target.iter();
        let target = target.map(|branch| format!("{}{branch}", self.branches));
        let branches: Vec<String> = target.chain(["HEAD".to_owned()]).collect();
        for (commit, reason) in commits {
            for (commit, branch) in commit
                .iter()
                .flat_map(|commit| branches.iter().map(move |branch| (commit, branch)))
            {
                if self.git.is_ancestor(commit, branch).await {
                    return Ok(Some(reason));
                }
            }
        }
        Ok(None)
    }
}

/// Returns the number of the task whose change a ref keeps, `task-N/attempt-M`.
fn task_number(rest: &str) -> Option<i64> {
    let (task, attempt) = rest.split_once('/')?;
    attempt.strip_prefix("attempt-")?;
    task.strip_prefix("task-")?.parse().ok()
}

/// Returns when something in a mirror was last changed.
pub(in crate::cli) fn last_use(mirror: &Path) -> std::io::Result<SystemTime> {
    let mut last = std::fs::metadata(mirror)?.modified()?;
    for name in [
        "objects",
        "objects/pack",
        "packed-refs",
        "refs",
        "refs/heads",
        "../.lock",
    ] {
        if let Ok(modified) = std::fs::metadata(mirror.join(name)).and_then(|meta| meta.modified())
        {
            last = last.max(modified);
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::task_number;

    #[test]
    fn only_kept_changes_have_a_task() {
        assert_eq!(task_number("task-12/attempt-3"), Some(12));
        assert_eq!(task_number("task-12/attempt-3-0123456789"), Some(12));
        for other in [
            "task-12",
            "task-x/attempt-1",
            "target/task-1",
            "task-1/other",
            "",
            "12/attempt-1",
        ] {
            assert_eq!(task_number(other), None, "{other}");
        }
    }
}
