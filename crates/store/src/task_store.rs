//! [`TaskStore`] said in deeds and questions: which is which, how well it is kept, and what it is called when it takes
//! too long.

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

/// A deed that must survive the loss of power.
fn durable(stages: StageLabels, task: Option<TaskId>) -> WriteOptions {
    let kept = Durability::Durable;
    WriteOptions { stages, kept, task }
}

/// A deed that need not.
fn relaxed(stages: StageLabels, task: Option<TaskId>) -> WriteOptions {
    let kept = Durability::Relaxed;
    WriteOptions { stages, kept, task }
}

fn ready_error<'a, T: Send + 'a>(error: StoreError) -> StoreFuture<'a, T> {
    Box::pin(std::future::ready(Err(error)))
}

/// A deed with what it needs, which it keeps because it may be done again.
macro_rules! operation {
    (|$s:ident, $given:ident| $deed:expr) => {{
        let $given = Arc::new($given);
        move |$s| {
            let $given = Arc::clone(&$given);
            Box::pin(async move { $deed.await })
        }
    }};
}

/// Gives back a task that was claimed for somebody who did not wait for it.
fn undo_claim(claimed: Option<Claimed>) -> Option<Box<dyn WriteJob>> {
    let attempt = claimed?.attempt;
    let release = Arc::new(Release {
        reason: "its worker did not wait for it".to_owned(),
        usage: Usage::default(),
    });
    Some(Box::new(TypedWriteJob {
        deed: Box::new(move |s| {
            let release = Arc::clone(&release);
            Box::pin(async move { finish::release(s, attempt, &release).await })
        }),
        durable: false,
        progress: JobProgress::new(stages!("giving a task back")),
        answer: None,
        reply: None,
        undo: None,
    }))
}

impl TaskStore for SqlStore {
    fn add_project(&self, project: NewProject) -> StoreFuture<'_, Project> {
        if let Err(error) = projects::check(&project) {
            return ready_error(error);
        }
        let how = durable(stages!("adding a project"), None);
        self.write(
            how,
            operation!(|s, project| projects::add_project(s, &project)),
        )
    }

    fn project(&self, id: ProjectId) -> StoreFuture<'_, Project> {
        self.read("reading a project", move |s| {
            Box::pin(projects::get_project(s, id))
        })
    }

    fn projects(&self) -> StoreFuture<'_, Vec<Project>> {
        self.read("listing the projects", |s| Box::pin(projects::projects(s)))
    }

    fn add_issue(&self, issue: NewIssue) -> StoreFuture<'_, Issue> {
        let how = durable(stages!("adding an issue"), None);
        self.write(how, operation!(|s, issue| projects::add_issue(s, &issue)))
    }

    fn issue(&self, id: IssueId) -> StoreFuture<'_, Issue> {
        self.read("reading an issue", move |s| {
            Box::pin(projects::get_issue(s, id))
        })
    }

    fn enqueue(&self, tasks: Vec<NewTask>) -> StoreFuture<'_, Vec<Enqueued>> {
        if let Err(error) = enqueue::check(&tasks) {
            return ready_error(error);
        }
        let how = durable(stages!("adding tasks"), None);
        let at_home = self.homes.contains_all(&tasks);
        let write = self.write(
            how,
            operation!(|s, tasks| enqueue::enqueue(s, &tasks, at_home)),
        );
        Box::pin(async move {
            let added = write.await?;
            self.homes.insert(&added);
            Ok(added)
        })
    }

    fn add_dependency(&self, task: TaskId, on: TaskId) -> StoreFuture<'_, ()> {
        let how = durable(stages!("adding a dependency"), Some(task));
        self.write(how, move |s| Box::pin(tasks::add_dependency(s, task, on)))
    }

    fn task(&self, id: TaskId) -> StoreFuture<'_, Task> {
        self.read("reading a task", move |s| {
            Box::pin(async move { Ok(task_row::get(s, id).await?.task) })
        })
    }

    fn tasks(&self, filter: TaskFilter) -> StoreFuture<'_, Vec<Task>> {
        self.read("listing tasks", move |s| {
            Box::pin(async move { tasks::list(s, &filter).await })
        })
    }

    fn cancel(&self, id: TaskId) -> StoreFuture<'_, Task> {
        let how = durable(stages!("cancelling a task"), Some(id));
        self.write(how, move |s| Box::pin(tasks::cancel(s, id)))
    }

    fn retry(&self, id: TaskId) -> StoreFuture<'_, Task> {
        let how = durable(stages!("putting a task back"), Some(id));
        self.write(how, move |s| Box::pin(tasks::retry(s, id)))
    }

    fn claim(&self, claim: Claim) -> StoreFuture<'_, Option<Claimed>> {
        let how = relaxed(stages!("claiming a task"), None);
        self.write_or_undo(
            how,
            operation!(|s, claim| claim::claim(s, &claim)),
            Some(undo_claim),
        )
    }

    fn heartbeat(&self, attempt: AttemptRef, lease: Duration) -> StoreFuture<'_, LeaseStatus> {
        let how = relaxed(stages!("renewing a lease"), Some(attempt.task));
        self.write(how, move |s| {
            Box::pin(attempts::heartbeat(s, attempt, lease))
        })
    }

    fn release(&self, attempt: AttemptRef, release: Release) -> StoreFuture<'_, ()> {
        let how = durable(stages!("giving a task back"), Some(attempt.task));
        self.write(
            how,
            operation!(|s, release| finish::release(s, attempt, &release)),
        )
    }

    fn reclaim_expired(&self) -> StoreFuture<'_, Vec<Task>> {
        let how = relaxed(stages!("taking back what silent workers hold"), None);
        self.write(how, |s| Box::pin(reclaim::reclaim_expired(s)))
    }

    fn record_intent(&self, attempt: AttemptRef, commit: String) -> StoreFuture<'_, ()> {
        let how = durable(
            stages!("noting what is to be published"),
            Some(attempt.task),
        );
        self.write(
            how,
            operation!(|s, commit| attempts::record_intent(s, attempt, &commit)),
        )
    }

    fn pending_intent(&self, task: TaskId) -> StoreFuture<'_, Option<String>> {
        self.read("reading what was to be published", move |s| {
            Box::pin(attempts::pending_intent(s, task))
        })
    }

    fn finish(&self, attempt: AttemptRef, outcome: Outcome, usage: Usage) -> StoreFuture<'_, Task> {
        let how = durable(stages!("ending an attempt"), Some(attempt.task));
        let given = (outcome, usage);
        self.write(
            how,
            operation!(|s, given| finish::finish(s, attempt, &given.0, &given.1)),
        )
    }

    fn attempts(&self, task: TaskId) -> StoreFuture<'_, Vec<Attempt>> {
        self.read("reading a task's attempts", move |s| {
            Box::pin(attempts::list(s, task))
        })
    }

    fn record_test(&self, attempt: AttemptRef, result: TestResult) -> StoreFuture<'_, RecordId> {
        let how = relaxed(stages!("recording a test result"), Some(attempt.task));
        self.write(
            how,
            operation!(|s, result| records::record_test(s, attempt, &result)),
        )
    }

    fn test_results(&self, task: TaskId) -> StoreFuture<'_, Vec<(u32, TestResult)>> {
        self.read("reading test results", move |s| {
            Box::pin(records::tests(s, task))
        })
    }

    fn record_correction(
        &self,
        attempt: AttemptRef,
        round: Correction,
    ) -> StoreFuture<'_, RecordId> {
        let how = relaxed(stages!("recording a correction"), Some(attempt.task));
        self.write(
            how,
            operation!(|s, round| records::record_correction(s, attempt, &round)),
        )
    }

    fn corrections(&self, task: TaskId) -> StoreFuture<'_, Vec<(u32, Correction)>> {
        self.read("reading corrections", move |s| {
            Box::pin(records::corrections(s, task))
        })
    }

    fn proof(&self, task: TaskId) -> StoreFuture<'_, Option<Proof>> {
        self.read("reading a proof", move |s| {
            Box::pin(records::proof(s, task))
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
        let how = relaxed(stages!("adding messages"), task);
        self.write(
            how,
            operation!(|s, messages| events::append(s, attempt, &messages)),
        )
    }

    fn events(&self, filter: EventFilter) -> StoreFuture<'_, Vec<LoggedEvent>> {
        self.read("reading messages", move |s| {
            Box::pin(async move { events::read(s, &filter).await })
        })
    }

    fn wait_for_events(&self, after: u64, patience: Duration) -> StoreFuture<'_, u64> {
        self.wait(after, patience)
    }

    fn blockers(&self, project: Option<ProjectId>, open: bool) -> StoreFuture<'_, Vec<Blocker>> {
        self.read("listing questions", move |s| {
            Box::pin(blockers::blockers(s, project, open))
        })
    }

    fn task_blockers(&self, task: TaskId) -> StoreFuture<'_, Vec<Blocker>> {
        self.read("reading a task's questions", move |s| {
            Box::pin(blockers::task_blockers(s, task))
        })
    }

    fn answer_blocker(&self, blocker: RecordId, text: String) -> StoreFuture<'_, Task> {
        if text.trim().is_empty() {
            let empty = "an answer needs words: say how the task should go on";
            return ready_error(StoreError::Refused(empty.to_owned()));
        }
        let how = durable(stages!("answering a question"), None);
        self.write(
            how,
            operation!(|s, text| blockers::answer(s, blocker, &text)),
        )
    }

    fn request_approval(&self, approval: NewApproval) -> StoreFuture<'_, Approval> {
        let how = relaxed(
            stages!("asking for permission"),
            Some(approval.attempt.task),
        );
        self.write(
            how,
            operation!(|s, approval| approvals::request(s, &approval)),
        )
    }

    fn approval(&self, id: RecordId) -> StoreFuture<'_, Approval> {
        self.read("reading a permission request", move |s| {
            Box::pin(approvals::get(s, id))
        })
    }

    fn approvals(&self, open: bool) -> StoreFuture<'_, Vec<Approval>> {
        self.read("listing permission requests", move |s| {
            Box::pin(approvals::list(s, open))
        })
    }

    fn decide_approval(&self, id: RecordId, option: Option<String>) -> StoreFuture<'_, Approval> {
        let how = durable(stages!("deciding a permission request"), None);
        self.write(
            how,
            operation!(|s, option| approvals::decide(s, id, option.as_deref())),
        )
    }

    fn put_trace(&self, id: String, task: Option<TaskId>, root: TraceNode) -> StoreFuture<'_, ()> {
        let how = relaxed(stages!("keeping a trace"), task);
        let given = (id, root);
        self.write(
            how,
            operation!(|s, given| traces::put(s, &given.0, task, &given.1)),
        )
    }

    fn trace(&self, id: String) -> StoreFuture<'_, TraceNode> {
        self.read("reading a trace", move |s| {
            Box::pin(async move { traces::get(s, &id).await })
        })
    }

    fn traces(&self, task: Option<TaskId>, limit: u32) -> StoreFuture<'_, Vec<String>> {
        self.read("listing traces", move |s| {
            Box::pin(traces::list(s, task, limit))
        })
    }
}
