//! Programs of two schema versions use one store. The newer one has migrations that a test gives it; the older one is this
//! version.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use windlass_core::Usage;
use windlass_store::{
    ClockSkew, Migration, MigrationMode, Migrations, StoreSettings, migrate, migration_plan,
    open_all, open_with,
};
use windlass_tasks::{
    Claim, LeaseStatus, NewProject, NewTask, NewWorker, Outcome, StoreError, StoreResult,
    TaskFilter, TaskStatus, TaskStore, WorkerId, WorkerRenewal,
};

use super::cluster::Cluster;

const LEASE: Duration = Duration::from_secs(30);
/// The newest released schema.
const NOW: i64 = 18;
/// What an older program may meet: a column and an index of a known table, and a table.
const ADDED: &str = "ALTER TABLE task ADD COLUMN color TEXT NOT NULL DEFAULT 'none'; \
    CREATE INDEX task_color ON task (color, id) WHERE color <> 'none'; \
    CREATE TABLE color (name TEXT NOT NULL PRIMARY KEY)";
const ADDED_OBJECTS: &str = "column\tcolor.name\ttext not null \n\
    column\ttask.color\ttext not null  default 'none'::text\n\
    constraint\tcolor.color_pkey\tPRIMARY KEY (name)\n\
    index\tcolor_pkey\tCREATE UNIQUE INDEX color_pkey ON windlass.color USING btree (name)\n\
    index\ttask_color\tCREATE INDEX task_color ON windlass.task USING btree (color, id) WHERE (color <> 'none'::text)\n\
    relation\tcolor\tr false\n\
    relation\tcolor_pkey\ti false\n\
    relation\ttask_color\ti false\n";

/// Returns the settings of a newer program, whose migration older programs survive or not.
fn newer(oldest: i64) -> StoreSettings {
    let migration = Migration {
        sqlite: ADDED,
        postgres: ADDED,
        oldest,
    };
    let mut settings = StoreSettings::default();
    settings.migrations = Migrations::with_later(&[migration], ADDED_OBJECTS);
    settings
}

fn worker(name: &str) -> NewWorker {
    NewWorker {
        name: name.to_owned(),
        machine: "m".to_owned(),
        version: "0.1.0".to_owned(),
        labels: Vec::new(),
        kinds: Vec::new(),
        agents: Vec::new(),
        project_id: None,
        lanes: 1,
        interval: Duration::from_secs(10),
    }
}

fn claim(worker: Option<WorkerId>) -> Claim {
    Claim {
        worker: "m/1".to_owned(),
        lease: LEASE,
        worker_id: worker,
        ..Claim::default()
    }
}

fn completed() -> Outcome {
    Outcome::Completed {
        proof: None,
        branch: None,
        output: "done".to_owned(),
    }
}

/// Opens a store with two tasks and a registered worker.
async fn older(url: &str) -> (Arc<dyn TaskStore>, WorkerId) {
    let store = windlass_store::open(url).await.unwrap();
    let root = "/home/me/shop".into();
    let name = "shop".to_owned();
    let project = store.add_project(NewProject { name, root }).await.unwrap();
    for title in ["one", "two"] {
        let new = vec![NewTask::new(project.id, title)];
        store.enqueue(new).await.unwrap();
    }
    let worker = store.register_worker(worker("m/1")).await.unwrap();
    (store, worker)
}

fn is_outdated<T: std::fmt::Debug>(result: StoreResult<T>) -> bool {
    let Err(error) = result else {
        return false;
    };
    assert!(error.to_string().contains("newer Windlass"), "{error}");
    error.is_outdated()
}

async fn compatible(url: &str) {
    let (store, worker) = older(url).await;
    let first = store.claim(claim(Some(worker))).await.unwrap().unwrap();

    // A newer program migrates at once, and what runs continues.
    let settings = newer(NOW);
    let plan = migration_plan(url, &settings).await.unwrap();
    assert_eq!((plan.from, plan.to, plan.oldest), (NOW, NOW + 1, NOW));
    assert_eq!((plan.blocked_by, plan.migrated), (vec![], false));
    let opened = open_all(url, settings).await.unwrap();
    assert_eq!(opened.newer_schema, None);
    let newest = opened.tasks;
    let held = store.heartbeat(first.attempt, LEASE).await.unwrap();
    assert_eq!(held, LeaseStatus::Held);
    let usage = Usage::default();
    store
        .finish(first.attempt, completed(), usage.clone())
        .await
        .unwrap();
    let second = store.claim(claim(Some(worker))).await.unwrap().unwrap();
    let usage_of = |settings| open_all(url, settings);
    let reopened = usage_of(StoreSettings::default()).await.unwrap();
    assert_eq!(reopened.newer_schema, Some(NOW + 1));
    let project = second.task.project_id;
    let third = vec![NewTask::new(project, "three")];
    reopened.tasks.enqueue(third).await.unwrap();
    let renewal = store.renew_worker(worker, 1).await.unwrap();
    assert_eq!(renewal, WorkerRenewal::Renewed);

    // Both see the same, and the newer program can claim what the older one added.
    let done = newest.task(first.task.id).await.unwrap();
    assert_eq!(done.status, TaskStatus::Completed);
    let claimed = newest.claim(claim(None)).await.unwrap().unwrap();
    assert_eq!(claimed.task.title, "three");
    store
        .finish(second.attempt, completed(), usage)
        .await
        .unwrap();

    // An older program would leave out what it does not know.
    let dir = tempfile::tempdir().unwrap();
    let backup = windlass_store::backup(url, &dir.path().join("backup")).await;
    assert!(is_outdated(backup));
}

async fn incompatible(url: &str) {
    let (store, worker) = older(url).await;
    let running = store.claim(claim(Some(worker))).await.unwrap().unwrap();
    let settings = newer(NOW + 1);

    // A newer program leaves the store alone, and says who is in the way.
    let refused = open_with(url, settings.clone()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
    let text = refused.to_string();
    for part in [
        "m/1 (0.1.0)",
        "windlass store migrate",
        "from schema version 18 to 19",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let plan = migration_plan(url, &settings).await.unwrap();
    assert_eq!(plan.blocked_by[0].schema_version, NOW);
    let renewal = store.renew_worker(worker, 1).await.unwrap();
    assert_eq!(
        renewal,
        WorkerRenewal::Renewed,
        "a plan asks no worker to end"
    );

    // Asked to drain, the worker finishes what it runs, and claims nothing more.
    let plan = migrate(url, &settings, MigrationMode::Drain).await.unwrap();
    assert!(!plan.migrated && plan.blocked_by[0].draining, "{plan:?}");
    let renewal = store.renew_worker(worker, 1).await.unwrap();
    assert_eq!(renewal, WorkerRenewal::DrainRequested);
    assert_eq!(store.claim(claim(Some(worker))).await, Ok(None));
    let usage = Usage::default();
    store
        .finish(running.attempt, completed(), usage)
        .await
        .unwrap();
    store.remove_worker(worker).await.unwrap();
    let plan = migrate(url, &settings, MigrationMode::Drain).await.unwrap();
    assert!(plan.migrated && plan.blocked_by.is_empty(), "{plan:?}");
    assert!(is_outdated(windlass_store::open(url).await));
    drop(open_with(url, settings).await.unwrap());
}

async fn forced(url: &str) {
    let (store, worker) = older(url).await;
    let running = store.claim(claim(Some(worker))).await.unwrap().unwrap();
    let settings = newer(NOW + 1);
    let plan = migrate(url, &settings, MigrationMode::Force).await.unwrap();
    assert!(plan.migrated, "{plan:?}");
    assert_eq!(plan.blocked_by[0].name, "m/1");

    // Nothing that the older program writes counts any more, whichever way it writes.
    let attempt = running.attempt;
    let second = store.claim(claim(Some(worker))).await;
    assert!(second == Ok(None) || is_outdated(second));
    assert!(is_outdated(store.renew_worker(worker, 1).await));
    assert!(is_outdated(store.heartbeat(attempt, LEASE).await));
    for title in ["four", "five"] {
        let new = vec![NewTask::new(running.task.project_id, title)];
        assert!(is_outdated(store.enqueue(new).await));
    }
    let usage = Usage::default();
    assert!(is_outdated(
        store.finish(attempt, completed(), usage.clone()).await
    ));
    let (ended, claimed) = futures::join!(
        store.finish(attempt, completed(), usage),
        store.claim(claim(None))
    );
    assert!(is_outdated(ended));
    assert!(claimed == Ok(None) || is_outdated(claimed));
    let newest = open_with(url, settings).await.unwrap();
    let tasks = newest.tasks(TaskFilter::default()).await.unwrap();
    let titles: Vec<&str> = tasks.iter().map(|task| &*task.title).collect();
    assert_eq!(titles, ["one", "two"]);
    assert_eq!(newest.attempts(attempt.task).await.unwrap().len(), 1);
    let task = newest.task(running.task.id).await.unwrap();
    assert_eq!(task.status, TaskStatus::InProgress);
}

async fn lost_workers_are_in_nobodys_way(url: &str) {
    drop(older(url).await);
    let mut settings = newer(NOW + 1);
    settings.clock_skew = ClockSkew::default();
    settings.clock_skew.advance(Duration::from_secs(31));
    drop(open_with(url, settings).await.unwrap());
}

/// The statements that create a store of an earlier version with one active worker.
fn earlier(database: &str, version: i64, before: &str) -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("migrations")
        .join(database);
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    let mut text = format!(
        "{before} CREATE TABLE windlass_schema (version BIGINT NOT NULL PRIMARY KEY, at BIGINT NOT NULL);"
    );
    for (at, file) in (1..=version).zip(files) {
        let migration = std::fs::read_to_string(file).unwrap();
        text.push_str(&format!(
            "{migration}; INSERT INTO windlass_schema VALUES ({at}, 0);"
        ));
    }
    text.push_str(
        "INSERT INTO worker (name, machine, version, labels, kinds, agents, lanes, interval_ms, started_at, seen_at) \
         VALUES ('m/7', 'm', '0.0.9', '[]', '[]', '[]', 1, 10000, 0, 9000000000000)",
    );
    text
}

async fn create_earlier(url: &str, version: i64) {
    if let Some(path) = url.strip_prefix("sqlite:") {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true);
        let mut connection = options.connect().await.unwrap();
        let text = earlier("sqlite", version, "");
        sqlx::raw_sql(sqlx::AssertSqlSafe(text))
            .execute(&mut connection)
            .await
            .unwrap();
    } else {
        let options: PgConnectOptions = url.parse().unwrap();
        let mut connection = options.connect().await.unwrap();
        let text = earlier(
            "postgres",
            version,
            "CREATE SCHEMA windlass; SET search_path TO windlass;",
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(text))
            .execute(&mut connection)
            .await
            .unwrap();
    }
}

/// Programs from before this rule do not register their schema version; the store had to have theirs when they opened it.
async fn from_before(one: &str, other: &str) {
    create_earlier(one, 17).await;
    drop(windlass_store::open(one).await.unwrap());
    // The worker continues. The next migration that it cannot survive waits for it, too.
    let plan = migration_plan(one, &newer(NOW + 1)).await.unwrap();
    assert_eq!(plan.blocked_by[0].schema_version, 0);
    assert_eq!(plan.blocked_by[0].name, "m/7");

    create_earlier(other, 16).await;
    let refused = windlass_store::open(other).await.unwrap_err();
    assert!(refused.to_string().contains("m/7 (0.0.9)"), "{refused}");
    let forced = migrate(other, &StoreSettings::default(), MigrationMode::Force).await;
    assert!(forced.unwrap().migrated);
    drop(windlass_store::open(other).await.unwrap());
}

async fn at_the_same_time(url: &str) {
    drop(older(url).await);
    // Many newer programs start together, as in a deployment, while an older worker continues.
    let store = windlass_store::open(url).await.unwrap();
    let opened = futures::future::join_all((0..8).map(|_| open_all(url, newer(NOW))));
    let claims = async {
        for _ in 0..2 {
            store.claim(claim(None)).await.unwrap().unwrap();
        }
    };
    let (opened, ()) = futures::join!(opened, claims);
    for opened in opened {
        assert_eq!(opened.unwrap().newer_schema, None);
    }
}

macro_rules! on_both {
    ($($name:ident: $test:path;)+) => {
        mod sqlite {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let dir = tempfile::tempdir().unwrap();
                    $test(&format!("sqlite:{}/windlass.db", dir.path().display())).await;
                }
            )+

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn p10_workers_of_earlier_programs_are_known() {
                let dir = tempfile::tempdir().unwrap();
                let url = |name: &str| format!("sqlite:{}/{name}.db", dir.path().display());
                from_before(&url("one"), &url("other")).await;
            }
        }

        mod real_postgres {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let cluster = Cluster::shared();
                    let database = cluster.database().await;
                    $test(&cluster.url(&database)).await;
                }
            )+

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn p10_workers_of_earlier_programs_are_known() {
                let cluster = Cluster::shared();
                let (one, other) = (cluster.database().await, cluster.database().await);
                from_before(&cluster.url(&one), &cluster.url(&other)).await;
            }
        }
    };
}

on_both! {
    p10_older_program_goes_on_after_a_compatible_migration: compatible;
    p10_incompatible_migration_waits_for_older_workers: incompatible;
    p10_older_program_writes_nothing_after_a_forced_migration: forced;
    p10_lost_workers_do_not_hold_a_migration: lost_workers_are_in_nobodys_way;
    p10_programs_that_start_together_migrate_once: at_the_same_time;
}
