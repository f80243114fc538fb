//! What leaves the machine after tasks end: pushes and notifications.
//!
//! A follower reads the event log from a stored position and stores what has to be sent. Its position moves in the same
//! transaction, so nothing is lost or stored twice, whichever process dies. Then everything that is due is claimed and
//! sent, and tried again later if that fails.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_tasks::{
    Broadcast, EventFilter, FollowStep, LoggedEvent, NewPush, NotificationClaim, Project,
    ProjectId, PushClaim, PushState, StoreError, StoreResult, Task, TaskStatus, TaskStore,
};

use super::app::App;
use super::console::{Console, QUIET};
use super::exit::CliError;
use super::notify::{self, Notifier};
use super::publish::{self, Publisher};
use super::queue::OpenQueue;

/// Maximum interval between two checks of the outbox.
const INTERVAL: Duration = Duration::from_secs(5);
/// The pause after new events, which often come together.
const DEBOUNCE: Duration = Duration::from_millis(300);
/// How long a push or a notification may still take after the work of a process that was asked to stop has ended.
const STOP_GRACE: Duration = Duration::from_secs(20);
/// When nothing is sent any more after a process was asked to stop, whenever its work ends.
const MAX_STOP_TIME: Duration = Duration::from_secs(40);
/// The pause after an error of the store.
const ERROR_PAUSE: Duration = Duration::from_secs(2);
/// How long one notification may take before another process may send it.
const NOTIFY_LEASE: Duration = Duration::from_secs(30);
/// Maximum number of events per step.
const PAGE_SIZE: u32 = 500;

/// Sends what tasks left to send.
#[derive(Debug, Clone)]
pub(super) struct Outbox {
    store: Arc<dyn TaskStore>,
    /// Only tasks of this project.
    project: Option<ProjectId>,
    /// The remote to which proved tasks are pushed.
    remote: Option<String>,
    publisher: Publisher,
    notifier: Option<Notifier>,
    console: Console,
}

impl Outbox {
    /// Creates the outbox of a worker for one project, or for all. Events from now on count.
    pub(super) async fn open(
        app: &App<'_>,
        queue: &OpenQueue,
        project: Option<ProjectId>,
    ) -> Result<Self, CliError> {
        let config = &queue.config;
        let outbox = Self {
            store: Arc::clone(&queue.store),
            project,
            remote: config.publish.remote.clone(),
            publisher: Publisher::new(Arc::clone(&queue.store), config.publish.command.clone()),
            notifier: Notifier::new(config).map_err(CliError::usage)?,
            console: *app.console,
        };
        for project in outbox.projects().await? {
            for follower in outbox.followers() {
                outbox.store.follow(follower.name(&project)).await?;
            }
        }
        Ok(outbox)
    }

    /// Follows the event log and sends what is due while `work` runs, and then what it left. If `stop` is cancelled,
    /// what is left has little time.
    pub(super) async fn run_with<T>(
        &self,
        work: impl Future<Output = T>,
        stop: &CancellationToken,
    ) -> T {
        let ended = CancellationToken::new();
        let work = async {
            let result = work.await;
            ended.cancel();
            result
        };
        let send = async {
            let loops = async {
                let notify = async {
                    if self.notifier.is_some() {
                        self.repeat(async || self.notify().await, &ended).await;
                    }
                };
                tokio::join!(notify, self.repeat(async || self.push().await, &ended));
            };
            let out_of_time = async {
                stop.cancelled().await;
                let sent = async {
                    ended.cancelled().await;
                    tokio::time::sleep(STOP_GRACE).await;
                };
                let _ = tokio::time::timeout(MAX_STOP_TIME, sent).await;
            };
            tokio::select! {
                () = loops => {}
                () = out_of_time => {}
            }
        };
        let (result, ()) = tokio::join!(work, send);
        result
    }

    /// Repeats a step until the work has ended, and once more.
    async fn repeat(&self, step: impl AsyncFn() -> StoreResult<()>, ended: &CancellationToken) {
        let (mut seen, mut is_failing) = (0, false);
        loop {
            let is_last = ended.is_cancelled();
            let done = step().await;
            match &done {
                Err(error) if !is_failing => {
                    self.console
                        .notice(&format!("pushes and notifications wait: {error}"));
                }
                _ => {}
            }
            is_failing = done.is_err();
            if is_last {
                return;
            }
            let wait = async {
                match done {
                    Ok(()) => {
                        // Pushes that a person asked for are found at the end of the interval, too.
                        let last = if self.followers().is_empty() {
                            self.store.wait_for_work(seen, INTERVAL).await
                        } else {
                            self.store.wait_for_events(seen, INTERVAL).await
                        };
                        tokio::time::sleep(DEBOUNCE).await;
                        last.unwrap_or(seen)
                    }
                    Err(_) => {
                        tokio::time::sleep(ERROR_PAUSE).await;
                        seen
                    }
                }
            };
            tokio::select! {
                last = wait => seen = last,
                () = ended.cancelled() => {}
            }
        }
    }

    async fn projects(&self) -> StoreResult<Vec<Project>> {
        let mut projects = self.store.projects().await?;
        projects.retain(|project| self.project.is_none_or(|only| only == project.id));
        Ok(projects)
    }

    fn followers(&self) -> Vec<Follower<'_>> {
        let notify = self.notifier.as_ref().map(Follower::Notify);
        let publish = self.remote.as_deref().map(Follower::Publish);
        notify.into_iter().chain(publish).collect()
    }

    /// Stores and sends notifications.
    async fn notify(&self) -> StoreResult<()> {
        let Some(notifier) = &self.notifier else {
            return Ok(());
        };
        self.follow(&Follower::Notify(notifier)).await?;
        let claim = NotificationClaim {
            project_id: self.project,
            channels: notifier.channels(),
            lease: NOTIFY_LEASE,
        };
        while let Some(due) = self.store.claim_notification(claim.clone()).await? {
            let end = notifier.deliver(&due).await;
            self.store.end_notification(due.id, due.claim, end).await?;
        }
        Ok(())
    }

    /// Stores and runs pushes.
    async fn push(&self) -> StoreResult<()> {
        if let Some(remote) = &self.remote {
            self.follow(&Follower::Publish(remote)).await?;
        }
        let claim = PushClaim {
            id: None,
            project_id: self.project,
            lease: publish::LEASE,
        };
        while let Some(due) = self.store.claim_push(claim).await? {
            let task = due.task_id;
            match self.publisher.run(due).await {
                Ok(push) => {
                    let what = push.error.unwrap_or(format!("pushed to {}", push.remote));
                    self.console
                        .progress(QUIET, &format!("task {task}: {what}"));
                }
                // Another process started it again, so its result counts.
                Err(StoreError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads the events since the follower's position, and stores what follows from them.
    async fn follow(&self, follower: &Follower<'_>) -> StoreResult<()> {
        for project in self.projects().await? {
            let name = follower.name(&project);
            let mut from = self.store.follow(name.clone()).await?;
            loop {
                let filter = EventFilter {
                    project_id: Some(project.id),
                    after: from,
                    limit: PAGE_SIZE,
                    ..EventFilter::default()
                };
                let events = self.store.events(filter).await?;
                let Some(last) = events.last() else {
                    break;
                };
                let mut step = FollowStep {
                    follower: name.clone(),
                    from,
                    to: last.seq,
                    ..FollowStep::default()
                };
                match follower {
                    Follower::Notify(notifier) => {
                        let channels = notifier.channels();
                        step.notifications =
                            notify::derive(&*self.store, &project, &events, &channels).await?;
                    }
                    Follower::Publish(remote) => {
                        step.pushes = pushes(&*self.store, &events, remote).await?;
                    }
                }
                from = step.to;
                if !self.store.record_followed(step).await? {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// A reader of the event log with a stored position for each project.
enum Follower<'a> {
    Notify(&'a Notifier),
    Publish(&'a str),
}

impl Follower<'_> {
    fn name(&self, project: &Project) -> String {
        let name = match self {
            Self::Notify(_) => "notify",
            Self::Publish(_) => "publish",
        };
        format!("{name} {}", project.id)
    }
}

/// Returns the pushes of the tasks that these events completed with proof.
async fn pushes(
    store: &dyn TaskStore,
    events: &[LoggedEvent],
    remote: &str,
) -> StoreResult<Vec<NewPush>> {
    let completed = events.iter().filter_map(|event| match event.message {
        Broadcast::TaskStatus {
            task_id,
            status: TaskStatus::Completed,
            ..
        } => Some(task_id),
        _ => None,
    });
    let mut pushes = Vec::new();
    for id in completed.collect::<BTreeSet<_>>() {
        let task = store.task(id).await?;
        let Some(branch) = published_branch(&task) else {
            continue;
        };
        let known = store.pushes(id).await?;
        let is_known = known.iter().any(|push| {
            let is_later = task.completed_at.is_some_and(|at| push.at >= at);
            push.remote == remote && push.state != PushState::Failed && is_later
        });
        if !is_known {
            pushes.push(NewPush {
                task_id: id,
                remote: remote.to_owned(),
                reference: format!("refs/heads/{branch}"),
            });
        }
    }
    Ok(pushes)
}

/// Returns the branch of a proved change. That of a candidate is pushed only if it is chosen.
fn published_branch(task: &Task) -> Option<&str> {
    let is_proved = task.status == TaskStatus::Completed && !task.unverified;
    let branch = task.branch.as_deref()?;
    (is_proved && task.candidate_of.is_none()).then_some(branch)
}
