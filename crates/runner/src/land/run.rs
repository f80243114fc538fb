//! One run over claimed entries: resolve, merge, test, bisect, move, end.

use windlass_tasks::{
    AdvanceResult, ClaimedLandings, Landing, LandingCopy, LandingId, LandingOutcome, MergeRequest,
    MergeResult, TaskStatus,
};

use super::claimed::{LandingError, LandingRun, RunResult, conflict, message};
use super::lease::LandingLease;
use super::verify::{LandingChange, LandingVerdict, test};
use super::{Lander, LandingReport, LandingResult};
use crate::attempt::retry_transient;

/// How often to start again because the branch has moved meanwhile.
const MAX_MOVES: u32 = 10;

/// What merging and testing the first changes gave.
enum Tried {
    /// Green, on top of the branch.
    Green(Box<dyn LandingCopy>),
    Red {
        reason: String,
        cases: Vec<String>,
    },
    /// The change at this index conflicts.
    Conflict {
        at: usize,
        files: Vec<String>,
    },
    /// The branch has all of them.
    Contained,
    NotNow(String),
}

/// What one round over the changes gave.
enum RoundOutcome {
    Done(Vec<LandingReport>),
    /// The branch has moved meanwhile.
    Again,
}

impl Lander {
    /// Lands claimed entries.
    pub(super) async fn land(
        &self,
        claimed: &ClaimedLandings,
        lease: &LandingLease<'_>,
    ) -> RunResult<Vec<LandingReport>> {
        let Some(first) = claimed.entries.first() else {
            return Ok(Vec::new());
        };
        let store = &self.runner.store;
        let clock = &*self.runner.clock;
        let project = retry_transient(clock, || store.project(first.project_id)).await?;
        let run = LandingRun {
            lander: self,
            claimed,
            lease,
            project,
            target: &first.target,
        };
        if !first.intents.is_empty()
            && let Some(report) = run.resolve(first).await?
        {
            return Ok(vec![report]);
        }
        let mut changes = Vec::new();
        for entry in &claimed.entries {
            changes.push(run.candidate(entry).await?);
        }
        for _ in 0..MAX_MOVES {
            if let RoundOutcome::Done(reports) = run.round(&changes).await? {
                return Ok(reports);
            }
            // The branch may have been moved by a worker that lost its lease and did not know it.
            if let [change] = changes.as_slice() {
                let entry = &change.entry;
                let intents = self.intents(entry).await?;
                if let Some(report) = run.find_landed(entry, &intents).await? {
                    return Ok(vec![report]);
                }
            }
        }
        Ok(vec![run.report(
            first,
            LandingResult::Waits("the branch moves all the time".to_owned()),
        )])
    }

    /// Returns the commits that were recorded for an entry, also by this run.
    async fn intents(&self, entry: &Landing) -> RunResult<Vec<String>> {
        let store = &self.runner.store;
        let filter = windlass_tasks::LandingFilter {
            task: Some(entry.task),
            open: true,
            ..windlass_tasks::LandingFilter::default()
        };
        let clock = &*self.runner.clock;
        let open = retry_transient(clock, || store.landings(filter.clone())).await?;
        let found = open.into_iter().find(|one| one.id == entry.id);
        Ok(found.map(|one| one.intents).unwrap_or_default())
    }
}

impl LandingRun<'_> {
    /// Finds the outcome of a move that an earlier worker started. Returns `None` if the branch was not moved
    /// and the change is still to land.
    async fn resolve(&self, entry: &Landing) -> RunResult<Option<LandingReport>> {
        if let Some(report) = self.find_landed(entry, &entry.intents).await? {
            return Ok(Some(report));
        }
        let store = &self.lander.runner.store;
        let clock = &*self.lander.runner.clock;
        let task = retry_transient(clock, || store.task(entry.task)).await?;
        if task.status == TaskStatus::Completed && task.attempt == entry.attempt {
            return Ok(None);
        }
        self.finish(entry, LandingOutcome::Withdrawn).await?;
        Ok(Some(self.report(entry, LandingResult::Withdrawn)))
    }

    /// Ends the landing if the branch has one of these commits.
    async fn find_landed(
        &self,
        entry: &Landing,
        intents: &[String],
    ) -> RunResult<Option<LandingReport>> {
        let site = &self.lander.site;
        for commit in intents.iter().rev() {
            if site.contains(&self.project, self.target, commit).await? {
                let is_merge = self.lander.is_merge(entry.task, commit).await?;
                return Ok(Some(self.landed(entry, commit, is_merge).await?));
            }
        }
        Ok(None)
    }

    async fn candidate(&self, entry: &Landing) -> RunResult<LandingChange> {
        let runner = &*self.lander.runner;
        let clock = &*runner.clock;
        let task = retry_transient(clock, || runner.store.task(entry.task)).await?;
        let proof = retry_transient(clock, || runner.store.proof(entry.task)).await?;
        let commit = match (&proof, &task.branch) {
            (Some(proof), _) => Some(proof.commit.clone()),
            (None, Some(branch)) => {
                runner
                    .workspace
                    .branch_commit(&self.project, branch)
                    .await?
            }
            (None, None) => None,
        };
        let Some(commit) = commit else {
            return Err(LandingError::Failed(format!(
                "task {} has no change in {}",
                entry.task,
                self.project.root.display()
            )));
        };
        Ok(LandingChange {
            entry: entry.clone(),
            task,
            proof,
            commit,
        })
    }

    /// Lands as many of the first changes as are green together.
    async fn round(&self, changes: &[LandingChange]) -> RunResult<RoundOutcome> {
        let mut count = changes.len();
        loop {
            match self.attempt(&changes[..count]).await? {
                Tried::Green(copy) => {
                    return self.advance(&*copy, &changes[..count]).await;
                }
                Tried::Contained => {
                    let mut reports = Vec::new();
                    for change in &changes[..count] {
                        let (entry, commit) = (&change.entry, &change.commit);
                        reports.push(self.landed(entry, commit, false).await?);
                    }
                    return Ok(RoundOutcome::Done(reports));
                }
                Tried::NotNow(why) => {
                    let waits = LandingResult::Waits(why);
                    return Ok(RoundOutcome::Done(vec![
                        self.report(&changes[0].entry, waits),
                    ]));
                }
                Tried::Conflict { at: 0, files } => {
                    let reason = conflict(self.target, &files);
                    let returned = self.returned(&changes[0].entry, reason, Vec::new());
                    return Ok(RoundOutcome::Done(vec![returned.await?]));
                }
                // It is the first next time, and returned then if it conflicts with the branch.
                Tried::Conflict { at, .. } => count = at,
                Tried::Red { reason, cases } if count == 1 => {
                    let returned = self.returned(&changes[0].entry, reason, cases);
                    return Ok(RoundOutcome::Done(vec![returned.await?]));
                }
                Tried::Red { reason, cases } => {
                    return self.bisect(&changes[..count], (reason, cases)).await;
                }
            }
        }
    }

    /// Finds the first change that makes the ones before it red. Those before it land; it is returned.
    async fn bisect(
        &self,
        changes: &[LandingChange],
        mut red: (String, Vec<String>),
    ) -> RunResult<RoundOutcome> {
        let (mut low, mut high) = (0, changes.len());
        let mut green: Option<Box<dyn LandingCopy>> = None;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.attempt(&changes[..middle]).await? {
                Tried::Green(copy) => {
                    low = middle;
                    green = Some(copy);
                }
                Tried::Red { reason, cases } => {
                    high = middle;
                    red = (reason, cases);
                }
                Tried::Contained => low = middle,
                Tried::NotNow(why) => {
                    let waits = LandingResult::Waits(why);
                    return Ok(RoundOutcome::Done(vec![
                        self.report(&changes[0].entry, waits),
                    ]));
                }
                // The branch has moved meanwhile.
                Tried::Conflict { .. } => return Ok(RoundOutcome::Again),
            }
        }
        let mut reports = match &green {
            Some(copy) => match self.advance(&**copy, &changes[..low]).await? {
                RoundOutcome::Done(reports) => reports,
                RoundOutcome::Again => return Ok(RoundOutcome::Again),
            },
            None => Vec::new(),
        };
        let all_landed = reports
            .iter()
            .all(|report| matches!(report.result, LandingResult::Landed { .. }));
        if all_landed && (green.is_some() || low == 0) {
            let entry = &changes[low].entry;
            reports.push(self.returned(entry, red.0, red.1).await?);
        }
        Ok(RoundOutcome::Done(reports))
    }

    /// Merges changes onto the branch and tests the result.
    async fn attempt(&self, changes: &[LandingChange]) -> RunResult<Tried> {
        let commits: Vec<String> = changes.iter().map(|one| one.commit.clone()).collect();
        let message = message(changes);
        let request = MergeRequest {
            branch: self.target,
            commits: &commits,
            strategy: self.lander.settings.strategy,
            message: &message,
        };
        let copy = match self.lander.site.merge(&self.project, request).await? {
            MergeResult::Ready(copy) => copy,
            MergeResult::Contained => return Ok(Tried::Contained),
            MergeResult::Conflict { at, files } => return Ok(Tried::Conflict { at, files }),
            MergeResult::NotNow(why) => return Ok(Tried::NotNow(why)),
        };
        Ok(match test(&self.lander.runner, &*copy, changes).await? {
            LandingVerdict::Green => Tried::Green(copy),
            LandingVerdict::Red { reason, cases } => Tried::Red { reason, cases },
            LandingVerdict::CannotRun(why) => {
                Tried::NotNow(format!("the tests cannot run on {}: {why}", self.target))
            }
        })
    }

    /// Records the commit, moves the branch, and ends the landings.
    async fn advance(
        &self,
        copy: &dyn LandingCopy,
        changes: &[LandingChange],
    ) -> RunResult<RoundOutcome> {
        let runner = &*self.lander.runner;
        let commit = &copy.commit().id;
        let entries: Vec<LandingId> = changes.iter().map(|one| one.entry.id).collect();
        let token = self.claimed.token;
        let record = || {
            let (entries, commit) = (entries.clone(), commit.clone());
            runner.store.record_landing_intent(token, entries, commit)
        };
        retry_transient(&*runner.clock, record).await?;
        if !self.lease.confirm().await {
            return Err(LandingError::Lost);
        }
        match copy.advance().await? {
            AdvanceResult::Moved => {}
            AdvanceResult::Stale => return Ok(RoundOutcome::Again),
            AdvanceResult::NotNow(why) => {
                let waits = LandingResult::Waits(why);
                return Ok(RoundOutcome::Done(vec![
                    self.report(&changes[0].entry, waits),
                ]));
            }
        }
        let is_own_commit = changes.iter().any(|change| change.commit == *commit);
        let is_rebase = self.lander.settings.strategy == windlass_tasks::LandingStrategy::Rebase;
        let mut reports = Vec::new();
        for change in changes {
            let is_merge = !is_own_commit && !is_rebase;
            reports.push(self.landed(&change.entry, commit, is_merge).await?);
        }
        Ok(RoundOutcome::Done(reports))
    }
}
