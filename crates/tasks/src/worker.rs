//! The workers of a store: what each has and can do.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_core::Timestamp;

use crate::id::{ProjectId, WorkerId};
use crate::task::WorkerKind;

/// The maximum size of a label.
pub const MAX_LABEL_BYTES: usize = 40;
/// The maximum number of labels of a worker, and of labels that a task needs.
pub const MAX_LABELS: usize = 16;

/// A worker is lost after this many intervals without a renewal.
const LOST_AFTER_INTERVALS: u32 = 3;

/// Checks a label: lowercase letters, digits, `-`, `.` and `_`, with a letter or a digit first.
///
/// # Errors
///
/// Returns what is wrong, as a fragment.
pub fn check_label(label: &str) -> Result<(), String> {
    let is_letter_or_digit = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_plain = |byte: u8| is_letter_or_digit(byte) || matches!(byte, b'-' | b'.' | b'_');
    let starts_well = label.bytes().next().is_some_and(is_letter_or_digit);
    if starts_well && label.len() <= MAX_LABEL_BYTES && label.bytes().all(is_plain) {
        return Ok(());
    }
    Err(format!(
        "a label has 1 to {MAX_LABEL_BYTES} lowercase letters, digits, '-', '.' and '_', and begins with a letter or a digit, such as gpu"
    ))
}

/// Checks labels, and returns them sorted, each once.
///
/// # Errors
///
/// Returns what is wrong with the first one that is not valid, or that there are too many.
pub fn sorted_labels(labels: &[String]) -> Result<Vec<String>, String> {
    for label in labels {
        check_label(label).map_err(|problem| format!("label {label:?}: {problem}"))?;
    }
    let mut labels = labels.to_vec();
    labels.sort_unstable();
    labels.dedup();
    if labels.len() > MAX_LABELS {
        return Err(format!(
            "{} labels; the limit is {MAX_LABELS}",
            labels.len()
        ));
    }
    Ok(labels)
}

/// A worker to register: one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorker {
    /// The name, which the attempts of the worker have too.
    pub name: String,
    /// The name of its machine.
    pub machine: String,
    /// The version of the program.
    pub version: String,
    /// What the worker has, such as `gpu`.
    pub labels: Vec<String>,
    /// Only tasks of these kinds. Empty: all kinds.
    pub kinds: Vec<WorkerKind>,
    /// The agents that the worker can use, by the names that tasks can have. A name includes those with a model,
    /// `NAME/MODEL`.
    pub agents: Vec<String>,
    /// Only tasks of this project.
    pub project_id: Option<ProjectId>,
    /// How many tasks it runs at the same time.
    pub lanes: u32,
    /// How often it renews its entry.
    pub interval: Duration,
}

impl NewWorker {
    /// Returns the worker with its entry, at the time when it is registered.
    pub fn registered(self, id: WorkerId, now: Timestamp) -> RegisteredWorker {
        RegisteredWorker {
            id,
            name: self.name,
            machine: self.machine,
            version: self.version,
            state: WorkerState::Active,
            labels: self.labels,
            kinds: self.kinds,
            agents: self.agents,
            project_id: self.project_id,
            lanes: self.lanes,
            running: 0,
            started_at: now,
            seen_at: now,
            seen_seconds_ago: 0,
        }
    }
}

/// What a registered worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerState {
    /// It claims tasks.
    Active,
    /// It finishes what it runs and then ends.
    Draining,
    /// It has not renewed its entry for three intervals: killed, stopped or cut off.
    Lost,
}

impl WorkerState {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Draining => "draining",
            Self::Lost => "lost",
        }
    }

    /// Returns the state of a worker that renewed its entry this long ago.
    pub fn new(age: Duration, interval: Duration, draining: bool) -> Self {
        if age > interval * LOST_AFTER_INTERVALS {
            Self::Lost
        } else if draining {
            Self::Draining
        } else {
            Self::Active
        }
    }
}

/// A worker that has registered itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredWorker {
    /// The id. A new process has a new one.
    pub id: WorkerId,
    /// The name, which the attempts of the worker have too.
    pub name: String,
    /// The name of its machine.
    pub machine: String,
    /// The version of the program.
    pub version: String,
    /// What it does.
    pub state: WorkerState,
    /// What the worker has, such as `gpu`.
    pub labels: Vec<String>,
    /// Only tasks of these kinds. Empty: all kinds.
    pub kinds: Vec<WorkerKind>,
    /// The agents that the worker can use.
    pub agents: Vec<String>,
    /// Only tasks of this project.
    pub project_id: Option<ProjectId>,
    /// How many tasks it runs at the same time.
    pub lanes: u32,
    /// How many tasks it runs now.
    pub running: u32,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it renewed its entry last, by the clock of the database.
    pub seen_at: Timestamp,
    /// How many seconds ago that was, by the same clock.
    pub seen_seconds_ago: u64,
}

/// The result of renewing the entry of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerRenewal {
    /// The entry was renewed.
    Renewed,
    /// The entry was renewed, and the worker is to finish what it runs and end.
    DrainRequested,
    /// There is no entry: it was removed after a long time without renewal.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_and_plain() {
        for label in ["gpu", "linux", "8-cores", "cuda12.4", "has_docker"] {
            assert_eq!(check_label(label), Ok(()), "{label}");
        }
        let long = "a".repeat(MAX_LABEL_BYTES + 1);
        for label in [
            "", "GPU", "a b", "a,b", "-gpu", ".x", "%", "a'b", "a\"b", "a/b", "é", "a\n", "a\0",
            &long,
        ] {
            assert!(check_label(label).is_err(), "{label:?}");
        }
    }

    #[test]
    fn labels_are_sorted_once_and_limited() {
        let labels = ["linux", "gpu", "linux"].map(str::to_owned);
        assert_eq!(sorted_labels(&labels).unwrap(), ["gpu", "linux"]);
        let many: Vec<String> = (0..=MAX_LABELS).map(|n| format!("l{n}")).collect();
        assert!(sorted_labels(&many).unwrap_err().contains("17 labels"));
        let invalid = sorted_labels(&["A".to_owned()]).unwrap_err();
        assert!(invalid.contains("label \"A\""), "{invalid}");
    }

    #[test]
    fn worker_is_lost_after_three_intervals() {
        let interval = Duration::from_secs(10);
        let state =
            |secs, draining| WorkerState::new(Duration::from_secs(secs), interval, draining);
        assert_eq!(state(30, false), WorkerState::Active);
        assert_eq!(state(30, true), WorkerState::Draining);
        assert_eq!(state(31, true), WorkerState::Lost);
    }
}
