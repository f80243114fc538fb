//! Chooses and runs the statements of writes that are merged ([`merged_write`](crate::merged_write)).

use std::sync::Arc;

use windlass_tasks::StoreResult;

use crate::connection::DbConnection;
use crate::merge::{MergeInput, MergeOutput, MergedResults};
use crate::ops::claim_merged::SameClaims;
use crate::ops::{add_merged, add_one, claim_merged, complete, model_calls, renew_merged, traces};

/// Runs the transaction of SQLite for a task that is added alone.
pub(crate) async fn write_alone(
    db: &mut DbConnection,
    skew: i64,
    inputs: &[Arc<MergeInput>],
) -> StoreResult<MergedResults> {
    let tasks = match inputs {
        [input] => match &**input {
            MergeInput::Add(tasks) => tasks.as_slice(),
            _ => &[],
        },
        _ => &[],
    };
    match tasks {
        [task] => add_one::add_one(db, skew, task).await,
        _ => Ok(MergedResults::none(inputs.len())),
    }
}

/// Runs the statements for writes of the same kind, or for ends of attempts and then claims. `time` is what the statements have
/// as `$1`.
pub(crate) async fn write(
    db: &mut DbConnection,
    time: i64,
    inputs: &[Arc<MergeInput>],
) -> StoreResult<MergedResults> {
    let (mut tasks, mut claims) = (Vec::new(), Vec::new());
    let (mut renewals, mut completed) = (Vec::new(), Vec::new());
    let (mut calls, mut ended, mut stored) = (Vec::new(), Vec::new(), Vec::new());
    for input in inputs {
        match &**input {
            MergeInput::Add(one) => tasks.extend(one.iter()),
            MergeInput::Claim(claim, machine) => claims.push((claim, machine.as_str())),
            MergeInput::Complete(attempt) => completed.push(attempt),
            MergeInput::Renew(attempt, lease) => renewals.push((*attempt, *lease)),
            MergeInput::BeginCall(call) => calls.push(call.as_ref()),
            MergeInput::EndCall(call) => ended.push(call.as_ref()),
            MergeInput::PutTrace(trace) => stored.push(trace.as_ref()),
        }
    }
    if !calls.is_empty() {
        let ids = model_calls::begin_merged(db, &calls).await?;
        let outputs = ids.into_iter().map(MergeOutput::BeganCall);
        return Ok(MergedResults::without_events(outputs));
    }
    if !ended.is_empty() || !stored.is_empty() {
        model_calls::end_merged(db, &ended).await?;
        traces::put_merged(db, &stored).await?;
        let outputs = inputs.iter().map(|_| MergeOutput::Written);
        return Ok(MergedResults::without_events(outputs));
    }
    // SQLite takes less time for one as an operation: a statement for several needs a table in memory.
    if db.is_sqlite() && claims.len() + tasks.len() == 1 {
        return Ok(MergedResults::none(1));
    }
    db.set_quiet(!claims.is_empty() && completed.is_empty());
    if let Some((claim, machine)) = claims.first().copied() {
        let count = claims.len();
        let claims = SameClaims {
            claim,
            machine,
            count,
        };
        if completed.is_empty() {
            claim_merged::claim_merged(db, time, claims).await
        } else {
            claim_merged::end_and_claim_merged(db, time, &completed, claims).await
        }
    } else if !completed.is_empty() && db.is_sqlite() {
        let mut outputs = Vec::with_capacity(completed.len());
        for attempt in completed {
            let task = complete::complete_one(db, attempt).await?;
            outputs.push(task.map(MergeOutput::Completed));
        }
        MergedResults::new(outputs, &[])
    } else if !completed.is_empty() {
        complete::complete_merged(db, time, &completed).await
    } else if !renewals.is_empty() {
        renew_merged::renew_merged(db, time, &renewals).await
    } else if let [task] = tasks.as_slice() {
        add_one::add_one(db, time, task).await
    } else {
        add_merged::add_merged(db, time, &tasks).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use windlass_core::{TraceNode, Usage};
    use windlass_tasks::{
        AttemptRef, CallStatus, CallTokens, Claim, ModelCallEnd, ModelCallId, NewModelCall,
        NewProject, NewTask, Outcome, ProjectId, Projects as _, TaskQueue as _, Traces as _,
    };

    use super::*;
    use crate::StoreSettings;
    use crate::merge::CompletedAttempt;
    use crate::ops::traces::NewTrace;
    use crate::pools::Pools;
    use crate::sql::{Sql, args};
    use crate::sqlite;
    use crate::store::SqlStore;

    /// Opens a store with a project, and its connections.
    async fn open(dir: &tempfile::TempDir) -> (SqlStore, ProjectId, Pools) {
        let path = dir.path().join("store.db");
        let settings = StoreSettings::default();
        let store = sqlite::open(&path, settings.clone()).await.unwrap();
        let (pools, _) = sqlite::connect(&path, &settings).await.unwrap();
        let project = NewProject {
            name: "shop".to_owned(),
            root: "/home/me/shop".into(),
        };
        let project = store.add_project(project).await.unwrap().id;
        (store, project, pools)
    }

    /// The writer would run them as operations if a statement failed, so a test of the results alone would not notice.
    #[tokio::test]
    async fn merged_writes_of_each_kind_run_on_sqlite() {
        let dir = tempfile::tempdir().unwrap();
        let (store, project, pools) = open(&dir).await;
        let add = |needs: &[&str]| {
            let needs = needs.iter().map(|label| (*label).to_owned()).collect();
            let new = NewTask::new(project, "sell tea");
            Arc::new(vec![NewTask { needs, ..new }])
        };
        store
            .enqueue(vec![add(&["gpu"])[0].clone(); 4])
            .await
            .unwrap();
        let mut db = pools.writer().await.unwrap();
        let inputs = [0, 1].map(|_| Arc::new(MergeInput::Add(add(&[]))));
        pools.begin(&mut db, true).await.unwrap();
        for _ in 0..4 {
            let now = db.now();
            let added = write(&mut db, now, &inputs).await.unwrap();
            assert!(added.outputs.iter().all(Option::is_some), "{added:?}");
        }
        let mut attempts: Vec<AttemptRef> = Vec::new();
        for project_id in [None, Some(project)] {
            for labels in [vec![], vec!["gpu".to_owned()]] {
                let claim = Claim {
                    worker: "w".to_owned(),
                    lease: Duration::from_secs(60),
                    project_id,
                    labels,
                    ..Claim::default()
                };
                let input = MergeInput::Claim(claim, String::new());
                let input = Arc::new(input);
                let inputs = [Arc::clone(&input), input];
                let now = db.now();
                for output in write(&mut db, now, &inputs).await.unwrap().outputs {
                    let Some(MergeOutput::Claimed(Some(claimed))) = output else {
                        panic!("{output:?}");
                    };
                    attempts.push(claimed.attempt);
                }
            }
        }
        let renewals = attempts
            .iter()
            .map(|attempt| Arc::new(MergeInput::Renew(*attempt, Duration::from_secs(60))));
        let completions = attempts.iter().map(|attempt| {
            let outcome = Outcome::Completed {
                proof: None,
                branch: None,
                output: "done".to_owned(),
            };
            let end = Arc::new((outcome, Usage::default()));
            Arc::new(MergeInput::Complete(
                CompletedAttempt::new(*attempt, &end).unwrap(),
            ))
        });
        let kinds: [Vec<Arc<MergeInput>>; 2] = [renewals.collect(), completions.collect()];
        for inputs in kinds {
            let now = db.now();
            let results = write(&mut db, now, &inputs).await.unwrap();
            assert!(results.outputs.iter().all(Option::is_some), "{results:?}");
        }
        db.rollback().await.unwrap();
    }

    fn begin_call(at: usize) -> MergeInput {
        MergeInput::BeginCall(Arc::new(NewModelCall {
            model: Some(format!("m-{at}")),
            ..NewModelCall::default()
        }))
    }

    fn end_call(id: ModelCallId, at: usize) -> MergeInput {
        let end = ModelCallEnd {
            status: CallStatus::Done,
            http_status: None,
            model: None,
            tokens: Some(CallTokens {
                input: at as u64,
                ..CallTokens::default()
            }),
            cost_nanos: None,
            duration: Duration::ZERO,
        };
        MergeInput::EndCall(Arc::new((id, end)))
    }

    fn put_trace(id: String) -> MergeInput {
        let root = TraceNode {
            name: id.clone(),
            ..TraceNode::default()
        };
        let task = None;
        MergeInput::PutTrace(Arc::new(NewTrace { id, task, root }))
    }

    #[tokio::test]
    async fn merged_calls_and_traces_keep_their_values_and_their_order() {
        const CALLS: Sql = Sql::same(
            "SELECT id, model, status, input_tokens FROM model_call WHERE id > $1 ORDER BY id",
        );
        let dir = tempfile::tempdir().unwrap();
        let (store, _, pools) = open(&dir).await;
        let mut db = pools.writer().await.unwrap();
        let mut last = 0;
        // One, some, as many as one statement has, and more.
        for count in [1, 3, 8, 9, 20] {
            pools.begin(&mut db, false).await.unwrap();
            let now = db.now();
            let calls: Vec<_> = (0..count).map(begin_call).map(Arc::new).collect();
            let began = write(&mut db, now, &calls).await.unwrap();
            let ids = began.outputs.iter().map(|output| match output {
                Some(MergeOutput::BeganCall(id)) => *id,
                other => panic!("{other:?}"),
            });
            let ids: Vec<ModelCallId> = ids.collect();
            let ends = ids.iter().enumerate().map(|(at, id)| end_call(*id, at));
            let names = (0..count).map(|at| format!("{count}-{at}"));
            let written = ends.chain(names.clone().map(put_trace)).map(Arc::new);
            let written: Vec<_> = written.collect();
            for inputs in written.chunks(count) {
                let results = write(&mut db, now, inputs).await.unwrap();
                assert!(results.outputs.iter().all(Option::is_some), "{results:?}");
            }
            let rows = db.fetch_all(CALLS, args![last]).await.unwrap();
            assert_eq!(rows.len(), count);
            for (at, row) in rows.iter().enumerate() {
                assert_eq!(row.id("id"), Ok(ids[at]));
                assert_eq!(row.text("model"), Ok(format!("m-{at}")));
                assert_eq!(row.text("status"), Ok("done".to_owned()));
                assert_eq!(row.int_as("input_tokens"), Ok(at));
            }
            last = ids.last().unwrap().get();
            db.commit().await.unwrap();
            let traces = store.traces(None, u32::try_from(count).unwrap()).await;
            let newest_first: Vec<String> = names.rev().collect();
            assert_eq!(traces.unwrap(), newest_first);
        }
    }

    #[tokio::test]
    async fn store_without_its_counter_of_events_accepts_nothing() {
        const DAMAGE: Sql = Sql::same("DELETE FROM counter WHERE name = 'event'");
        let dir = tempfile::tempdir().unwrap();
        let (store, project, pools) = open(&dir).await;
        let mut db = pools.writer().await.unwrap();
        db.execute_batch(DAMAGE).await.unwrap();
        drop(db);
        let new = NewTask::new(project, "sell tea");
        store.enqueue(vec![new]).await.unwrap_err();
        let tasks = store.tasks(windlass_tasks::TaskFilter::default()).await;
        assert_eq!(tasks.unwrap(), []);
    }
}
