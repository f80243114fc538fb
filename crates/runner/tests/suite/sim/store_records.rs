//! The records of the in-memory store: of attempts, questions, permission requests and traces.

use windlass_core::{TraceNode, Usage};
use windlass_tasks::{
    AgentSession, Answer, Approval, ApprovalDecision, ApprovalId, Approvals, Attempt,
    AttemptRecords, AttemptRef, Blocker, BlockerId, Blockers, Correction, CorrectionId,
    NewApproval, ProjectId, Proof, StoreError, StoreFuture, Task, TaskId, TestResult, TestResultId,
    Traces,
};

use super::memory::next_id;
use super::store::{SimStore, find};

impl AttemptRecords for SimStore {
    /// This store remembers only the number of attempts.
    fn attempts(&self, task: TaskId) -> StoreFuture<'_, Vec<Attempt>> {
        self.call(move |memory, now| {
            let row = memory.row(task)?;
            let attempt = |number| Attempt {
                number,
                worker: String::new(),
                started_at: now.wall,
                ended_at: None,
                outcome: None,
                error: None,
                commit: row.changes.get(&number).cloned(),
                session: row.sessions.get(&number).cloned(),
                base: row.bases.get(&number).map(|(base, _)| base.clone()),
                base_parts: row
                    .bases
                    .get(&number)
                    .map_or_else(Vec::new, |(_, parts)| parts.clone()),
                usage: Usage::default(),
            };
            Ok((1..=row.task.attempt).map(attempt).collect())
        })
    }

    fn record_session(&self, attempt: AttemptRef, session: AgentSession) -> StoreFuture<'_, ()> {
        self.call(move |memory, _| {
            let row = memory.fenced(attempt)?;
            row.sessions.insert(attempt.number, session);
            Ok(())
        })
    }

    fn record_test(
        &self,
        attempt: AttemptRef,
        result: TestResult,
    ) -> StoreFuture<'_, TestResultId> {
        self.call(move |memory, _| {
            let row = memory.fenced(attempt)?;
            row.tests.push((attempt.number, result));
            Ok(next_id(row.tests.len() - 1))
        })
    }

    fn test_results(&self, task: TaskId) -> StoreFuture<'_, Vec<(u32, TestResult)>> {
        self.call(move |memory, _| Ok(memory.row(task)?.tests.clone()))
    }

    fn record_correction(
        &self,
        attempt: AttemptRef,
        round: Correction,
    ) -> StoreFuture<'_, CorrectionId> {
        self.call(move |memory, _| {
            let row = memory.fenced(attempt)?;
            row.corrections.push((attempt.number, round));
            Ok(next_id(row.corrections.len() - 1))
        })
    }

    fn corrections(&self, task: TaskId) -> StoreFuture<'_, Vec<(u32, Correction)>> {
        self.call(move |memory, _| Ok(memory.row(task)?.corrections.clone()))
    }

    fn proof(&self, task: TaskId) -> StoreFuture<'_, Option<Proof>> {
        self.call(move |memory, _| Ok(memory.row(task)?.proof.clone()))
    }
}

impl Blockers for SimStore {
    fn blockers(&self, _: Option<ProjectId>, open: bool) -> StoreFuture<'_, Vec<Blocker>> {
        self.call(move |memory, _| {
            let all = memory.blockers.iter();
            Ok(all
                .filter(|blocker| !open || blocker.answer.is_none())
                .cloned()
                .collect())
        })
    }

    fn task_blockers(&self, task: TaskId) -> StoreFuture<'_, Vec<Blocker>> {
        self.call(move |memory, _| {
            let all = memory.blockers.iter();
            Ok(all
                .filter(|blocker| blocker.task_id == task)
                .cloned()
                .collect())
        })
    }

    fn answer_blocker(&self, id: BlockerId, text: String) -> StoreFuture<'_, Task> {
        self.call(move |memory, now| {
            let blocker = memory.blockers.iter_mut().find(|blocker| blocker.id == id);
            let blocker = blocker.ok_or_else(|| StoreError::not_found("blocker", id))?;
            if blocker.answer.is_some() {
                return Err(StoreError::Refused("it is already answered".to_owned()));
            }
            blocker.answer = Some(Answer { text, at: now.wall });
            let task = blocker.task_id;
            memory.reopen(task, now)
        })
    }
}

impl Approvals for SimStore {
    fn request_approval(&self, request: NewApproval) -> StoreFuture<'_, Approval> {
        self.call(move |memory, now| {
            let approval = Approval {
                id: next_id(memory.approvals.len()),
                request,
                created_at: now.wall,
                decision: None,
            };
            memory.approvals.push(approval.clone());
            Ok(approval)
        })
    }

    fn approval(&self, id: ApprovalId) -> StoreFuture<'_, Approval> {
        self.call(move |memory, _| find("approval", id, &memory.approvals, |one| one.id == id))
    }

    fn approvals(&self, open: bool) -> StoreFuture<'_, Vec<Approval>> {
        self.call(move |memory, _| {
            let all = memory.approvals.iter();
            Ok(all
                .filter(|one| !open || one.decision.is_none())
                .cloned()
                .collect())
        })
    }

    fn decide_approval(&self, id: ApprovalId, option: Option<String>) -> StoreFuture<'_, Approval> {
        self.call(move |memory, now| {
            let approval = memory.approvals.iter_mut().find(|one| one.id == id);
            let approval = approval.ok_or_else(|| StoreError::not_found("approval", id))?;
            let decision = ApprovalDecision {
                option,
                at: now.wall,
            };
            approval.decision.get_or_insert(decision);
            Ok(approval.clone())
        })
    }
}

impl Traces for SimStore {
    fn put_trace(&self, id: String, task: Option<TaskId>, root: TraceNode) -> StoreFuture<'_, ()> {
        self.call(move |memory, _| {
            memory.traces.insert(id, (task, root));
            Ok(())
        })
    }

    fn trace(&self, id: String) -> StoreFuture<'_, TraceNode> {
        self.call(move |memory, _| {
            let trace = memory.traces.get(&id);
            let trace = trace.map(|(_, root)| root.clone());
            trace.ok_or_else(|| StoreError::not_found("trace", id))
        })
    }

    fn traces(&self, task: Option<TaskId>, _: u32) -> StoreFuture<'_, Vec<String>> {
        self.call(move |memory, _| {
            let all = memory.traces.iter();
            let is_of_task = |(_, (of, _)): &(&String, &(Option<TaskId>, TraceNode))| {
                task.is_none() || task == *of
            };
            Ok(all.filter(is_of_task).map(|(id, _)| id.clone()).collect())
        })
    }
}
