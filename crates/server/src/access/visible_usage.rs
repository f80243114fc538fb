//! What the model calls of the visible projects used and cost.

use std::collections::BTreeMap;

use windlass_core::Timestamp;
use windlass_tasks::{
    ModelCalls, ProjectId, ReportedTokens, StoreError, StoreResult, UsageKey, UsageQuery, UsageRow,
    UsageTotal,
};

use super::VisibleStore;

/// For how many tasks the reports of their agents are shown, those with the highest cost.
const MAX_REPORTS: usize = 200;

impl VisibleStore {
    /// Returns the usage report of one project or of all, the highest cost first.
    pub(crate) async fn usage_rows(
        &self,
        calls: &dyn ModelCalls,
        by: UsageKey,
        since: Option<Timestamp>,
        project: Option<ProjectId>,
    ) -> StoreResult<Vec<UsageRow>> {
        let mut totals: BTreeMap<Option<String>, UsageTotal> = BTreeMap::new();
        for project in self.queries(project) {
            let query = UsageQuery { by, since, project };
            for total in calls.usage_totals(query).await? {
                *totals.entry(total.key.clone()).or_default() += &total;
            }
        }
        let mut totals: Vec<UsageTotal> = totals
            .into_iter()
            .map(|(key, total)| UsageTotal { key, ..total })
            .collect();
        totals.sort_by_key(|total| std::cmp::Reverse((total.cost_nanos, total.calls)));
        let projects = self.projects().await?.into_iter();
        let projects = projects.map(|one| (one.id, one.name)).collect();
        let rows = totals
            .into_iter()
            .map(|total| UsageRow::new(by, total, &projects));
        let mut rows: Vec<UsageRow> = rows.collect();
        if by == UsageKey::Task && since.is_none() {
            self.add_reports(&mut rows).await?;
        }
        Ok(rows)
    }

    /// Adds what the agents themselves report.
    async fn add_reports(&self, rows: &mut [UsageRow]) -> StoreResult<()> {
        for row in rows.iter_mut().take(MAX_REPORTS) {
            let Some(task) = row.key.as_deref().and_then(|key| key.parse().ok()) else {
                continue;
            };
            row.reported_by_agent = match self.attempts(task).await {
                Ok(attempts) => ReportedTokens::of(&attempts),
                // Its task is in another store.
                Err(StoreError::NotFound { .. }) => None,
                Err(error) => return Err(error),
            };
        }
        Ok(())
    }
}
