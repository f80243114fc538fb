//! The [`TaskStore`] implementation: for each method, whether it reads or writes, how durable a write is, and
//! its name in timeout errors.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::task::{
    Approval, Attempt, AttemptRef, Blocker, Broadcast, Claim, Claimed, Correction, Enqueued,
    EventFilter, Issue, IssueId, LeaseStatus, LoggedEvent, NewApproval, NewIssue, NewProject,
    NewTask, Outcome, Project, ProjectId, Proof, RecordId, Release, StoreError, StoreFuture, Task,
    TaskFilter, TaskId, TaskStore, TestResult,
};
use windlass_core::{TraceNode, Usage};

use crate::events;
use crate::ops::{
    approvals, attempts, blockers, claim, enqueue, finish, projects, reclaim, records, tasks,
    traces,
};
use crate::store::{Durability, SqlStore, WriteOptions};
use crate::task_row;
use crate::write_job::{JobProgress, StageLabels, TypedWriteJob, WriteJob, stages};

/// Options of a write that must survive power loss.
fn durable(stages: StageLabels, task: Option<TaskId>) -> WriteOptions {
    let durability = Durability::Durable;
    WriteOptions {
        stages,
        durability,
        task,
    }
}

/// Options of a write that need not survive power loss.
fn relaxed(stages: StageLabels, task: Option<TaskId>) -> WriteOptions {
    let durability = Durability::Relaxed;
    WriteOptions {
        stages,
        durability,
        task,
    }
}

fn ready_error<'a, T: Send + 'a>(error: StoreError) -> StoreFuture<'a, T> {
    Box::pin(std::future::ready(Err(error)))
}

/// Builds a write operation that owns its arguments, because it may run more than once.
macro_rules! operation {
    (|$db:ident, $args:ident| $operation:expr) => {{
        let $args = Arc::new($args);
        move |$db| {
            let $args = Arc::clone(&$args);
            Box::pin(async move { $operation.await })
        }
    }};
}

/// Releases a task that was claimed for a caller that stopped waiting.
fn undo_claim(claimed: Option<Claimed>) -> Option<Box<dyn WriteJob>> {
    let attempt = claimed?.attempt;
    let release = Arc::new(Release {
        reason: "the worker stopped waiting for the claim".to_owned(),
        usage: Usage::default(),
    });
    Some(Box::new(TypedWriteJob {
        operation: Box::new(move |db| {
            let release = Arc::clone(&release);
            Box::pin(async move { finish::release(db, attempt, &release).await })
        }),
        durable: false,
        progress: JobProgress::new(stages!("releasing a task")),
        result: None,
        reply: None,
        undo: None,
    }))
}

impl TaskStore for SqlStore {
    fn add_project(&self, project: NewProject) -> StoreFuture<'_, Project> {
        if let Err(error) = projects::check(&project) {
            return ready_error(error);
        }
        let options = durable(stages!("adding a project"), None);
        self.write(
            options,
            operation!(|db, project| projects::add_project(db, &project)),
        )
    }

    fn project(&self, id: ProjectId) -> StoreFuture<'_, Project> {
        self.read("reading a project", move |db| {
            Box::pin(projects::get_project(db, id))
        })
    }

    fn projects(&self) -> StoreFuture<'_, Vec<Project>> {
        self.read("listing the projects", |db| {
            Box::pin(projects::projects(db))
        })
    }

    fn add_issue(&self, issue: NewIssue) -> StoreFuture<'_, Issue> {
        let options = durable(stages!("adding an issue"), None);
        self.write(
            options,
            operation!(|db, issue| projects::add_issue(db, &issue)),
        )
    }

    fn issue(&self, id: IssueId) -> StoreFuture<'_, Issue> {
        self.read("reading an issue", move |db| {
            Box::pin(projects::get_issue(db, id))
        })
    }

    fn enqueue(&self, tasks: Vec<NewTask>) -> StoreFuture<'_, Vec<Enqueued>> {
        if let Err(error) = enqueue::check(&tasks) {
            return ready_error(error);
        }
        let options = durable(stages!("adding tasks"), None);
        let parents_known = self.known_parents.contains_all(&tasks);
        let write = self.write(
            options,
            operation!(|db, tasks| enqueue::enqueue(db, &tasks, parents_known)),
        );
        Box::pin(async move {
            let added = write.await?;
            self.known_parents.insert(&added);
            Ok(added)
        })
    }

    fn add_dependency(&self, task: TaskId, on: TaskId) -> StoreFuture<'_, ()> {
        let options = durable(stages!("adding a dependency"), Some(task));
        self.write(options, move |db| {
            Box::pin(tasks::add_dependency(db, task, on))
        })
    }

    fn task(&self, id: TaskId) -> StoreFuture<'_, Task> {
        self.read("reading a task", move |db| {
            Box::pin(async move { Ok(task_row::get(db, id).await?.task) })
        })
    }

    fn tasks(&self, filter: TaskFilter) -> StoreFuture<'_, Vec<Task>> {
        self.read("listing tasks", move |db| {
            Box::pin(async move { tasks::list(db, &filter).await })
        })
    }

    fn cancel(&self, id: TaskId) -> StoreFuture<'_, Task> {
        let options = durable(stages!("cancelling a task"), Some(id));
        self.write(options, move |db| Box::pin(tasks::cancel(db, id)))
    }

    fn retry(&self, id: TaskId) -> StoreFuture<'_, Task> {
        let options = durable(stages!("retrying a task"), Some(id));
        self.write(options, move |db| Box::pin(tasks::retry(db, id)))
    }

    fn claim(&self, claim: Claim) -> StoreFuture<'_, Option<Claimed>> {
        let options = relaxed(stages!("claiming a task"), None);
        self.write_or_undo(
            options,
            operation!(|db, claim| claim::claim(db, &claim)),
            Some(undo_claim),
        )
    }

    fn heartbeat(&self, attempt: AttemptRef, lease: Duration) -> StoreFuture<'_, LeaseStatus> {
        let options = relaxed(stages!("renewing a lease"), Some(attempt.task));
        self.write(options, move |db| {
            Box::pin(attempts::heartbeat(db, attempt, lease))
        })
    }

    fn release(&self, attempt: AttemptRef, release: Release) -> StoreFuture<'_, ()> {
        let options = durable(stages!("releasing a task"), Some(attempt.task));
        self.write(
            options,
            operation!(|db, release| finish::release(db, attempt, &release)),
        )
    }

    fn reclaim_expired(&self) -> StoreFuture<'_, Vec<Task>> {
        let options = relaxed(stages!("reclaiming expired tasks"), None);
        let watch = Arc::clone(&self.lease_watch);
        self.write(
            options,
            operation!(|db, watch| reclaim::reclaim_expired(db, &watch)),
        )
    }

    fn record_intent(&self, attempt: AttemptRef, commit: String) -> StoreFuture<'_, ()> {
        let options = durable(stages!("recording a publish intent"), Some(attempt.task));
        self.write(
            options,
            operation!(|db, commit| attempts::record_intent(db, attempt, &commit)),
        )
    }

    fn pending_intent(&self, task: TaskId) -> StoreFuture<'_, Option<String>> {
        self.read("reading a publish intent", move |db| {
            Box::pin(attempts::pending_intent(db, task))
        })
    }

    fn finish(&self, attempt: AttemptRef, outcome: Outcome, usage: Usage) -> StoreFuture<'_, Task> {
        let options = durable(stages!("finishing an attempt"), Some(attempt.task));
        let args = (outcome, usage);
        self.write(
            options,
            operation!(|db, args| finish::finish(db, attempt, &args.0, &args.1)),
        )
    }

    fn attempts(&self, task: TaskId) -> StoreFuture<'_, Vec<Attempt>> {
        self.read("reading a task's attempts", move |db| {
            Box::pin(attempts::list(db, task))
        })
    }

    fn record_test(&self, attempt: AttemptRef, result: TestResult) -> StoreFuture<'_, RecordId> {
        let options = relaxed(stages!("recording a test result"), Some(attempt.task));
        self.write(
            options,
            operation!(|db, result| records::record_test(db, attempt, &result)),
        )
    }

    fn test_results(&self, task: TaskId) -> StoreFuture<'_, Vec<(u32, TestResult)>> {
        self.read("reading test results", move |db| {
            Box::pin(records::tests(db, task))
        })
    }

    fn record_correction(
        &self,
        attempt: AttemptRef,
        round: Correction,
    ) -> StoreFuture<'_, RecordId> {
        let options = relaxed(stages!("recording a correction"), Some(attempt.task));
        self.write(
            options,
            operation!(|db, round| records::record_correction(db, attempt, &round)),
        )
    }

    fn corrections(&self, task: TaskId) -> StoreFuture<'_, Vec<(u32, Correction)>> {
        self.read("reading corrections", move |db| {
            Box::pin(records::corrections(db, task))
        })
    }

    fn proof(&self, task: TaskId) -> StoreFuture<'_, Option<Proof>> {
        self.read("reading a proof", move |db| {
            Box::pin(records::proof(db, task))
        })
    }

    fn append_events(
        &self,
        attempt: Option<AttemptRef>,
        messages: Vec<Broadcast>,
    ) -> StoreFuture<'_, u64> {
        if let Err(error) = events::check(&messages) {
            return ready_error(error);
        }
        let task = attempt.map(|attempt| attempt.task);
        let options = relaxed(stages!("appending events"), task);
        self.write(
            options,
            operation!(|db, messages| events::append(db, attempt, &messages)),
        )
    }

    fn events(&self, filter: EventFilter) -> StoreFuture<'_, Vec<LoggedEvent>> {
        self.read("reading events", move |db| {
            Box::pin(async move { events::read(db, &filter).await })
        })
    }

    fn wait_for_events(&self, after: u64, timeout: Duration) -> StoreFuture<'_, u64> {
        self.wait(after, timeout)
    }

    fn blockers(&self, project: Option<ProjectId>, open: bool) -> StoreFuture<'_, Vec<Blocker>> {
        self.read("listing questions", move |db| {
            Box::pin(blockers::blockers(db, project, open))
        })
    }

    fn task_blockers(&self, task: TaskId) -> StoreFuture<'_, Vec<Blocker>> {
        self.read("reading a task's questions", move |db| {
            Box::pin(blockers::task_blockers(db, task))
        })
    }

    fn answer_blocker(&self, blocker: RecordId, text: String) -> StoreFuture<'_, Task> {
        if text.trim().is_empty() {
            let empty = "the answer must not be empty";
            return ready_error(StoreError::Refused(empty.to_owned()));
        }
        let options = durable(stages!("answering a question"), None);
        self.write(
            options,
            operation!(|db, text| blockers::answer(db, blocker, &text)),
        )
    }

    fn request_approval(&self, approval: NewApproval) -> StoreFuture<'_, Approval> {
        let options = relaxed(
            stages!("requesting permission"),
            Some(approval.attempt.task),
        );
        self.write(
            options,
            operation!(|db, approval| approvals::request(db, &approval)),
        )
    }

    fn approval(&self, id: RecordId) -> StoreFuture<'_, Approval> {
        self.read("reading a permission request", move |db| {
            Box::pin(approvals::get(db, id))
        })
    }

    fn approvals(&self, open: bool) -> StoreFuture<'_, Vec<Approval>> {
        self.read("listing permission requests", move |db| {
            Box::pin(approvals::list(db, open))
        })
    }

    fn decide_approval(&self, id: RecordId, option: Option<String>) -> StoreFuture<'_, Approval> {
        let options = durable(stages!("deciding a permission request"), None);
        self.write(
            options,
            operation!(|db, option| approvals::decide(db, id, option.as_deref())),
        )
    }

    fn put_trace(&self, id: String, task: Option<TaskId>, root: TraceNode) -> StoreFuture<'_, ()> {
        let options = relaxed(stages!("storing a trace"), task);
        let args = (id, root);
        self.write(
            options,
            operation!(|db, args| traces::put(db, &args.0, task, &args.1)),
        )
    }

    fn trace(&self, id: String) -> StoreFuture<'_, TraceNode> {
        self.read("reading a trace", move |db| {
            Box::pin(async move { traces::get(db, &id).await })
        })
    }

    fn traces(&self, task: Option<TaskId>, limit: u32) -> StoreFuture<'_, Vec<String>> {
        self.read("listing traces", move |db| {
            Box::pin(traces::list(db, task, limit))
        })
    }
}
