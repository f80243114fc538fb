//! [`TaskStore`] said in deeds and questions: which is which, how well it is kept, and what it is called when it takes
//! too long.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::task::{
    Approval, Attempt, AttemptRef, Blocker, Broadcast, Claim, Claimed, Correction, Enqueued,
    EventFilter, Issue, IssueId, Lease, LoggedEvent, NewApproval, NewIssue, NewProject, NewTask,
    Outcome, Project, ProjectId, Proof, RecordId, Release, StoreError, Stored, Task, TaskFilter,
    TaskId, TaskStore, TestResult,
};
use windlass_core::{TraceNode, Usage};

use crate::events;
use crate::ops::{
    approvals, attempts, claim, enqueue, finish, projects, questions, records, sweep, traces,
    wishes,
};
use crate::store::{How, Kept, SqlStore};
use crate::task;
use crate::work::{Job, Progress, Stages, Work, stages};

/// A deed that must survive the loss of power.
fn surely(stages: Stages, task: Option<TaskId>) -> How {
    let kept = Kept::Surely;
    How { stages, kept, task }
}

/// A deed that need not.
fn soon(stages: Stages, task: Option<TaskId>) -> How {
    let kept = Kept::Soon;
    How { stages, kept, task }
}

fn refused<'a, T: Send + 'a>(error: StoreError) -> Stored<'a, T> {
    Box::pin(std::future::ready(Err(error)))
}

/// A deed with what it needs, which it keeps because it may be done again.
macro_rules! deed {
    (|$s:ident, $given:ident| $deed:expr) => {{
        let $given = Arc::new($given);
        move |$s| {
            let $given = Arc::clone(&$given);
            Box::pin(async move { $deed.await })
        }
    }};
}

/// Gives back a task that was claimed for somebody who did not wait for it.
fn unclaim(claimed: Option<Claimed>) -> Option<Box<dyn Work>> {
    let attempt = claimed?.attempt;
    let release = Arc::new(Release {
        reason: "its worker did not wait for it".to_owned(),
        usage: Usage::default(),
    });
    Some(Box::new(Job {
        deed: Box::new(move |s| {
            let release = Arc::clone(&release);
            Box::pin(async move { finish::release(s, attempt, &release).await })
        }),
        durable: false,
        progress: Progress::new(stages!("giving a task back")),
        answer: None,
        reply: None,
        undo: None,
    }))
}

impl TaskStore for SqlStore {
    fn add_project(&self, project: NewProject) -> Stored<'_, Project> {
        if let Err(error) = projects::check(&project) {
            return refused(error);
        }
        let how = surely(stages!("adding a project"), None);
        self.write(how, deed!(|s, project| projects::add_project(s, &project)))
    }

    fn project(&self, id: ProjectId) -> Stored<'_, Project> {
        self.read("reading a project", move |s| {
            Box::pin(projects::get_project(s, id))
        })
    }

    fn projects(&self) -> Stored<'_, Vec<Project>> {
        self.read("listing the projects", |s| Box::pin(projects::projects(s)))
    }

    fn add_issue(&self, issue: NewIssue) -> Stored<'_, Issue> {
        let how = surely(stages!("adding an issue"), None);
        self.write(how, deed!(|s, issue| projects::add_issue(s, &issue)))
    }

    fn issue(&self, id: IssueId) -> Stored<'_, Issue> {
        self.read("reading an issue", move |s| {
            Box::pin(projects::get_issue(s, id))
        })
    }

    fn enqueue(&self, tasks: Vec<NewTask>) -> Stored<'_, Vec<Enqueued>> {
        if let Err(error) = enqueue::check(&tasks) {
            return refused(error);
        }
        let how = surely(stages!("adding tasks"), None);
        let at_home = self.homes.know(&tasks);
        let write = self.write(how, deed!(|s, tasks| enqueue::enqueue(s, &tasks, at_home)));
        Box::pin(async move {
            let added = write.await?;
            self.homes.learn(&added);
            Ok(added)
        })
    }

    fn add_dependency(&self, task: TaskId, on: TaskId) -> Stored<'_, ()> {
        let how = surely(stages!("adding a dependency"), Some(task));
        self.write(how, move |s| Box::pin(wishes::add_dependency(s, task, on)))
    }

    fn task(&self, id: TaskId) -> Stored<'_, Task> {
        self.read("reading a task", move |s| {
            Box::pin(async move { Ok(task::get(s, id).await?.task) })
        })
    }

    fn tasks(&self, filter: TaskFilter) -> Stored<'_, Vec<Task>> {
        self.read("listing tasks", move |s| {
            Box::pin(async move { wishes::list(s, &filter).await })
        })
    }

    fn cancel(&self, id: TaskId) -> Stored<'_, Task> {
        let how = surely(stages!("cancelling a task"), Some(id));
        self.write(how, move |s| Box::pin(wishes::cancel(s, id)))
    }

    fn retry(&self, id: TaskId) -> Stored<'_, Task> {
        let how = surely(stages!("putting a task back"), Some(id));
        self.write(how, move |s| Box::pin(wishes::retry(s, id)))
    }

    fn claim(&self, claim: Claim) -> Stored<'_, Option<Claimed>> {
        let how = soon(stages!("claiming a task"), None);
        self.write_or_undo(
            how,
            deed!(|s, claim| claim::claim(s, &claim)),
            Some(unclaim),
        )
    }

    fn heartbeat(&self, attempt: AttemptRef, lease: Duration) -> Stored<'_, Lease> {
        let how = soon(stages!("renewing a lease"), Some(attempt.task));
        self.write(how, move |s| {
            Box::pin(attempts::heartbeat(s, attempt, lease))
        })
    }

    fn release(&self, attempt: AttemptRef, release: Release) -> Stored<'_, ()> {
        let how = surely(stages!("giving a task back"), Some(attempt.task));
        self.write(
            how,
            deed!(|s, release| finish::release(s, attempt, &release)),
        )
    }

    fn sweep(&self) -> Stored<'_, Vec<Task>> {
        let how = soon(stages!("taking back what silent workers hold"), None);
        self.write(how, |s| Box::pin(sweep::sweep(s)))
    }

    fn intend(&self, attempt: AttemptRef, commit: String) -> Stored<'_, ()> {
        let how = surely(
            stages!("noting what is to be published"),
            Some(attempt.task),
        );
        self.write(
            how,
            deed!(|s, commit| attempts::intend(s, attempt, &commit)),
        )
    }

    fn intended(&self, task: TaskId) -> Stored<'_, Option<String>> {
        self.read("reading what was to be published", move |s| {
            Box::pin(attempts::intended(s, task))
        })
    }

    fn finish(&self, attempt: AttemptRef, outcome: Outcome, usage: Usage) -> Stored<'_, Task> {
        let how = surely(stages!("ending an attempt"), Some(attempt.task));
        let given = (outcome, usage);
        self.write(
            how,
            deed!(|s, given| finish::finish(s, attempt, &given.0, &given.1)),
        )
    }

    fn attempts(&self, task: TaskId) -> Stored<'_, Vec<Attempt>> {
        self.read("reading a task's attempts", move |s| {
            Box::pin(attempts::list(s, task))
        })
    }

    fn record_test(&self, attempt: AttemptRef, result: TestResult) -> Stored<'_, RecordId> {
        let how = soon(stages!("recording a test result"), Some(attempt.task));
        self.write(
            how,
            deed!(|s, result| records::record_test(s, attempt, &result)),
        )
    }

    fn tests(&self, task: TaskId) -> Stored<'_, Vec<(u32, TestResult)>> {
        self.read("reading test results", move |s| {
            Box::pin(records::tests(s, task))
        })
    }

    fn record_correction(&self, attempt: AttemptRef, round: Correction) -> Stored<'_, RecordId> {
        let how = soon(stages!("recording a correction"), Some(attempt.task));
        self.write(
            how,
            deed!(|s, round| records::record_correction(s, attempt, &round)),
        )
    }

    fn corrections(&self, task: TaskId) -> Stored<'_, Vec<(u32, Correction)>> {
        self.read("reading corrections", move |s| {
            Box::pin(records::corrections(s, task))
        })
    }

    fn proof(&self, task: TaskId) -> Stored<'_, Option<Proof>> {
        self.read("reading a proof", move |s| {
            Box::pin(records::proof(s, task))
        })
    }

    fn append(&self, attempt: Option<AttemptRef>, messages: Vec<Broadcast>) -> Stored<'_, u64> {
        if let Err(error) = events::check(&messages) {
            return refused(error);
        }
        let task = attempt.map(|attempt| attempt.task);
        let how = soon(stages!("adding messages"), task);
        self.write(
            how,
            deed!(|s, messages| events::append(s, attempt, &messages)),
        )
    }

    fn events(&self, filter: EventFilter) -> Stored<'_, Vec<LoggedEvent>> {
        self.read("reading messages", move |s| {
            Box::pin(async move { events::read(s, &filter).await })
        })
    }

    fn changed(&self, after: u64, patience: Duration) -> Stored<'_, u64> {
        self.wait(after, patience)
    }

    fn blockers(&self, project: Option<ProjectId>, open: bool) -> Stored<'_, Vec<Blocker>> {
        self.read("listing questions", move |s| {
            Box::pin(questions::blockers(s, project, open))
        })
    }

    fn questions(&self, task: TaskId) -> Stored<'_, Vec<Blocker>> {
        self.read("reading a task's questions", move |s| {
            Box::pin(questions::questions(s, task))
        })
    }

    fn answer(&self, blocker: RecordId, text: String) -> Stored<'_, Task> {
        if text.trim().is_empty() {
            let empty = "an answer needs words: say how the task should go on";
            return refused(StoreError::Refused(empty.to_owned()));
        }
        let how = surely(stages!("answering a question"), None);
        self.write(how, deed!(|s, text| questions::answer(s, blocker, &text)))
    }

    fn ask(&self, approval: NewApproval) -> Stored<'_, Approval> {
        let how = soon(
            stages!("asking for permission"),
            Some(approval.attempt.task),
        );
        self.write(how, deed!(|s, approval| approvals::ask(s, &approval)))
    }

    fn approval(&self, id: RecordId) -> Stored<'_, Approval> {
        self.read("reading a permission request", move |s| {
            Box::pin(approvals::get(s, id))
        })
    }

    fn approvals(&self, open: bool) -> Stored<'_, Vec<Approval>> {
        self.read("listing permission requests", move |s| {
            Box::pin(approvals::list(s, open))
        })
    }

    fn decide(&self, id: RecordId, option: Option<String>) -> Stored<'_, Approval> {
        let how = surely(stages!("deciding a permission request"), None);
        self.write(
            how,
            deed!(|s, option| approvals::decide(s, id, option.as_deref())),
        )
    }

    fn put_trace(&self, id: String, task: Option<TaskId>, root: TraceNode) -> Stored<'_, ()> {
        let how = soon(stages!("keeping a trace"), task);
        let given = (id, root);
        self.write(
            how,
            deed!(|s, given| traces::put(s, &given.0, task, &given.1)),
        )
    }

    fn trace(&self, id: String) -> Stored<'_, TraceNode> {
        self.read("reading a trace", move |s| {
            Box::pin(async move { traces::get(s, &id).await })
        })
    }

    fn traces(&self, task: Option<TaskId>, limit: u32) -> Stored<'_, Vec<String>> {
        self.read("listing traces", move |s| {
            Box::pin(traces::list(s, task, limit))
        })
    }
}
