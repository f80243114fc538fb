//! What a worker did.

use std::collections::{HashMap, VecDeque};

use windlass_tasks::TaskId;

use crate::{LandingListener, LandingReport, LandingResult, ResultStatus, TaskResult};

/// Summary of a worker's run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerReport {
    /// The last [`MAX_RESULTS`](Self::MAX_RESULTS) attempts, each with its task and result, in the order they
    /// ended.
    pub results: VecDeque<(TaskId, TaskResult)>,
    counts: HashMap<ResultStatus, u64>,
    /// The worker ended because it was drained.
    pub drained: bool,
    /// The last [`MAX_RESULTS`](Self::MAX_RESULTS) landings, in the order they ended.
    pub landings: VecDeque<LandingReport>,
}

impl WorkerReport {
    /// Maximum number of stored results: a worker may run for months.
    pub const MAX_RESULTS: usize = 1000;

    /// Returns the number of attempts that ended with this status.
    pub fn count(&self, status: ResultStatus) -> u64 {
        self.counts.get(&status).copied().unwrap_or_default()
    }

    pub(crate) fn add_landings(
        &mut self,
        reports: Vec<LandingReport>,
        listener: Option<&dyn LandingListener>,
    ) {
        for report in reports {
            // A change that waits is checked repeatedly.
            let is_known = self.landings.contains(&report);
            let is_same = |one: &LandingReport| one.task == report.task;
            if matches!(report.result, LandingResult::Waits(_)) {
                self.landings.retain(|one| !is_same(one));
            }
            if let Some(listener) = listener.filter(|_| !is_known) {
                listener.on_landing(&report);
            }
            if self.landings.len() == Self::MAX_RESULTS {
                self.landings.pop_front();
            }
            self.landings.push_back(report);
        }
    }

    pub(crate) fn add(&mut self, task: TaskId, result: TaskResult) {
        *self.counts.entry(result.status).or_default() += 1;
        if self.results.len() == Self::MAX_RESULTS {
            self.results.pop_front();
        }
        self.results.push_back((task, result));
    }
}
