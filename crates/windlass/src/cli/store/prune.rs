//! `windlass store prune`: removes what is older than its retention, from the store, from git and from this machine.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use clap::Args;
use serde_json::json;
use windlass_core::{Clock as _, SystemClock, escape_line};
use windlass_store::StoreRetention;
use windlass_tasks::{Project, ProjectId, TaskFilter, TaskStatus};

use super::maintenance::url;
use crate::cli::app::App;
use crate::cli::exit::{CliError, Exit};
use crate::cli::queue::OpenQueue;
use crate::cli::remote::{DeletedRef, RefPruner, RefRetention, last_use};
use crate::cli::task_runtime::store_dir;
use crate::cli::token::{Lifetime, lifetime};

/// Maximum size of the file that says where a clone came from.
const MAX_ORIGIN_BYTES: u64 = 64 << 10;

#[derive(Debug, Args)]
pub(super) struct Prune {
    /// Remove events older than this, such as 90d; those of unfinished tasks and later ones stay
    #[arg(long, value_name = "TIME", default_value = "never", value_parser = lifetime)]
    events: Lifetime,
    /// Remove traces older than this, such as 30d
    #[arg(long, value_name = "TIME", default_value = "never", value_parser = lifetime)]
    traces: Lifetime,
    /// Remove entries of the audit log older than this, such as 365d
    #[arg(long, value_name = "TIME", default_value = "never", value_parser = lifetime)]
    audit: Lifetime,
    /// Delete the refs/windlass/ of tasks that ended longer ago and were landed, merged or cancelled, here and on the remotes
    #[arg(long, value_name = "TIME", default_value = "never", value_parser = lifetime)]
    refs: Lifetime,
    /// With --refs: also changes of ended tasks that are on no branch, which may be their only copy
    #[arg(long, requires = "refs")]
    unmerged: bool,
    /// Delete mirrors on this machine that were not used for this time, of projects without unfinished tasks
    #[arg(long, value_name = "TIME", default_value = "never", value_parser = lifetime)]
    mirrors: Lifetime,
    /// Print which refs and mirrors would be deleted; change nothing
    #[arg(long, conflicts_with_all = ["events", "traces", "audit"])]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Prune {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let mut retention = StoreRetention::default();
        retention.events = self.events.0;
        retention.traces = self.traces.0;
        retention.audit = self.audit.0;
        let of_store = retention != StoreRetention::default();
        let mut output = serde_json::Map::new();
        if !of_store && self.refs.0.is_none() && self.mirrors.0.is_none() {
            let usage = "nothing to remove: give --events, --traces, --audit, --refs or --mirrors, such as --traces 30d";
            return Err(CliError::usage(usage));
        }
        if of_store {
            let pruned = windlass_store::prune(&url(app).await?, &retention).await?;
            let (events, traces, audit) = (pruned.events, pruned.traces, pruned.audit);
            output.insert("events".to_owned(), json!(events));
            output.insert("traces".to_owned(), json!(traces));
            output.insert("audit".to_owned(), json!(audit));
            self.line(
                app,
                &format!(
                    "removed {events} events, {traces} traces, {audit} entries of the audit log"
                ),
            )?;
        }
        let mut failed = false;
        if self.refs.0.is_some() || self.mirrors.0.is_some() {
            let queue = OpenQueue::open(app).await?;
            if let Some(age) = self.refs.0 {
                let (refs, failures) = self.refs(app, &queue, age).await?;
                failed |= failures > 0;
                let verb = self.verb();
                self.line(app, &format!("{verb} {} refs", refs.len()))?;
                output.insert("refs".to_owned(), json!(refs));
            }
            if let Some(age) = self.mirrors.0 {
                let mirrors = self.mirrors(app, &queue, age).await?;
                for mirror in &mirrors {
                    let path = mirror.display().to_string();
                    self.line(app, &format!("{} {}", self.verb(), escape_line(&path)))?;
                }
                self.line(app, &format!("{} {} mirrors", self.verb(), mirrors.len()))?;
                output.insert("mirrors".to_owned(), json!(mirrors));
            }
        }
        if self.json {
            app.console.pretty_json(&output)?;
        }
        Ok(if failed { Exit::Failed } else { Exit::Done })
    }

    fn verb(&self) -> &'static str {
        if self.dry_run {
            "would delete"
        } else {
            "deleted"
        }
    }

    fn line(&self, app: &App<'_>, text: &str) -> Result<(), CliError> {
        if !self.json {
            app.console.line(text)?;
        }
        Ok(())
    }

    /// Deletes refs of every project. A remote that cannot be reached does not keep those of others.
    async fn refs(
        &self,
        app: &App<'_>,
        queue: &OpenQueue,
        age: Duration,
    ) -> Result<(Vec<DeletedRef>, usize), CliError> {
        let pruner = RefPruner {
            store: Arc::clone(&queue.store),
            store_id: queue.store.store_id().await?,
            retention: RefRetention {
                age,
                unmerged: self.unmerged,
                dry_run: self.dry_run,
            },
            now: Duration::from_millis(SystemClock::new().now().0),
        };
        let (mut deleted, mut failures) = (Vec::new(), 0);
        for project in queue.store.projects().await? {
            match pruner
                .prune(&project, queue.machine.mirrors.as_deref())
                .await
            {
                Ok(refs) => deleted.extend(refs),
                Err(error) => {
                    failures += 1;
                    app.console
                        .notice(&format!("project {}: {error}", project.name));
                }
            }
        }
        Ok((deleted, failures))
    }

    /// Deletes mirrors that were not used, and that no clone on this machine borrows from.
    async fn mirrors(
        &self,
        app: &App<'_>,
        queue: &OpenQueue,
        age: Duration,
    ) -> Result<Vec<PathBuf>, CliError> {
        let Some(dir) = queue.machine.mirrors.as_deref() else {
            return Ok(Vec::new());
        };
        let projects = queue.store.projects().await?;
        let clones = store_dir(app, "places", &queue.url)?;
        let mut deleted = Vec::new();
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let number = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            // What is not named after a project is not a mirror.
            let Some(number) = number.map(|number: i64| ProjectId::from(number)) else {
                continue;
            };
            let project = projects.iter().find(|project| project.id == number);
            if has_work(queue, project).await? || is_borrowed(&clones, &path) {
                continue;
            }
            let removed = remove_unused(&path, age, self.dry_run).map_err(|error| {
                CliError::failed(format!(
                    "the mirror {} was not deleted: {error}",
                    path.display()
                ))
            })?;
            if removed {
                deleted.push(path);
            }
        }
        Ok(deleted)
    }
}

/// Returns `true` if a project has a task that is not finished.
async fn has_work(queue: &OpenQueue, project: Option<&Project>) -> Result<bool, CliError> {
    let Some(project) = project else {
        return Ok(false);
    };
    for status in [
        TaskStatus::Pending,
        TaskStatus::InProgress,
        TaskStatus::Blocked,
    ] {
        let filter = TaskFilter {
            project_id: Some(project.id),
            status: Some(status),
            limit: 1,
            ..TaskFilter::default()
        };
        if !queue.store.tasks(filter).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns `true` if a clone of an attempt was made from a mirror, or if that is unknown.
fn is_borrowed(clones: &Path, mirror: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(clones) else {
        return clones.exists();
    };
    let mirror = mirror.display().to_string();
    entries.flatten().any(|entry| {
        let path = entry.path();
        match read_limited(&path.join(".meta/origin")) {
            Ok(text) => text.contains(&mirror),
            // A clone that is being made has a lock, or no file at all. Other directories here are no clones.
            Err(_) => {
                let name = entry.file_name();
                path.join(".lock").exists() || name.to_string_lossy().starts_with("unlocked-")
            }
        }
    })
}

/// Reads the file that says where a clone came from.
fn read_limited(file: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(file)?;
    file.take(MAX_ORIGIN_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Deletes the mirror in this directory, unless it was used since, or another process uses it now.
fn remove_unused(dir: &Path, age: Duration, dry_run: bool) -> std::io::Result<bool> {
    // Every use begins with this lock. Without the file, the directory is not a mirror's.
    let Ok(lock) = std::fs::File::options().write(true).open(dir.join(".lock")) else {
        return Ok(false);
    };
    if lock.try_lock().is_err() {
        return Ok(false);
    }
    for entry in std::fs::read_dir(dir)?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            let now = UNIX_EPOCH + Duration::from_millis(SystemClock::new().now().0);
            let unused = now.duration_since(last_use(&path)?);
            if unused.unwrap_or_default() < age {
                return Ok(false);
            }
        }
    }
    if !dry_run {
        std::fs::remove_dir_all(dir)?;
    }
    Ok(true)
}
