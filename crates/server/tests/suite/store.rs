//! A store that fails on demand.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass_core::{Timestamp, TraceNode, Usage};
use windlass_tasks::{AccountLimit, AccountLimits, ModelCalls, NewAccountLimit};
use windlass_tasks::{
    AgentMessage, AgentSession, Approval, ApprovalId, Approvals, Attempt, AttemptRecords,
    AttemptRef, BasePart, Blocker, BlockerId, Blockers, Broadcast, Claim, Claimed, ClaimedLandings,
    Correction, CorrectionId, DependencyChange, DueRun, EarlierChange, Enqueued, EventFilter,
    EventLog, Issue, IssueId, Landing, LandingClaim, LandingFilter, LandingId, LandingOutcome,
    LandingToken, Landings, LeaseStatus, Leases, LoggedEvent, MessageId, NewApproval, NewIssue,
    NewLanding, NewProject, NewReview, NewSchedule, NewTask, NotificationId, Outcome, Project,
    ProjectCheckout, ProjectId, ProjectIdentity, Projects, Proof, Release, Review, Reviews,
    Schedule, ScheduleId, Schedules, Stacks, Steering, StoreError, StoreFuture, TakeOver, Task,
    TaskEdit, TaskFilter, TaskId, TaskQueue, TaskStore, TestResult, TestResultId, Traces,
    WorkerPause,
};
use windlass_tasks::{
    FollowStep, NewPush, NewWorker, Notification, NotificationClaim, NotificationEnd,
    Notifications, Push, PushClaim, PushEnd, PushRef, Pushes, RegisteredWorker, WorkerId,
    WorkerRenewal, Workers,
};

/// The kind of failure.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// Every call returns this error.
    Error(StoreError),
    /// Every call panics.
    Panic,
}

#[derive(Debug)]
pub(crate) struct FaultyStore {
    inner: Arc<dyn TaskStore>,
    pub(crate) calls: Arc<dyn ModelCalls>,
    fault: Mutex<Option<Fault>>,
}

impl FaultyStore {
    pub(crate) fn new(inner: Arc<dyn TaskStore>, calls: Arc<dyn ModelCalls>) -> Self {
        Self {
            inner,
            calls,
            fault: Mutex::new(None),
        }
    }

    pub(crate) fn fail(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap() = fault;
    }
}

macro_rules! forward {
    ($($part:ident { $($name:ident($($arg:ident: $kind:ty),*) -> $out:ty;)* })*) => {
        $(impl $part for FaultyStore {
            $(fn $name(&self, $($arg: $kind),*) -> StoreFuture<'_, $out> {
                let fault = self.fault.lock().unwrap().clone();
                match fault {
                    None => self.inner.$name($($arg),*),
                    Some(Fault::Error(error)) => Box::pin(std::future::ready(Err(error))),
                    Some(Fault::Panic) => panic!("at /home/me/secret"),
                }
            })*
        })*
    };
}

forward! {
    AccountLimits {
        limit_account(limit: NewAccountLimit) -> ();
        clear_account_limit(account: String) -> bool;
        account_limits() -> Vec<AccountLimit>;
        agent_limit(agent: String) -> Option<AccountLimit>;
        attempt_limit(attempt: AttemptRef) -> Option<AccountLimit>;
    }
    Workers {
        register_worker(worker: NewWorker) -> WorkerId;
        renew_worker(id: WorkerId, running: u32) -> WorkerRenewal;
        remove_worker(id: WorkerId) -> ();
        workers() -> Vec<RegisteredWorker>;
        drain_worker(id: WorkerId) -> RegisteredWorker;
    }
    Stacks {
        dependency_changes(task: TaskId) -> Vec<DependencyChange>;
        record_base(attempt: AttemptRef, base: String, parts: Vec<BasePart>) -> ();
        wait_for_merge(attempt: AttemptRef, merge: NewTask) -> Task;
        wait_for_update(attempt: AttemptRef, dependency: TaskId, reason: String) -> Task;
    }
    Projects {
        store_id() -> String;
        add_project(project: NewProject) -> Project;
        add_remote_project(identity: ProjectIdentity) -> Project;
        identify_project(id: ProjectId, identity: ProjectIdentity) -> Project;
        set_checkout(id: ProjectId, root: Option<PathBuf>) -> Project;
        checkouts(id: ProjectId) -> Vec<ProjectCheckout>;
        remove_project(id: ProjectId) -> ();
        project(id: ProjectId) -> Project;
        projects() -> Vec<Project>;
        add_issue(issue: NewIssue) -> Issue;
        issue(id: IssueId) -> Issue;
    }
    TaskQueue {
        enqueue(tasks: Vec<NewTask>) -> Vec<Enqueued>;
        add_dependency(task: TaskId, on: TaskId) -> ();
        task(id: TaskId) -> Task;
        tasks(filter: TaskFilter) -> Vec<Task>;
        cancel(id: TaskId) -> Task;
        retry(id: TaskId, fresh: bool) -> Task;
        accept(id: TaskId) -> Task;
    }
    Leases {
        claim(claim: Claim) -> Option<Claimed>;
        heartbeat(attempt: AttemptRef, lease: Duration) -> LeaseStatus;
        release(attempt: AttemptRef, release: Release) -> ();
        reclaim_expired() -> Vec<Task>;
        record_intent(attempt: AttemptRef, commit: String) -> ();
        pending_intent(task: TaskId) -> Option<String>;
        record_change(attempt: AttemptRef, commit: String) -> ();
        earlier_change(task: TaskId) -> Option<EarlierChange>;
        finish(attempt: AttemptRef, outcome: Outcome, usage: Usage) -> Task;
    }
    AttemptRecords {
        attempts(task: TaskId) -> Vec<Attempt>;
        record_session(attempt: AttemptRef, session: AgentSession) -> ();
        record_test(attempt: AttemptRef, result: TestResult) -> TestResultId;
        test_results(task: TaskId) -> Vec<(u32, TestResult)>;
        record_correction(attempt: AttemptRef, round: Correction) -> CorrectionId;
        corrections(task: TaskId) -> Vec<(u32, Correction)>;
        proof(task: TaskId) -> Option<Proof>;
    }
    EventLog {
        append_events(attempt: Option<AttemptRef>, messages: Vec<Broadcast>) -> u64;
        events(filter: EventFilter) -> Vec<LoggedEvent>;
        wait_for_events(after: u64, timeout: Duration) -> u64;
    }
    Blockers {
        blockers(project: Option<ProjectId>, open: bool) -> Vec<Blocker>;
        task_blockers(task: TaskId) -> Vec<Blocker>;
        answer_blocker(blocker: BlockerId, text: String) -> Task;
    }
    Approvals {
        request_approval(approval: NewApproval) -> Approval;
        approval(id: ApprovalId) -> Approval;
        approvals(open: bool) -> Vec<Approval>;
        decide_approval(id: ApprovalId, option: Option<String>) -> Approval;
    }
    Schedules {
        add_schedule(schedule: NewSchedule) -> Schedule;
        schedules(project: Option<ProjectId>) -> Vec<Schedule>;
        pause_schedule(id: ScheduleId) -> Schedule;
        resume_schedule(id: ScheduleId, next: Timestamp) -> Schedule;
        remove_schedule(id: ScheduleId) -> Schedule;
        run_schedule(run: DueRun) -> Option<Task>;
    }
    TakeOver {
        send_message(task: TaskId, author: String, text: String) -> AgentMessage;
        messages(task: TaskId) -> Vec<AgentMessage>;
        take_messages(attempt: AttemptRef, seen: Option<MessageId>) -> Vec<AgentMessage>;
        take_over(claim: Claim) -> Claimed;
    }
    Steering {
        edit_task(id: TaskId, edit: TaskEdit) -> Task;
        pause_task(id: TaskId) -> Task;
        resume_task(id: TaskId) -> Task;
        cancel_all(project: Option<ProjectId>) -> Vec<Task>;
        pause_workers(project: Option<ProjectId>, reason: String) -> WorkerPause;
        resume_workers(project: Option<ProjectId>) -> bool;
        worker_pauses() -> Vec<WorkerPause>;
        project_note(project: ProjectId) -> String;
        set_project_note(project: ProjectId, note: String) -> ();
    }
    Landings {
        set_land(task: TaskId, land: bool) -> Task;
        due_landings(project: Option<ProjectId>) -> Vec<Task>;
        enqueue_landing(new: NewLanding) -> Landing;
        claim_landings(claim: LandingClaim) -> Option<ClaimedLandings>;
        heartbeat_landings(token: LandingToken, lease: Duration) -> ();
        record_landing_intent(token: LandingToken, entries: Vec<LandingId>, commit: String) -> ();
        finish_landing(token: LandingToken, entry: LandingId, outcome: LandingOutcome) -> Task;
        release_landings(token: LandingToken, reason: Option<String>) -> ();
        landings(filter: LandingFilter) -> Vec<Landing>;
        record_landed(new: NewLanding, commit: String) -> Task;
        forget_landed(task: TaskId) -> Task;
    }
    Reviews {
        add_review(review: NewReview) -> (Review, Task);
        reviews(task: TaskId) -> Vec<Review>;
        open_reviews(task: TaskId) -> Vec<Review>;
        proof_of(version: AttemptRef) -> Option<Proof>;
    }
    Traces {
        put_trace(id: String, task: Option<TaskId>, root: TraceNode) -> ();
        trace(id: String) -> TraceNode;
        traces(task: Option<TaskId>, limit: u32) -> Vec<String>;
    }
    Pushes {
        request_push(push: NewPush) -> Push;
        pushes(task: TaskId) -> Vec<Push>;
        claim_push(claim: PushClaim) -> Option<Push>;
        record_sent(push: PushRef, commit: String) -> ();
        end_push(push: PushRef, end: PushEnd) -> Push;
    }
    Notifications {
        follow(follower: String) -> u64;
        record_followed(step: FollowStep) -> bool;
        claim_notification(claim: NotificationClaim) -> Option<Notification>;
        end_notification(id: NotificationId, claim: u32, end: NotificationEnd) -> bool;
        notifications(project: Option<ProjectId>, limit: u32) -> Vec<Notification>;
    }
}
