//! A store behind a real PgBouncer.

use std::str::FromStr as _;
use std::time::Duration;

use futures::future::join_all;
use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;
use tokio::time::Instant;
use windlass_store::{StoreSettings, open_with};
use windlass_tasks::{NewProject, NewTask, StoreError, TaskFilter};

use super::cluster::Cluster;

const TRANSACTIONS: [&str; 1] = ["pool_mode=transaction"];
/// Much shorter than the time after which events are polled, and long enough for a busy machine.
const SOON: Duration = Duration::from_secs(60);

fn settings(listen_url: Option<String>) -> StoreSettings {
    let mut settings = StoreSettings::default();
    settings.listen_url = listen_url;
    settings
}

fn shop() -> NewProject {
    NewProject {
        name: "shop".to_owned(),
        root: "/home/me/shop".into(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_works_in_each_mode_that_has_transactions() {
    let cluster = Cluster::shared();
    let poolers = [
        ("transactions", &TRANSACTIONS[..]),
        // It drops the settings of our sessions without a word.
        (
            "ignoring",
            &[
                "pool_mode=transaction",
                "ignore_startup_parameters=extra_float_digits,options",
            ],
        ),
        ("sessions", &["pool_mode=session", "default_pool_size=40"]),
        (
            "ignoring-sessions",
            &[
                "pool_mode=session",
                "default_pool_size=40",
                "ignore_startup_parameters=options",
            ],
        ),
    ];
    for (name, pooler_settings) in poolers {
        let pooler = cluster.pooler(name, pooler_settings);
        let database = cluster.database().await;
        let store = windlass_store::open(&pooler.url(&database)).await.unwrap();
        let project = store.add_project(shop()).await.unwrap().id;
        let title = r"a 'quote', a \backslash\', $1, $$ and é; DROP TABLE task; --";
        let adding = (0..20).map(|_| store.enqueue(vec![NewTask::new(project, title)]));
        for added in join_all(adding).await {
            let id = added.unwrap()[0].task.id;
            assert_eq!(store.task(id).await.unwrap().title, title, "{name}");
        }
        // Everything is in our schema, which another session finds too.
        let direct = windlass_store::open(&cluster.url(&database)).await.unwrap();
        let tasks = direct.tasks(TaskFilter::default()).await.unwrap();
        assert_eq!(tasks.len(), 20, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mode_without_transactions_is_refused() {
    let cluster = Cluster::shared();
    let pooler = cluster.pooler("statements", &["pool_mode=statement"]);
    let error = windlass_store::open(&pooler.url(&cluster.database().await)).await;
    let error = error.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error:?}");
    assert!(
        error.to_string().contains("pool_mode = transaction"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_of_others_does_not_reach_ours() {
    let cluster = Cluster::shared();
    // One session for all clients.
    let pooler = cluster.pooler("single", &["pool_mode=transaction", "default_pool_size=1"]);
    let database = cluster.database().await;
    let url = pooler.url(&database);
    let store = windlass_store::open(&url).await.unwrap();
    let project = store.add_project(shop()).await.unwrap().id;
    let other = PgConnectOptions::from_str(&url).unwrap();
    let mut other = other.extra_float_digits(None).connect().await.unwrap();
    for statement in [
        "CREATE TEMP TABLE task (id bigint, title text)",
        "CREATE TEMP TABLE project (id bigint)",
        "SET search_path = public",
        "SET standard_conforming_strings = off",
        "SET statement_timeout = 1",
        "SET synchronous_commit = off",
    ] {
        sqlx::raw_sql(statement).execute(&mut other).await.unwrap();
    }
    let title = r"a \' quote";
    let added = store
        .enqueue(vec![NewTask::new(project, title)])
        .await
        .unwrap();
    assert_eq!(store.task(added[0].task.id).await.unwrap().title, title);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn address_for_notifications_wakes_those_who_wait() {
    let cluster = Cluster::shared();
    let pooler = cluster.pooler("transactions", &TRANSACTIONS);
    let database = cluster.database().await;
    let url = pooler.url(&database);
    let direct = cluster.url(&database);
    let store = open_with(&url, settings(Some(direct))).await.unwrap();
    let other = windlass_store::open(&url).await.unwrap();
    let project = other.add_project(shop()).await.unwrap().id;
    let seen = store.wait_for_events(0, Duration::ZERO).await.unwrap();
    let waiter = store.clone();
    let waiting = tokio::spawn(async move { waiter.wait_for_events(seen, SOON).await });
    // Its own session listens.
    let mut connection = cluster.connect(&database).await;
    let listening = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    let started = Instant::now();
    loop {
        let count: i64 = sqlx::query_scalar(listening)
            .fetch_one(&mut connection)
            .await
            .unwrap();
        if count > 0 {
            break;
        }
        assert!(started.elapsed() < SOON, "nothing listens");
    }
    other
        .enqueue(vec![NewTask::new(project, "sell tea")])
        .await
        .unwrap();
    assert!(waiting.await.unwrap().unwrap() > seen);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_address_for_notifications_is_refused() {
    let cluster = Cluster::shared();
    let pooler = cluster.pooler("transactions", &TRANSACTIONS);
    let url = pooler.url(&cluster.database().await);
    let refused = async |listen_url: String| {
        let error = open_with(&url, settings(Some(listen_url)))
            .await
            .unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{error:?}");
        error.to_string()
    };
    let error = refused(url.clone()).await;
    assert!(
        error.contains("store.listen_url leads to a connection pooler"),
        "{error}"
    );
    let empty = cluster.url(&cluster.database().await);
    let error = refused(empty.clone()).await;
    assert!(error.contains("another database"), "{error}");
    drop(windlass_store::open(&empty).await.unwrap());
    let error = refused(empty).await;
    assert!(error.contains("another database"), "{error}");
    // One that cannot be reached only costs time.
    let unreachable = "postgres://me:hunter2@127.0.0.1:1/shop".to_owned();
    let store = open_with(&url, settings(Some(unreachable))).await.unwrap();
    store.add_project(shop()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_in_the_address_are_refused_by_a_pooler() {
    let cluster = Cluster::shared();
    let pooler = cluster.pooler("transactions", &TRANSACTIONS);
    let url = pooler.url(&cluster.database().await) + "?options=-c%20jit=off";
    let error = windlass_store::open(&url).await.unwrap_err().to_string();
    assert!(error.contains("does not pass on the options"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_that_open_at_once_migrate_once() {
    let cluster = Cluster::shared();
    let pooler = cluster.pooler("transactions", &TRANSACTIONS);
    let url = pooler.url(&cluster.database().await);
    let stores = join_all((0..8).map(|_| windlass_store::open(&url))).await;
    let mut ids = Vec::new();
    for store in stores {
        ids.push(store.unwrap().store_id().await.unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
}
