//! What must hold of every life, whatever happened in it.

use std::collections::BTreeMap;

use windlass_core::task::{Answer, Broadcast, TaskId, TaskStatus};
use windlass_runner::branch_name;

use super::place::{GOOD, WEAK};
use super::world::World;

/// Whether nothing more will happen by itself.
pub(crate) fn all_quiet(world: &World) -> bool {
    let memory = world.store.look();
    let mut tasks = memory.rows.values().map(|row| &row.task);
    tasks.all(|task| {
        // A task that waits for a blocked one waits for a person, as that one does.
        let waits = task.status == TaskStatus::Pending
            && task.dependencies.iter().any(|on| {
                let on = memory.rows[on].task.status;
                on == TaskStatus::Blocked || on == TaskStatus::Pending
            });
        task.status.is_final() || task.status == TaskStatus::Blocked || waits
    })
}

/// How every task stands.
pub(crate) fn statuses(world: &World) -> Vec<String> {
    let memory = world.store.look();
    let rows = memory.rows.values();
    rows.map(|row| {
        format!(
            "{}: {} after {} attempts, {:?}",
            row.task.id, row.task.status, row.task.attempt, row.task.output
        )
    })
    .collect()
}

/// Lets a person answer one of the open questions.
pub(crate) fn answer_one(world: &World, dice: &mut fastrand::Rng) {
    let now = world.store.now();
    let mut memory = world.store.look();
    let mut open: Vec<_> = memory
        .blockers
        .iter_mut()
        .filter(|blocker| blocker.answer.is_none())
        .collect();
    if open.is_empty() {
        return;
    }
    let at = dice.usize(0..open.len());
    let text = "try harder".to_owned();
    open[at].answer = Some(Answer { text, at: now.wall });
    let task = open[at].task_id;
    if memory.rows[&task].task.status == TaskStatus::Blocked {
        memory.reopen(task, now).unwrap();
    }
}

/// Everything at once.
pub(crate) fn all(world: &World) {
    one_end(world);
    published_once(world);
    proven(world);
    bounded(world);
    told_in_order(world);
}

/// What has ended stays ended.
fn one_end(world: &World) {
    let memory = world.store.look();
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

/// No branch was moved twice, and each holds a change of its own task.
fn published_once(world: &World) {
    let published = world.repo.published.lock().unwrap();
    let commits = world.repo.commits.lock().unwrap();
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

/// Nothing is completed without a proof, and each proof is of what is on the branch.
fn proven(world: &World) {
    let memory = world.store.look();
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
        let branches = world.repo.branches.lock().unwrap();
        assert_eq!(
            branches.get(&branch_name(task.id)),
            Some(&proof.commit),
            "task {}",
            task.id
        );
        assert_eq!(proof.exit_code, 0);
        let weak = proof.tree.ends_with(WEAK);
        assert_eq!(
            weak,
            !proof.warnings.is_empty(),
            "weakened tests must be told"
        );
    }
}

/// No task is tried more often than it may be, and no record is older than the one before it.
fn bounded(world: &World) {
    let memory = world.store.look();
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
            // An answer that was lost may double a row.
            assert!(rounds <= 2 * 3, "{rounds} rounds in one attempt");
        }
    }
}

/// An agent's events stand in the log in their order and without gaps, however often a batch was written again.
fn told_in_order(world: &World) {
    let memory = world.store.look();
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
