//! The usage of the tasks: in total, by agent and by day.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use utoipa::ToSchema;
use windlass_core::{Timestamp, Usage};
use windlass_tasks::{TaskFilter, TaskId};

use super::schema;
use crate::access::VisibleStore;
use crate::error::{ApiError, JsonResponse};

/// The number of tasks per page and the maximum number of pages that are summed up.
const PAGE_SIZE: u32 = 500;
const MAX_PAGES: u32 = 100;
/// For tasks that name no agent, the attempts are read: of at most this number of tasks.
const MAX_LOOKUPS: usize = 2_000;
/// The name for usage without a known agent.
const UNKNOWN_AGENT: &str = "default";

#[derive(Default, Serialize)]
struct UsageSum {
    tasks: u64,
    #[serde(flatten)]
    usage: Usage,
}

impl UsageSum {
    fn add(&mut self, usage: &Usage) {
        self.tasks += 1;
        self.usage += usage;
    }
}

/// Usage sums. A task counts for the day on which it last changed, in UTC.
#[derive(Default, Serialize, ToSchema)]
#[schema(as = UsageSums)]
pub(super) struct UsageReport {
    #[schema(value_type = schema::Sum)]
    total: UsageSum,
    #[schema(value_type = BTreeMap<String, schema::Sum>)]
    by_agent: BTreeMap<String, UsageSum>,
    #[schema(value_type = BTreeMap<String, schema::Sum>)]
    by_day: BTreeMap<String, UsageSum>,
    /// `true` if there are more tasks than were summed up.
    truncated: bool,
}

/// Returns token usage and cost: in total, by agent and by day.
#[utoipa::path(get, path = "/usage", responses((status = 200, description = "Success.", body = UsageReport)))]
pub(super) async fn show(store: VisibleStore) -> Result<JsonResponse<UsageReport>, ApiError> {
    let mut report = UsageReport::default();
    let mut filter = TaskFilter {
        limit: PAGE_SIZE,
        ..TaskFilter::default()
    };
    let mut tasks: Vec<(TaskId, Option<String>, Usage)> = Vec::new();
    let mut parents = HashSet::new();
    report.truncated = true;
    for _ in 0..MAX_PAGES {
        let page = store.tasks(filter.clone()).await?;
        let Some(last) = page.last() else {
            report.truncated = false;
            break;
        };
        filter.after = Some(last.id);
        for task in page.iter().filter(|task| task.attempt > 0) {
            tasks.push((task.id, task.agent.clone(), task.usage.clone()));
            // The usage of a candidate is part of that of its task.
            if let Some(parent) = task.candidate_of {
                parents.insert(parent);
                continue;
            }
            report.total.add(&task.usage);
            let by_day = report.by_day.entry(day(task.updated_at)).or_default();
            by_day.add(&task.usage);
        }
    }
    let mut lookups = 0;
    // The agents of a task with candidates are those of the candidates.
    for (id, agent, usage) in tasks.iter().filter(|(id, ..)| !parents.contains(id)) {
        let agent = match agent {
            Some(agent) => Some(agent.clone()),
            None if *usage != Usage::default() && lookups < MAX_LOOKUPS => {
                lookups += 1;
                last_agent(&store, *id).await?
            }
            None => None,
        };
        let agent = agent.unwrap_or_else(|| UNKNOWN_AGENT.to_owned());
        report.by_agent.entry(agent).or_default().add(usage);
    }
    Ok(JsonResponse(report))
}

/// Returns the agent of the last attempt that had a session.
async fn last_agent(store: &VisibleStore, task: TaskId) -> Result<Option<String>, ApiError> {
    let attempts = store.attempts(task).await?;
    let mut sessions = attempts
        .into_iter()
        .rev()
        .filter_map(|attempt| attempt.session);
    Ok(sessions.next().map(|session| session.agent))
}

/// Returns the day of a timestamp, such as `2026-11-15`.
fn day(at: Timestamp) -> String {
    // Counted in years that start in March, so that the leap day is the last day.
    let days = at.0 / 86_400_000 + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_matches_the_calendar() {
        let check =
            |seconds: u64, expected: &str| assert_eq!(day(Timestamp(seconds * 1000)), expected);
        check(0, "1970-01-01");
        check(951_782_400, "2000-02-29");
        check(1_709_164_799, "2024-02-28");
        check(1_709_251_199, "2024-02-29");
        check(1_794_700_800, "2026-11-15");
        check(4_107_542_399, "2100-02-28");
        check(4_107_542_400, "2100-03-01");
    }
}
