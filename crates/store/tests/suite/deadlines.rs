//! Nobody waits for ever, and who waited in vain learns what for.

use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};
use windlass_core::task::{Claim, NewProject, NewTask, StoreError, TaskFilter};
use windlass_store::{StoreSettings, open_with};

fn impatient() -> StoreSettings {
    let mut settings = StoreSettings::default();
    settings.query_timeout = Duration::from_millis(200);
    settings.commit_timeout = Duration::from_millis(400);
    settings
}

fn claim() -> Claim {
    Claim {
        worker: "w".to_owned(),
        project_id: None,
        task: None,
        kinds: Vec::new(),
        lease: Duration::from_secs(30),
    }
}

async fn run(link: &mut SqliteConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(link).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_another_process_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("windlass.db");
    let url = format!("sqlite:{}", path.display());
    let store = open_with(&url, impatient()).await.unwrap();
    let project = NewProject {
        name: "shop".to_owned(),
        root: "/home/me/shop".into(),
    };
    // The first answers of a busy machine may be slow; what is looked at comes after them.
    let id = loop {
        match store.add_project(project.clone()).await {
            Ok(project) => break project.id,
            Err(StoreError::Timeout { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    };

    let options = SqliteConnectOptions::new().filename(&path);
    let mut hog = options.connect().await.unwrap();
    run(&mut hog, "BEGIN IMMEDIATE").await;
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
    // Reading goes on beside it.
    assert_eq!(store.tasks(TaskFilter::default()).await.unwrap(), vec![]);

    run(&mut hog, "ROLLBACK").await;
    hog.close().await.unwrap();
    // What was given up was not done behind anybody's back, and the next one is.
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
async fn p7_a_claim_that_nobody_waited_for_is_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/windlass.db", folder.path().display());
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
    // Asked for, and left at any moment of it: whatever was claimed comes back.
    for patience in 0..200 {
        let left = tokio::time::timeout(Duration::from_micros(patience * 20), store.claim(claim()));
        if let Ok(claimed) = left.await
            && let Some(claimed) = claimed.unwrap()
        {
            let release = windlass_core::task::Release {
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
