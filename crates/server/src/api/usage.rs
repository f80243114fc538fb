//! The usage of the tasks: in total, by agent and by day.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use utoipa::ToSchema;
use windlass_core::Usage;
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
            let by_day = report.by_day.entry(task.updated_at.utc_day()).or_default();
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
