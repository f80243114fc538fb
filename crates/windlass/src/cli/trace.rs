//! `windlass trace`: shows the trace of an attempt or a request.

mod view;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use clap::Args;
use serde_json::{Value, json};
use windlass_core::{TraceIds, TraceNode};
use windlass_server::{TraceSummary, task_of_trace};
use windlass_tasks::{Attempt, StoreError, TaskId, TaskStore};

use super::app::App;
use super::console::{BAD, GOOD, QUIET, WARNING};
use super::exit::{CliError, Exit};
use super::queue::ProjectQueue;
use super::table::{self, Cell};

/// How many traces are searched for an id of OpenTelemetry.
const SEARCHED: u32 = 1_000;

#[derive(Debug, Args)]
pub(super) struct Trace {
    /// Trace id, or that of OpenTelemetry (default: list the newest traces)
    id: Option<String>,
    /// List only traces of this task
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    task: Option<TaskId>,
    /// Number of traces on a page
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "id", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Page to list, from 1
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "id", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    page: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Trace {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let store = ProjectQueue::open(app).await?.queue.store;
        let Some(id) = self.id.clone() else {
            return self.list(app, &*store).await;
        };
        let (id, root) = find(&*store, id).await?;
        let ids = TraceIds::new(&store.store_id().await?, &id, root.traceparent.as_ref());
        if self.json {
            app.console.pretty_json(&with_ids(&root, &ids))?;
        } else {
            for line in view::lines(&root) {
                app.console.line(&line)?;
            }
            let id = ids.trace_id();
            app.console
                .line(&format!("{QUIET}OpenTelemetry trace {id}{QUIET:#}"))?;
        }
        Ok(Exit::Done)
    }

    async fn list(&self, app: &App<'_>, store: &dyn TaskStore) -> Result<Exit, CliError> {
        let seen = self.limit.saturating_mul(self.page - 1);
        // One more than the page has, to know whether there is another page.
        let wanted = seen.saturating_add(self.limit).saturating_add(1);
        let ids = store.traces(self.task, wanted).await?;
        let ids = ids
            .into_iter()
            .skip(usize::try_from(seen).unwrap_or(usize::MAX));
        let mut ids: Vec<String> = ids.collect();
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let has_more = ids.len() > limit;
        ids.truncate(limit);
        let traces = summaries(store, ids).await?;
        if self.json {
            app.console.pretty_json(&traces)?;
            return Ok(Exit::Done);
        }
        if traces.is_empty() {
            app.console.line("no traces")?;
            return Ok(Exit::Done);
        }
        let rows: Vec<[Cell; 5]> = traces.iter().map(row).collect();
        let heading = ["trace", "agent", "duration", "status", "name"];
        table::print(app.console, heading, &rows)?;
        if has_more {
            let next = self.page + 1;
            let line = format!("{QUIET}older ones: windlass trace --page {next}{QUIET:#}");
            app.console.line(&line)?;
        }
        Ok(Exit::Done)
    }
}

/// Finds a trace by its own id or, among the newest, by its id in OpenTelemetry.
async fn find(store: &dyn TaskStore, id: String) -> Result<(String, TraceNode), CliError> {
    let unknown = match store.trace(id.clone()).await {
        Ok(root) => return Ok((id, root)),
        Err(error @ StoreError::NotFound { .. }) => error,
        Err(error) => return Err(error.into()),
    };
    let is_digit = |byte: u8| byte.is_ascii_hexdigit();
    if id.len() != 32 || !id.bytes().all(is_digit) {
        return Err(unknown.into());
    }
    let store_id = store.store_id().await?;
    for own in store.traces(None, SEARCHED).await? {
        let is_attempt = task_of_trace(&own).is_some();
        if is_attempt && TraceIds::new(&store_id, &own, None).trace_id() != id {
            continue;
        }
        let root = store.trace(own.clone()).await?;
        let ids = TraceIds::new(&store_id, &own, root.traceparent.as_ref());
        if ids.trace_id() == id {
            return Ok((own, root));
        }
    }
    Err(unknown.into())
}

/// Returns the trace as JSON, with the ids that its steps have in OpenTelemetry.
fn with_ids(root: &TraceNode, ids: &TraceIds) -> Value {
    let mut root = json!(root);
    add_span_ids(&mut root, ids, &mut Vec::new());
    root["trace_id"] = ids.trace_id().into();
    root
}

fn add_span_ids(node: &mut Value, ids: &TraceIds, path: &mut Vec<usize>) {
    node["span_id"] = ids.span_id(path).into();
    let children = node.get_mut("children").and_then(Value::as_array_mut);
    for (position, child) in children.into_iter().flatten().enumerate() {
        path.push(position);
        add_span_ids(child, ids, path);
        path.pop();
    }
}

async fn summaries(store: &dyn TaskStore, ids: Vec<String>) -> Result<Vec<TraceSummary>, CliError> {
    let mut attempts: HashMap<TaskId, Vec<Attempt>> = HashMap::new();
    let mut summaries = Vec::with_capacity(ids.len());
    for id in ids {
        let root = store.trace(id.clone()).await?;
        let task = task_of_trace(&id);
        if let Some(task) = task
            && let Entry::Vacant(slot) = attempts.entry(task)
        {
            slot.insert(store.attempts(task).await.unwrap_or_default());
        }
        let known = task.and_then(|task| attempts.get(&task));
        let known = known.map_or(&[][..], Vec::as_slice);
        summaries.push(TraceSummary::new(id, root, task, known));
    }
    Ok(summaries)
}

fn row(trace: &TraceSummary) -> [Cell; 5] {
    let status = trace.status();
    let style = match status.as_str() {
        "ok" | "completed" => GOOD,
        "blocked" | "cancelled" | "released" => WARNING,
        _ => BAD,
    };
    [
        trace.id.clone().into(),
        trace.agent.clone().unwrap_or_default().into(),
        view::time(trace.duration_ms).into(),
        Cell::styled(status, style),
        trace.name.clone().into(),
    ]
}
