//! A PostgreSQL server that restarts during writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::Row as _;
use windlass_core::Usage;
use windlass_tasks::{
    Broadcast, Claim, EventFilter, LeaseStatus, NewApproval, NewProject, NewTask, Outcome,
    ProjectId, StoreError, TaskFilter, TaskStore,
};

use super::cluster::Cluster;

async fn add_shop(store: &Arc<dyn TaskStore>) -> ProjectId {
    let project = NewProject {
        name: "shop".to_owned(),
        root: "/home/me/shop".into(),
    };
    store.add_project(project).await.unwrap().id
}

#[test]
fn p1_p2_restart_during_writes_loses_nothing() {
    let cluster = Cluster::start("restart", &["fsync=on"]);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let database = cluster.database().await;
        let store = windlass_store::open(&cluster.url(&database)).await.unwrap();
        let project = add_shop(&store).await;

        let ended = Arc::new(AtomicBool::new(false));
        let started = Arc::new(tokio::sync::Notify::new());
        let mut clients = Vec::new();
        for client in 0..8 {
            let (store, ended, started) = (store.clone(), ended.clone(), started.clone());
            clients.push(tokio::spawn(async move {
                let mut accepted = Vec::new();
                while !ended.load(Ordering::Acquire) {
                    let new = NewTask::new(project, format!("{client}/{}", accepted.len()));
                    match store.enqueue(vec![new]).await {
                        Ok(added) => accepted.push(added[0].task.id),
                        // The store may be unavailable, but it never acknowledges a task that it did not
                        // store.
                        Err(StoreError::Unavailable(_) | StoreError::Timeout { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                    started.notify_one();
                }
                accepted
            }));
        }
        // A caller that waits for events must receive the events that are written after the restart.
        started.notified().await;
        let cluster = tokio::task::spawn_blocking(move || {
            cluster.restart();
            cluster.restart();
            cluster
        })
        .await
        .unwrap();
        let seen = loop {
            match store.wait_for_events(0, Duration::ZERO).await {
                Ok(seen) => break seen,
                Err(StoreError::Unavailable(_)) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        };
        let last = store
            .wait_for_events(seen, Duration::from_secs(60))
            .await
            .unwrap();
        assert!(last > seen, "writes did not resume");
        ended.store(true, Ordering::Release);

        let mut accepted = Vec::new();
        for client in clients {
            accepted.extend(client.await.unwrap());
        }
        drop(store);
        let store = windlass_store::open(&cluster.url(&database)).await.unwrap();
        for id in accepted {
            store.task(id).await.unwrap();
        }
        let some = store.tasks(TaskFilter::default()).await.unwrap();
        assert!(!some.is_empty());
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreachable_server_error_omits_password() {
    let url = "postgres://me:hunter2@127.0.0.1:1/shop";
    let error = windlass_store::open(url).await.unwrap_err().to_string();
    assert!(error.contains("127.0.0.1:1/shop"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");

    let error = windlass_store::open("mysql://me:hunter2@there/shop").await;
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("expected sqlite:PATH or postgres://"),
        "{error}"
    );
    assert!(!error.contains("hunter2"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p10_newer_schema_is_rejected() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    drop(windlass_store::open(&cluster.url(&database)).await.unwrap());
    let mut connection = cluster.connect(&database).await;
    let newer = "INSERT INTO windlass.windlass_schema (version, at) VALUES (1000, 0); \
                 UPDATE windlass.counter SET value = 1000 WHERE name = 'oldest_program'";
    sqlx::raw_sql(newer).execute(&mut connection).await.unwrap();
    let error = windlass_store::open(&cluster.url(&database)).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("newer Windlass"), "{error}");
    assert!(error.contains("1000"), "{error}");
}

/// Starts a server that has written out nothing that was not waited for when it crashes. Returns it with the URL of a store
/// and a project in that.
async fn cluster_without_early_flush(name: &str) -> (Cluster, String, ProjectId) {
    let settings = ["wal_writer_delay=10s", "wal_writer_flush_after=0"];
    let cluster = Cluster::start(name, &settings);
    let database = cluster.database().await;
    let url = cluster.url(&database);
    let store = windlass_store::open(&url).await.unwrap();
    let project = add_shop(&store).await;
    (cluster, url, project)
}

/// A worker on another machine continues after the crash, so no other one may get the number of its attempt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p3_crash_of_the_server_gives_no_attempt_to_two_workers() {
    let (cluster, url, project) = cluster_without_early_flush("fencing").await;
    let claim = |worker: &str, task| Claim {
        worker: worker.to_owned(),
        task,
        lease: Duration::from_secs(60),
        ..Claim::default()
    };
    // A claim of any task is one statement; that of a certain task is a transaction.
    for named in [false, true] {
        // The connections of an earlier store ended with the server.
        let store = windlass_store::open(&url).await.unwrap();
        let added = store.enqueue(vec![NewTask::new(project, "sell tea")]);
        let id = added.await.unwrap()[0].task.id;
        let wanted = named.then_some(id);
        let first = store.claim(claim("one", wanted)).await.unwrap().unwrap();
        assert_eq!(first.attempt.task, id);
        cluster.restart();
        let store = windlass_store::open(&url).await.unwrap();
        let second = store.claim(claim("two", wanted)).await.unwrap();
        assert_eq!(second, None, "the first worker still has its attempt");
        let renewed = store.heartbeat(first.attempt, Duration::from_secs(60));
        assert_eq!(renewed.await.unwrap(), LeaseStatus::Held);
    }
}

/// A reader on another machine asks for the events after the last one that it saw, so its number may not go to another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p14_crash_of_the_server_loses_no_event_that_was_seen() {
    let (cluster, url, project) = cluster_without_early_flush("events").await;
    let store = windlass_store::open(&url).await.unwrap();
    let added = store.enqueue(vec![NewTask::new(project, "sell tea")]);
    added.await.unwrap();
    let claim = Claim {
        worker: "one".to_owned(),
        lease: Duration::from_secs(60),
        ..Claim::default()
    };
    let attempt = store.claim(claim).await.unwrap().unwrap().attempt;
    // Nothing waits for a message or for a request until it is on disk, except for its event.
    for kind in ["message", "request"] {
        let store = windlass_store::open(&url).await.unwrap();
        if kind == "message" {
            let message = Broadcast::ActivityUpdate {
                project_id: project,
                activity_type: "note".to_owned(),
                agent_id: "mock".to_owned(),
                message: "tea is sold".to_owned(),
                task_id: Some(attempt.task),
            };
            store.append_events(None, vec![message]).await.unwrap();
        } else {
            let request = NewApproval {
                attempt,
                agent: "mock".to_owned(),
                tool: "shell".to_owned(),
                input: serde_json::json!({ "command": "true" }),
                options: Vec::new(),
                deadline: None,
            };
            store.request_approval(request).await.unwrap();
        }
        let seen = store.events(EventFilter::default()).await.unwrap();
        cluster.restart();
        let store = windlass_store::open(&url).await.unwrap();
        let known = store.events(EventFilter::default()).await.unwrap();
        assert_eq!(known, seen, "{kind}");
    }
}

/// The writer would run them as operations if a statement failed, so a test of the results alone would not notice. On one thread,
/// writes that start together wait together.
#[tokio::test]
async fn merged_writes_of_each_kind_run_on_postgres() {
    const LAST: &str = "SELECT query FROM pg_stat_activity WHERE datname = current_database() \
                        AND application_name = 'windlass' AND query NOT LIKE 'SELECT%' ORDER BY state_change DESC LIMIT 1";
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = windlass_store::open(&cluster.url(&database)).await.unwrap();
    let project = add_shop(&store).await;
    let mut connection = cluster.connect(&database).await;
    let mut check = async |what: &str, part: &str| {
        let row = sqlx::query(LAST).fetch_one(&mut connection).await;
        let query: String = row.unwrap().get("query");
        let is_merged = query.starts_with("WITH clock") && query.contains(part);
        assert!(is_merged, "{what}: {query}");
    };
    let new = || vec![NewTask::new(project, "sell tea")];
    // The first one makes the project known.
    store.enqueue(new()).await.unwrap();
    store.enqueue(new()).await.unwrap();
    check("a task", "INSERT INTO task").await;
    let (one, two) = futures::join!(store.enqueue(new()), store.enqueue(new()));
    one.and(two).unwrap();
    check("two tasks", "json_to_recordset").await;
    let gpu = NewTask {
        needs: vec!["gpu".to_owned()],
        ..NewTask::new(project, "train")
    };
    store.enqueue(vec![gpu; 4]).await.unwrap();
    let mut tasks = new();
    tasks.resize(20, tasks[0].clone());
    store.enqueue(tasks).await.unwrap();

    let end = |attempt| {
        let outcome = Outcome::Completed {
            proof: None,
            branch: None,
            output: "done".to_owned(),
        };
        store.finish(attempt, outcome, Usage::default())
    };
    for project_id in [None, Some(project)] {
        for labels in [vec![], vec!["gpu".to_owned()]] {
            let claim = || {
                store.claim(Claim {
                    worker: "w".to_owned(),
                    lease: Duration::from_secs(60),
                    project_id,
                    labels: labels.clone(),
                    ..Claim::default()
                })
            };
            let (one, two) = futures::join!(claim(), claim());
            check("two claims", "picked AS").await;
            let (one, two) = (one.unwrap().unwrap(), two.unwrap().unwrap());
            let renewed = store.heartbeat(one.attempt, Duration::from_secs(60));
            renewed.await.unwrap();
            check("a renewal", "UPDATE task SET lease_ms").await;
            let (ended, next) = futures::join!(end(one.attempt), claim());
            check("an end and a claim", "done AS").await;
            assert_eq!(ended.unwrap().id, one.task.id);
            let next = next.unwrap().unwrap();
            let (ended, other) = futures::join!(end(next.attempt), end(two.attempt));
            check("two ends", "done AS").await;
            assert_eq!(ended.unwrap().id, next.task.id);
            other.unwrap();
        }
    }
}

/// Without statistics, the planner takes every table for small, and would rather read all of it than use an index.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn completing_an_attempt_reads_no_other_attempts() {
    const TASKS: usize = 20_000;
    const ATTEMPTS: i64 = 300;
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let url = cluster.url(&database);
    let store = windlass_store::open(&url).await.unwrap();
    let project = add_shop(&store).await;
    let mut connection = cluster.connect(&database).await;
    for _ in 0..TASKS / 1_000 {
        let tasks = vec![NewTask::new(project, "sell tea"); 1_000];
        store.enqueue(tasks).await.unwrap();
    }
    for _ in 0..ATTEMPTS {
        let claim = Claim {
            worker: "w".to_owned(),
            lease: Duration::from_secs(60),
            ..Claim::default()
        };
        let claimed = store.claim(claim).await.unwrap().unwrap();
        let outcome = Outcome::Completed {
            proof: None,
            branch: None,
            output: "done".to_owned(),
        };
        let usage = Usage::default();
        store.finish(claimed.attempt, outcome, usage).await.unwrap();
    }
    // The server counts a session's reads when it is idle for a second or ends.
    drop(store);
    let counts = "SELECT n_tup_upd AS ended, coalesce(idx_tup_fetch, 0) + seq_tup_read AS read \
                  FROM pg_stat_user_tables WHERE relname = 'attempt'";
    let (mut ended, mut read) = (0, 0);
    for _ in 0..100 {
        let row = sqlx::query(counts).fetch_one(&mut connection).await;
        let row = row.unwrap();
        (ended, read) = (row.get::<i64, _>("ended"), row.get::<i64, _>("read"));
        if ended == ATTEMPTS {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(ended, ATTEMPTS);
    assert!(read < ATTEMPTS * 10, "{read} rows");
}
