//! Invariants of every simulated run.

use std::collections::BTreeMap;

use windlass_runner::branch_name;
use windlass_tasks::{Answer, BasePart, Broadcast, TaskId, TaskStatus};

use super::harness::Harness;
use super::repo::{GOOD, WEAK};

/// Returns `true` if no task will change without a person.
pub(crate) fn all_quiet(harness: &Harness) -> bool {
    let memory = harness.store.memory();
    let mut tasks = memory.rows.values().map(|row| &row.task);
    tasks.all(|task| {
        // A task that depends on a blocked one waits for a person too.
        let waits = task.status == TaskStatus::Pending
            && task.dependencies.iter().any(|on| {
                let on = memory.rows[on].task.status;
                on == TaskStatus::Blocked || on == TaskStatus::Pending
            });
        task.status.is_final() || task.status == TaskStatus::Blocked || waits
    })
}

/// Describes the state of every task.
pub(crate) fn statuses(harness: &Harness) -> Vec<String> {
    let memory = harness.store.memory();
    let rows = memory.rows.values();
    rows.map(|row| {
        format!(
            "{}: {} after {} attempts, {:?}",
            row.task.id, row.task.status, row.task.attempt, row.task.output
        )
    })
    .collect()
}

/// Answers one of the open questions.
pub(crate) fn answer_one(harness: &Harness, rng: &mut fastrand::Rng) {
    let now = harness.store.now();
    let mut memory = harness.store.memory();
    let mut open: Vec<_> = memory
        .blockers
        .iter_mut()
        .filter(|blocker| blocker.answer.is_none())
        .collect();
    if open.is_empty() {
        return;
    }
    let at = rng.usize(0..open.len());
    let text = "try harder".to_owned();
    open[at].answer = Some(Answer { text, at: now.wall });
    let task = open[at].task_id;
    if memory.rows[&task].task.status == TaskStatus::Blocked {
        memory.reopen(task, now).unwrap();
    }
}

/// Lets one of the completed tasks be done again.
pub(crate) fn redo_one(harness: &Harness, rng: &mut fastrand::Rng) {
    let now = harness.store.now();
    let mut memory = harness.store.memory();
    let completed = memory.rows.values().map(|row| &row.task);
    let completed = completed.filter(|task| task.status == TaskStatus::Completed);
    let completed: Vec<TaskId> = completed.map(|task| task.id).collect();
    if completed.is_empty() {
        return;
    }
    let id = completed[rng.usize(0..completed.len())];
    if rng.bool() {
        let row = memory.row(id).unwrap();
        row.fresh = row.task.attempt;
    }
    memory.reopen(id, now).unwrap();
}

/// Checks all invariants.
pub(crate) fn all(harness: &Harness) {
    check_one_end(harness);
    check_published_once(harness);
    stacked(harness);
}

/// Checks the invariants that also hold if a person lets completed tasks be done again.
pub(crate) fn stacked(harness: &Harness) {
    check_proofs(harness);
    check_bases(harness);
    check_limits(harness);
    check_kept_changes(harness);
    check_event_order(harness);
}

/// A finished task stays finished.
fn check_one_end(harness: &Harness) {
    let memory = harness.store.memory();
    let mut ends: BTreeMap<TaskId, TaskStatus> = BTreeMap::new();
    for (task, status) in &memory.history {
        assert_eq!(
            ends.get(task),
            None,
            "task {task} has ended, and is {status} now"
        );
        if status.is_final() {
            ends.insert(*task, *status);
        }
    }
}

/// No branch was published twice, and each has the change of its own task.
fn check_published_once(harness: &Harness) {
    let published = harness.repo.published.lock().unwrap();
    let commits = harness.repo.commits.lock().unwrap();
    let mut seen = BTreeMap::new();
    for (branch, commit) in published.iter() {
        if let Some(first) = seen.insert(branch, commit) {
            panic!("{branch} was published twice: {first}, then {commit}");
        }
        let (text, message) = &commits[commit];
        assert!(
            [GOOD, WEAK].contains(&text.as_str()),
            "{branch} holds {text:?}"
        );
        let task = branch.rsplit('-').next().unwrap();
        assert!(
            message.contains(&format!("\nTask-Id: {task}\n")),
            "{message}"
        );
    }
}

/// Every completed task has a proof of the commit on its branch.
fn check_proofs(harness: &Harness) {
    let memory = harness.store.memory();
    for row in memory.rows.values() {
        let task = &row.task;
        assert_eq!(
            task.completed_at.is_some(),
            task.status == TaskStatus::Completed
        );
        if task.status != TaskStatus::Completed {
            continue;
        }
        let proof = row.proof.as_ref().expect("completed without a proof");
        let branches = harness.repo.branches.lock().unwrap();
        assert_eq!(
            branches.get(&branch_name(None, task.id)),
            Some(&proof.commit),
            "task {}",
            task.id
        );
        assert_eq!(proof.exit_code, 0);
        let weak = proof.tree.ends_with(WEAK);
        assert_eq!(
            weak,
            !proof.warnings.is_empty(),
            "weakened tests must be reported"
        );
    }
}

/// The base of a completed task contains the published commits of what it depends on, and its proof names them.
fn check_bases(harness: &Harness) {
    let memory = harness.store.memory();
    let contents = harness.repo.contents.lock().unwrap();
    for row in memory.rows.values() {
        if row.task.status != TaskStatus::Completed {
            continue;
        }
        assert!(!row.task.outdated, "task {} is completed", row.task.id);
        let proof = row.proof.as_ref().expect("completed without a proof");
        let mut below = row.task.dependencies.clone();
        while let Some(on) = below.pop() {
            let dependency = &memory.rows[&on];
            below.extend(&dependency.task.dependencies);
            // One that is worked on again is replaced when it is completed.
            if dependency.task.status != TaskStatus::Completed {
                continue;
            }
            let (commit, _) = dependency.published.as_ref().expect("nothing published");
            let task = row.task.id;
            assert!(
                contents[&proof.commit].contains(commit),
                "task {task} does not contain {commit} of task {on}"
            );
            let names = |part: &BasePart| part.task == on && part.commit == *commit;
            assert!(
                proof.base_parts.iter().any(names),
                "the proof of task {task} does not name {commit}: {:?}",
                proof.base_parts
            );
            assert!(proof.base.contains(commit.as_str()), "{}", proof.base);
        }
    }
}

/// No task has more attempts than allowed, and no record is older than the one before it.
fn check_limits(harness: &Harness) {
    let memory = harness.store.memory();
    for row in memory.rows.values() {
        assert!(row.used <= row.task.max_attempts, "task {}", row.task.id);
        let numbers: Vec<u32> = row.tests.iter().map(|(number, _)| *number).collect();
        assert!(numbers.is_sorted(), "a stale write: {numbers:?}");
        for number in &numbers {
            let rounds = row
                .corrections
                .iter()
                .filter(|(of, _)| of == number)
                .count();
            // A lost reply may duplicate a row.
            assert!(rounds <= 2 * 3, "{rounds} rounds in one attempt");
        }
    }
}

/// Every recorded change is kept.
fn check_kept_changes(harness: &Harness) {
    let memory = harness.store.memory();
    let commits = harness.repo.commits.lock().unwrap();
    for row in memory.rows.values() {
        for (number, commit) in &row.changes {
            let task = row.task.id;
            assert!(
                commits.contains_key(commit),
                "task {task}, attempt {number}"
            );
        }
    }
}

/// The log has an agent's events in order and without gaps, even if batches were written repeatedly.
fn check_event_order(harness: &Harness) {
    let memory = harness.store.memory();
    let mut last = BTreeMap::new();
    for event in &memory.events {
        if let Broadcast::AgentEvent {
            task_id,
            attempt,
            envelope,
            ..
        } = &event.message
        {
            let key = (*task_id, *attempt, envelope.session.clone(), envelope.turn);
            let last = last.entry(key).or_insert(0);
            assert!(
                envelope.seq <= *last + 1,
                "event {} follows {last}",
                envelope.seq
            );
            *last = envelope.seq.max(*last);
        }
    }
}
