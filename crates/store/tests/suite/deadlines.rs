//! Every operation has a time limit, and a timeout error names what was waited for.

use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};
use windlass_store::{StoreSettings, open_with};
use windlass_tasks::{Claim, NewProject, NewTask, StoreError, TaskFilter};

fn short_timeouts() -> StoreSettings {
    let mut settings = StoreSettings::default();
    settings.query_timeout = Duration::from_millis(200);
    settings.commit_timeout = Duration::from_millis(400);
    settings
}

fn claim() -> Claim {
    Claim {
        worker: "w".to_owned(),
        lease: Duration::from_secs(30),
        ..Claim::default()
    }
}

async fn run(connection: &mut SqliteConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(connection).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timeout_names_the_wait_for_another_process() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("windlass.db");
    let url = format!("sqlite:{}", path.display());
    let store = open_with(&url, short_timeouts()).await.unwrap();
    let project = NewProject {
        name: "shop".to_owned(),
        root: "/home/me/shop".into(),
    };
    // The first replies of a busy machine may be slow; the checks come after them.
    let id = loop {
        match store.add_project(project.clone()).await {
            Ok(project) => break project.id,
            Err(StoreError::Timeout { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    };

    let options = SqliteConnectOptions::new().filename(&path);
    let mut lock_holder = options.connect().await.unwrap();
    run(&mut lock_holder, "BEGIN IMMEDIATE").await;
    let error = store.claim(claim()).await.unwrap_err();
    let StoreError::Timeout { what, after } = error else {
        panic!("{error}");
    };
    assert!(what.starts_with("claiming a task (waiting"), "{what}");
    assert_eq!(after, Duration::from_millis(200));
    let error = store
        .enqueue(vec![NewTask::new(id, "late")])
        .await
        .unwrap_err();
    assert!(
        error.to_string().starts_with("adding tasks (waiting"),
        "{error}"
    );
    // Reads still work.
    assert_eq!(store.tasks(TaskFilter::default()).await.unwrap(), vec![]);

    run(&mut lock_holder, "ROLLBACK").await;
    lock_holder.close().await.unwrap();
    // The write that timed out was not applied later, and the next one succeeds.
    let added = loop {
        match store.enqueue(vec![NewTask::new(id, "in time")]).await {
            Ok(added) => break added,
            Err(StoreError::Timeout { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(added[0].task.title, "in time");
    let titles: Vec<String> = store
        .tasks(TaskFilter::default())
        .await
        .unwrap()
        .into_iter()
        .map(|task| task.title)
        .collect();
    assert!(!titles.contains(&"late".to_owned()), "{titles:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p7_abandoned_claim_is_released() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/windlass.db", dir.path().display());
    let store = open_with(&url, StoreSettings::default()).await.unwrap();
    let project = NewProject {
        name: "shop".to_owned(),
        root: "/home/me/shop".into(),
    };
    let project = store.add_project(project).await.unwrap().id;
    let new = NewTask {
        max_attempts: 1,
        ..NewTask::new(project, "a task")
    };
    store.enqueue(vec![new]).await.unwrap();
    // The caller stops waiting at any point of the claim: whatever was claimed is released.
    for step in 0..200 {
        let timeout = Duration::from_micros(step * 20);
        if let Ok(claimed) = tokio::time::timeout(timeout, store.claim(claim())).await
            && let Some(claimed) = claimed.unwrap()
        {
            let release = windlass_tasks::Release {
                reason: "seen".to_owned(),
                usage: windlass_core::Usage::default(),
            };
            store.release(claimed.attempt, release).await.unwrap();
        }
    }
    let mut seen = 0;
    let last = loop {
        if let Some(claimed) = store.claim(claim()).await.unwrap() {
            break claimed;
        }
        seen = store
            .wait_for_events(seen, Duration::from_secs(5))
            .await
            .unwrap();
    };
    assert_eq!(last.task.title, "a task");
}

/// SQLite's lock has no queue, and the other process holds it almost all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p9_process_that_writes_all_the_time_keeps_no_other_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("windlass.db");
    let url = format!("sqlite:{}", path.display());
    let mut settings = StoreSettings::default();
    settings.query_timeout = Duration::from_secs(60);
    let store = open_with(&url, settings).await.unwrap();
    let project = NewProject {
        name: "shop".to_owned(),
        root: "/home/me/shop".into(),
    };
    let project = store.add_project(project).await.unwrap().id;
    let options = SqliteConnectOptions::new().filename(&path);
    let mut other = options.connect().await.unwrap();
    let other = tokio::spawn(async move {
        loop {
            run(&mut other, "BEGIN IMMEDIATE").await;
            tokio::time::sleep(Duration::from_millis(10)).await;
            run(&mut other, "COMMIT").await;
        }
    });
    for number in 0..20 {
        // One call, and a transaction of several.
        for needs in [vec![], vec!["gpu".to_owned()]] {
            let new = NewTask::new(project, format!("task {number}"));
            let added = store.enqueue(vec![NewTask { needs, ..new }]).await;
            assert_eq!(added.unwrap().len(), 1);
        }
    }
    other.abort();
}
