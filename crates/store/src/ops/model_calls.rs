//! Model calls: reserved when they start, settled when they end, and summed.

use std::time::Duration;

use windlass_tasks::{
    Broadcast, CallAdmission, CallStatus, CallTokens, ModelCallEnd, ModelCallId, NewModelCall,
    SpendLimit, SpendScope, StoreError, StoreResult, UsageKey, UsageQuery, UsageTotal,
};

use crate::connection::DbConnection;
use crate::row_statements::RowStatement;
use crate::sql::{Arg, Row, Sql, args, or_zero, sql};

/// A call with its end.
pub(crate) type EndedCall = (ModelCallId, ModelCallEnd);

const DAY_MS: i64 = 24 * 3600 * 1000;
/// Maximum number of rows of a report.
const MAX_ROWS: i64 = 10_000;
/// The share of a limit, in percent, of which the person is notified.
const NOTICE_PERCENT: i64 = 80;

/// Limits are checked by one transaction after the other, or two calls could both take the last of a limit.
const LOCK: Sql = Sql {
    sqlite: "",
    postgres: "SELECT CAST(pg_advisory_xact_lock(8241960126) AS TEXT) AS n",
};

pub(crate) async fn begin(
    db: &mut DbConnection,
    call: &NewModelCall,
    limits: &[SpendLimit],
) -> StoreResult<CallAdmission> {
    let now = db.now();
    let mut notices = Vec::new();
    if !limits.is_empty() {
        db.lock(LOCK, args![]).await?;
    }
    for limit in limits {
        let Some(spent_nanos) = spent(db, call, limit.scope, now).await? else {
            continue;
        };
        let after = call
            .reserved_nanos
            .map(|cost| spent_nanos.saturating_add(cost));
        let Some(after) = after.filter(|after| *after <= limit.nanos) else {
            let scope = limit.scope.as_str();
            let reason = format!("the spending limit of the {scope} would be exceeded");
            refuse(db, call, Some(&reason)).await?;
            let limit = *limit;
            return Ok(CallAdmission::Refused { limit, spent_nanos });
        };
        let notice_at = limit.nanos / 100 * NOTICE_PERCENT;
        if limit.scope != SpendScope::Call && spent_nanos < notice_at && after >= notice_at {
            notices.push(limit.scope);
        }
    }
    let id = insert(db, call, now, CallStatus::Open, None).await?;
    Ok(CallAdmission::Admitted { id, notices })
}

/// Stores a call that is not sent. With a reason, the task's log gets an event.
pub(crate) async fn refuse(
    db: &mut DbConnection,
    call: &NewModelCall,
    reason: Option<&str>,
) -> StoreResult<()> {
    let now = db.now();
    insert(db, call, now, CallStatus::Refused, Some(0)).await?;
    let labels = &call.labels;
    if let (Some(reason), Some(project_id), Some(task)) = (reason, labels.project, labels.task) {
        let model = call.model.as_deref().unwrap_or("a model");
        let agent = &labels.agent;
        db.queue_event(Broadcast::ActivityUpdate {
            project_id,
            activity_type: "refused".to_owned(),
            agent_id: agent.clone(),
            message: format!("a call of {agent} to {model} was refused: {reason}"),
            task_id: Some(task),
        });
    }
    Ok(())
}

/// Returns what the calls of a scope cost, or have reserved; `None` if the call does not belong to such a scope.
async fn spent(
    db: &mut DbConnection,
    call: &NewModelCall,
    scope: SpendScope,
    now: i64,
) -> StoreResult<Option<i64>> {
    macro_rules! sum_where {
        ($condition:literal) => {
            sql!(
                "SELECT CAST(coalesce(sum(coalesce(cost_nanos, reserved_nanos, 0)), 0) AS BIGINT) AS n ",
                "FROM model_call WHERE ",
                $condition
            )
        };
    }
    const ATTEMPT: Sql = sum_where!("task_id = $1 AND attempt = $2");
    const TASK: Sql = sum_where!("task_id = $1");
    const DAY: Sql = sum_where!("at >= $1");
    const PROJECT: Sql = sum_where!("at >= $1 AND project_id = $2");
    const AGENT: Sql = sum_where!("at >= $1 AND agent = $2");
    const PERSON: Sql = sum_where!("at >= $1 AND person = $2");
    let labels = &call.labels;
    let today = now - now.rem_euclid(DAY_MS);
    let (sql, args) = match scope {
        SpendScope::Call => return Ok(Some(0)),
        SpendScope::Attempt => match (labels.task, labels.attempt) {
            (Some(task), Some(attempt)) => (ATTEMPT, args![task, attempt]),
            _ => return Ok(None),
        },
        SpendScope::Task => match labels.task {
            Some(task) => (TASK, args![task]),
            None => return Ok(None),
        },
        SpendScope::Day => (DAY, args![today]),
        SpendScope::Project => match labels.project {
            Some(project) => (PROJECT, args![today, project]),
            None => return Ok(None),
        },
        SpendScope::Agent => (AGENT, args![today, labels.agent.as_str()]),
        SpendScope::Person => match &labels.person {
            Some(person) => (PERSON, args![today, person.as_str()]),
            None => return Ok(None),
        },
    };
    let row = db.fetch_optional(sql, args).await?;
    row.map(|row| row.int("n")).transpose()
}

static INSERT: RowStatement = RowStatement::new(sql!(
    "INSERT INTO model_call (at, project_id, task_id, attempt, agent, account, person, api, model, ",
    "status, reserved_nanos, cost_nanos) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING id"
));

static END: RowStatement = RowStatement::new(sql!(
    "UPDATE model_call SET status = $2, http_status = $3, model = coalesce($4, model), ",
    "input_tokens = $5, cache_read_tokens = $6, cache_write_tokens = $7, output_tokens = $8, ",
    "reasoning_tokens = $9, cost_nanos = $10, duration_ms = $11 WHERE id = $1"
));

async fn insert(
    db: &mut DbConnection,
    call: &NewModelCall,
    now: i64,
    status: CallStatus,
    cost: Option<i64>,
) -> StoreResult<ModelCallId> {
    let rows = INSERT.run(db, new_row(call, now, status, cost)).await?;
    let row = rows.first();
    let row = row.ok_or_else(|| StoreError::not_found("model call", "that was stored"))?;
    row.id("id")
}

/// Stores calls that no limit can refuse, on SQLite. Returns their ids.
pub(crate) async fn begin_merged(
    db: &mut DbConnection,
    calls: &[&NewModelCall],
) -> StoreResult<Vec<ModelCallId>> {
    let now = db.now();
    let rows = calls
        .iter()
        .map(|call| new_row(call, now, CallStatus::Open, None));
    let rows = rows.collect();
    let stored = INSERT.run_each(db, rows).await?;
    stored.iter().map(|row| row.id("id")).collect()
}

fn new_row(call: &NewModelCall, now: i64, status: CallStatus, cost: Option<i64>) -> Vec<Arg> {
    let labels = &call.labels;
    args![
        now,
        labels.project,
        labels.task,
        labels.attempt.map(i64::from),
        labels.agent.as_str(),
        labels.account.as_str(),
        labels.person.as_deref(),
        call.api.as_str(),
        call.model.as_deref(),
        status.as_str(),
        call.reserved_nanos,
        cost,
    ]
}

pub(crate) async fn end(db: &mut DbConnection, ended: &EndedCall) -> StoreResult<()> {
    END.run(db, end_row(ended)).await.map(drop)
}

/// Stores the ends of calls, on SQLite.
pub(crate) async fn end_merged(db: &mut DbConnection, ended: &[&EndedCall]) -> StoreResult<()> {
    let rows = ended.iter().map(|ended| end_row(ended)).collect();
    END.run_each(db, rows).await.map(drop)
}

fn end_row((id, end): &EndedCall) -> Vec<Arg> {
    let count = |of: fn(&CallTokens) -> u64| -> Arg {
        let tokens = end.tokens.as_ref().map(of);
        tokens.map(|n| i64::try_from(n).unwrap_or(i64::MAX)).into()
    };
    let duration = i64::try_from(end.duration.as_millis()).unwrap_or(i64::MAX);
    args![
        *id,
        end.status.as_str(),
        end.http_status.map(i64::from),
        end.model.as_deref(),
        count(|tokens| tokens.input),
        count(|tokens| tokens.cache_read),
        count(|tokens| tokens.cache_write),
        count(|tokens| tokens.output),
        count(|tokens| tokens.reasoning),
        end.cost_nanos,
        duration,
    ]
}

pub(crate) async fn totals(
    db: &mut DbConnection,
    query: UsageQuery,
) -> StoreResult<Vec<UsageTotal>> {
    macro_rules! totals_by {
        ($key:literal) => {
            sql!(
                "SELECT ",
                $key,
                " AS key, count(*) AS calls, ",
                "CAST(coalesce(sum(input_tokens), 0) AS BIGINT) AS input, ",
                "CAST(coalesce(sum(cache_read_tokens), 0) AS BIGINT) AS cache_read, ",
                "CAST(coalesce(sum(cache_write_tokens), 0) AS BIGINT) AS cache_write, ",
                "CAST(coalesce(sum(output_tokens), 0) AS BIGINT) AS output, ",
                "CAST(coalesce(sum(reasoning_tokens), 0) AS BIGINT) AS reasoning, ",
                "count(*) - count(input_tokens) AS unknown_tokens, ",
                "CAST(coalesce(sum(cost_nanos), 0) AS BIGINT) AS cost, ",
                "count(*) - count(cost_nanos) AS unknown_cost, ",
                "CAST(sum(CASE status WHEN 'done' THEN 0 ELSE 1 END) AS BIGINT) AS not_done, ",
                "CAST(coalesce(sum(duration_ms), 0) AS BIGINT) AS duration ",
                "FROM model_call WHERE at >= $1 AND status <> 'refused' ",
                "AND ($3 = 0 OR project_id = $3) GROUP BY ",
                $key,
                " ORDER BY cost DESC, calls DESC, key LIMIT $2"
            )
        };
    }
    const MODEL: Sql = totals_by!("model");
    const AGENT: Sql = totals_by!("agent");
    const TASK: Sql = totals_by!("CAST(task_id AS TEXT)");
    const PROJECT: Sql = totals_by!("CAST(project_id AS TEXT)");
    const PERSON: Sql = totals_by!("person");
    const ACCOUNT: Sql = totals_by!("account");
    const DAY: Sql = totals_by!("CAST(at / 86400000 AS TEXT)");
    let sql = match query.by {
        UsageKey::Model => MODEL,
        UsageKey::Agent => AGENT,
        UsageKey::Task => TASK,
        UsageKey::Project => PROJECT,
        UsageKey::Person => PERSON,
        UsageKey::Account => ACCOUNT,
        UsageKey::Day => DAY,
    };
    let since = query.since.map_or(0, |since| since.0);
    let since = i64::try_from(since).unwrap_or(i64::MAX);
    let rows = db
        .fetch_all(sql, args![since, MAX_ROWS, or_zero(query.project)])
        .await?;
    rows.iter().map(total).collect()
}

fn total(row: &Row) -> StoreResult<UsageTotal> {
    Ok(UsageTotal {
        key: row.opt_text("key")?,
        calls: row.int_as("calls")?,
        tokens: CallTokens {
            input: row.int_as("input")?,
            cache_read: row.int_as("cache_read")?,
            cache_write: row.int_as("cache_write")?,
            output: row.int_as("output")?,
            reasoning: row.int_as("reasoning")?,
        },
        unknown_tokens: row.int_as("unknown_tokens")?,
        cost_nanos: row.int("cost")?,
        unknown_cost: row.int_as("unknown_cost")?,
        not_done: row.int_as("not_done")?,
        duration: Duration::from_millis(row.int_as("duration")?),
    })
}
