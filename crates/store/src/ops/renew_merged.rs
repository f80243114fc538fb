//! Renews the leases of attempts in one statement. `attempts::heartbeat` has the rules.

use std::time::Duration;

use serde::Serialize;
use windlass_tasks::{AttemptRef, LeaseStatus, StoreResult, TaskId};

use super::claim::millis;
use crate::connection::DbConnection;
use crate::merge::{MergeOutput, MergedResults};
use crate::sql::{Sql, args, json, merged_clock};

/// A renewal as JSON.
#[derive(Serialize)]
struct Renewal {
    task_id: TaskId,
    number: u32,
    lease: i64,
}

/// Renews the leases that are held. An attempt without its task, and one whose task another transaction is changing, is left to
/// the operation.
pub(crate) async fn renew_merged(
    db: &mut DbConnection,
    time: i64,
    renewals: &[(AttemptRef, Duration)],
) -> StoreResult<MergedResults> {
    // Has no event: it need not be on disk.
    const RENEW: Sql = Sql {
        sqlite: "UPDATE task NOT INDEXED SET lease_ms = new.value ->> 'lease', lease_until = $3 + (new.value ->> 'lease'), \
                 lease_clock = $4, lease_beat = lease_beat + 1, lease_at = $1 FROM json_each($2) AS new \
                 WHERE task.id = new.value ->> 'task_id' AND task.attempt = new.value ->> 'number' \
                 AND task.status = 'in_progress' RETURNING id, attempt, cancel_requested",
        postgres: concat!(
            "WITH ",
            merged_clock!(relaxed),
            ", held AS MATERIALIZED (SELECT task.id, new.lease ",
            "FROM json_to_recordset(CAST($2 AS JSON)) AS new (task_id BIGINT, number BIGINT, lease BIGINT) ",
            "JOIN task ON task.id = new.task_id AND task.attempt = new.number AND task.status = 'in_progress' ",
            "FOR NO KEY UPDATE OF task SKIP LOCKED) ",
            "UPDATE task SET lease_ms = held.lease, lease_until = $3 + held.lease, lease_clock = $4, ",
            "lease_beat = lease_beat + 1, lease_at = clock.now FROM held, clock WHERE task.id = held.id ",
            "RETURNING task.id, task.attempt, task.cancel_requested"
        ),
    };
    let rows = renewals.iter().map(|(attempt, lease)| Renewal {
        task_id: attempt.task,
        number: attempt.number,
        lease: millis(*lease),
    });
    let rows = json(&rows.collect::<Vec<_>>())?;
    let lease_time = db.lease_time();
    let values = args![time, rows, lease_time.now, lease_time.clock];
    let mut renewed = Vec::with_capacity(renewals.len());
    for row in db.fetch_returning(RENEW, values).await? {
        let status = if row.flag("cancel_requested")? {
            LeaseStatus::CancelRequested
        } else {
            LeaseStatus::Held
        };
        let task = row.id("id")?;
        let number = row.int_as("attempt")?;
        renewed.push((AttemptRef { task, number }, status));
    }
    let outputs = renewals.iter().map(|(attempt, _)| {
        let (_, status) = renewed.iter().find(|(held, _)| held == attempt)?;
        Some(MergeOutput::Renewed(*status))
    });
    Ok(MergedResults {
        outputs: outputs.collect(),
        last_seq: None,
    })
}
