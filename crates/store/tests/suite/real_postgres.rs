//! A PostgreSQL server that restarts during writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windlass_tasks::{NewProject, NewTask, StoreError, TaskFilter};

use super::cluster::Cluster;

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
        let project = NewProject {
            name: "shop".to_owned(),
            root: "/home/me/shop".into(),
        };
        let project = store.add_project(project).await.unwrap().id;

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
