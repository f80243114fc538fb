//! The workers that use the store, and why a task waits for one.

use std::collections::HashMap;
use std::time::Duration;

use windlass_tasks::{
    NewWorker, ProjectId, RegisteredWorker, StoreError, StoreResult, Task, TaskStatus, WorkerId,
    WorkerRenewal, WorkerState, sorted_labels, waiting_reason,
};

use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, decode_error, json, sql};

/// How long the row of a lost worker is kept, so that a person can see it.
const KEEP_LOST_MS: i64 = 24 * 60 * 60 * 1000;
/// Maximum size of a name and of a version, and maximum number of agents.
const MAX_TEXT_BYTES: usize = 300;
const MAX_AGENTS: usize = 1_000;

/// Validates the entry of a worker.
pub(crate) fn check(new: &NewWorker) -> StoreResult<()> {
    sorted_labels(&new.labels).map_err(StoreError::Refused)?;
    let texts = [&new.name, &new.machine, &new.version];
    let mut texts = texts.into_iter().chain(&new.agents);
    if texts.any(|text| text.len() > MAX_TEXT_BYTES) || new.agents.len() > MAX_AGENTS {
        return Err(StoreError::Refused(format!(
            "a worker may have {MAX_AGENTS} agents, and names of {MAX_TEXT_BYTES} bytes"
        )));
    }
    Ok(())
}

/// Adds the entry of a worker, whose program knows this schema version.
pub(crate) async fn register(
    db: &mut DbConnection,
    new: &NewWorker,
    schema_version: i64,
) -> StoreResult<WorkerId> {
    const PRUNE: Sql = sql!(
        "DELETE FROM worker WHERE seen_at < $1 ",
        "OR (machine = $2 AND name = $3 AND seen_at + 3 * interval_ms < $4)"
    );
    const ADD: Sql = sql!(
        "INSERT INTO worker (name, machine, version, labels, kinds, agents, project_id, lanes, interval_ms, ",
        "started_at, seen_at, schema_version) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11) RETURNING id"
    );
    let now = db.now();
    let (machine, name) = (new.machine.as_str(), new.name.as_str());
    db.execute(PRUNE, args![now - KEEP_LOST_MS, machine, name, now])
        .await?;
    let labels = sorted_labels(&new.labels).map_err(StoreError::Refused)?;
    let values = args![
        name,
        machine,
        new.version.as_str(),
        json(&labels)?,
        json(&new.kinds)?,
        json(&new.agents)?,
        new.project_id,
        new.lanes,
        super::claim::millis(new.interval),
        now,
        schema_version,
    ];
    match db.fetch_returning(ADD, values).await?.first() {
        Some(row) => row.id("id"),
        None => Err(decode_error("worker", "the insert returned no row")),
    }
}

pub(crate) async fn renew(
    db: &mut DbConnection,
    id: WorkerId,
    running: u32,
) -> StoreResult<WorkerRenewal> {
    const RENEW: Sql =
        sql!("UPDATE worker SET running = $2, seen_at = $3 WHERE id = $1 RETURNING drain");
    let values = args![id, running, db.now()];
    Ok(match db.fetch_returning(RENEW, values).await?.first() {
        Some(row) if row.flag("drain")? => WorkerRenewal::DrainRequested,
        Some(_) => WorkerRenewal::Renewed,
        None => WorkerRenewal::Unknown,
    })
}

/// Counts the entries.
pub(crate) async fn count(db: &mut DbConnection) -> StoreResult<u32> {
    const COUNT: Sql = sql!("SELECT count(*) AS workers FROM worker");
    let row = db.fetch_optional(COUNT, args![]).await?;
    row.map_or(Ok(0), |row| row.int_as("workers"))
}

pub(crate) async fn remove(db: &mut DbConnection, id: WorkerId) -> StoreResult<()> {
    const REMOVE: Sql = sql!("DELETE FROM worker WHERE id = $1");
    db.execute(REMOVE, args![id]).await
}

pub(crate) async fn drain(
    db: &mut DbConnection,
    id: WorkerId,
    skew: i64,
) -> StoreResult<RegisteredWorker> {
    const DRAIN: Sql = sql!("UPDATE worker SET drain = 1 WHERE id = $1");
    db.execute(DRAIN, args![id]).await?;
    let found = list(db, skew)
        .await?
        .into_iter()
        .find(|worker| worker.id == id);
    found.ok_or_else(|| StoreError::not_found("worker", id))
}

macro_rules! list_sql {
    ($now:literal) => {
        concat!(
            "SELECT id, name, machine, version, labels, kinds, agents, project_id, lanes, running, drain, interval_ms, ",
            "started_at, seen_at, ", $now, " + $1 AS now FROM worker ORDER BY machine, id LIMIT 10000"
        )
    };
}

/// Lists the workers. `skew` is the offset of the database's clock.
pub(crate) async fn list(db: &mut DbConnection, skew: i64) -> StoreResult<Vec<RegisteredWorker>> {
    const LIST: Sql = Sql {
        sqlite: list_sql!("CAST(unixepoch('subsec') * 1000 AS INTEGER)"),
        postgres: list_sql!("CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"),
    };
    let rows = db.fetch_all(LIST, args![skew]).await?;
    rows.iter().map(worker).collect()
}

fn worker(row: &Row) -> StoreResult<RegisteredWorker> {
    let millis = |value: i64| Duration::from_millis(u64::try_from(value).unwrap_or(0));
    let seen = row.int("seen_at")?;
    let interval = millis(row.int("interval_ms")?);
    let age = millis(row.int("now")?.saturating_sub(seen));
    Ok(RegisteredWorker {
        id: row.id("id")?,
        name: row.text("name")?,
        machine: row.text("machine")?,
        version: row.text("version")?,
        state: WorkerState::new(age, interval, row.flag("drain")?),
        labels: row.json("labels")?,
        kinds: row.json("kinds")?,
        agents: row.json("agents")?,
        project_id: row.opt_id("project_id")?,
        lanes: row.int_as("lanes")?,
        running: row.int_as("running")?,
        started_at: timestamp(row.int("started_at")?),
        seen_at: timestamp(seen),
        seen_seconds_ago: age.as_secs(),
    })
}

/// Sets why pending tasks wait, if no registered worker can take them.
pub(crate) async fn explain_waiting(
    db: &mut DbConnection,
    skew: i64,
    tasks: &mut [Task],
) -> StoreResult<()> {
    let waits = |task: &Task| task.status == TaskStatus::Pending && !task.paused;
    if !tasks.iter().any(waits) {
        return Ok(());
    }
    let workers = list(db, skew).await?;
    let needs_something = |task: &Task| waits(task) && !task.needs.is_empty();
    if workers.is_empty() && !tasks.iter().any(needs_something) {
        return Ok(());
    }
    let reach = reach(db).await?;
    for task in tasks.iter_mut().filter(|task| waits(task)) {
        let project = reach.get(&task.project_id);
        task.waiting = waiting_reason(task, &workers, |worker| {
            project.is_none_or(|project| project.is_reachable_from(&worker.machine))
        });
    }
    Ok(())
}

/// From where a project can be reached.
#[derive(Default)]
struct ProjectReach {
    has_remote: bool,
    /// The machines with a checkout. The empty name stands for every machine.
    machines: Vec<String>,
}

impl ProjectReach {
    fn is_reachable_from(&self, machine: &str) -> bool {
        let mut machines = self.machines.iter();
        self.has_remote || machine.is_empty() || machines.any(|at| at.is_empty() || at == machine)
    }
}

async fn reach(db: &mut DbConnection) -> StoreResult<HashMap<ProjectId, ProjectReach>> {
    const ALL: Sql = sql!(
        "SELECT project.id AS id, project.remote AS remote, checkout.machine AS machine FROM project ",
        "LEFT JOIN checkout ON checkout.project_id = project.id LIMIT 100000"
    );
    let mut found: HashMap<ProjectId, ProjectReach> = HashMap::new();
    for row in db.fetch_all(ALL, args![]).await? {
        let project = found.entry(row.id("id")?).or_default();
        project.has_remote |= row.opt_text("remote")?.is_some();
        project.machines.extend(row.opt_text("machine")?);
    }
    Ok(found)
}
