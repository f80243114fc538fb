//! Full, read-only, damaged, newer and foreign files: a clear error, and no data is lost.

use std::path::Path;
use std::sync::Arc;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use windlass_tasks::{NewProject, NewTask, ProjectId, TaskFilter, TaskStore};

use super::child_process;

fn url(dir: &Path) -> String {
    format!("sqlite:{}/windlass.db", dir.display())
}

fn run<F: Future>(test: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(test)
}

async fn store_with_task(dir: &Path) -> (Arc<dyn TaskStore>, ProjectId) {
    let store = windlass_store::open(&url(dir)).await.unwrap();
    let project = NewProject {
        name: "shop".to_owned(),
        root: "/home/me/shop".into(),
    };
    let project = store.add_project(project).await.unwrap().id;
    store
        .enqueue(vec![NewTask::new(project, "sell tea")])
        .await
        .unwrap();
    (store, project)
}

async fn open_error(dir: &Path) -> String {
    let result = windlass_store::open(&url(dir)).await;
    result.unwrap_err().to_string()
}

/// Runs SQL on the file and writes the WAL back into it.
async fn run_sql(path: &Path, sql: &'static str) {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true);
    let mut connection = options.connect().await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
}

/// Creates a directory that a mount namespace can mount over. It is not under `/tmp`, which may be private
/// there.
fn mountable_dir() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[test]
fn full_disk_is_reported_and_recovers() {
    let dir = mountable_dir();
    let mount = format!("mount -t tmpfs -o size=4m tmpfs '{}'", dir.path().display());
    child_process::run_mounted("fill", dir.path(), &mount);
}

#[test]
fn read_only_file_can_be_read() {
    let dir = mountable_dir();
    let read_only = |dir: &Path| {
        let dir = dir.display();
        format!("mount --bind '{dir}' '{dir}'; mount -o remount,bind,ro '{dir}'")
    };
    run(async {
        let (store, _) = store_with_task(dir.path()).await;
        // While another process writes, there is a WAL next to the file.
        let mount = read_only(dir.path());
        child_process::run_mounted("read", dir.path(), &mount);
        drop(store);
    });
    // The connections close in the background; the last one removes the WAL.
    run(run_sql(&dir.path().join("windlass.db"), "SELECT 1"));
    let mount = read_only(dir.path());
    child_process::run_mounted("read", dir.path(), &mount);
}

#[test]
fn p10_newer_schema_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("windlass.db");
    run(async {
        drop(store_with_task(dir.path()).await);
        run_sql(
            &path,
            "INSERT INTO windlass_schema (version, at) VALUES (1000, 0); \
             UPDATE counter SET value = 1000 WHERE name = 'oldest_program'",
        )
        .await;
        let before = std::fs::read(&path).unwrap();
        let error = open_error(dir.path()).await;
        assert!(error.contains("windlass.db"), "{error}");
        assert!(error.contains("newer Windlass"), "{error}");
        assert!(error.contains("version 1000"), "{error}");
        assert!(before == std::fs::read(&path).unwrap(), "it was written to");
    });
}

#[test]
fn p10_damaged_file_is_reported_and_not_modified() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("windlass.db");
    run(async {
        drop(store_with_task(dir.path()).await);
        run_sql(&path, "SELECT 1").await;
        let good = std::fs::read(&path).unwrap();
        let garbage: Vec<u8> = (0..good.len()).map(|at| (at * 7 % 251) as u8).collect();
        let damage: [(&str, Vec<u8>); 4] = [
            (
                "all but the header",
                [&good[..100], &garbage[100..]].concat(),
            ),
            ("the header", [b"SQLite format 9\0", &good[16..]].concat()),
            ("truncated", good[..4096].to_vec()),
            ("not a database", b"to whom it may concern".to_vec()),
        ];
        for (what, bytes) in damage {
            std::fs::write(&path, &bytes).unwrap();
            let error = open_error(dir.path()).await;
            assert!(error.contains("windlass.db"), "{what}: {error}");
            assert!(error.contains("damaged"), "{what}: {error}");
            assert!(
                bytes == std::fs::read(&path).unwrap(),
                "{what}: it was written to"
            );
        }
        std::fs::write(&path, &good).unwrap();
        let store = windlass_store::open(&url(dir.path())).await.unwrap();
        assert_eq!(store.tasks(TaskFilter::default()).await.unwrap().len(), 1);
    });
}

#[test]
fn database_of_another_program_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("windlass.db");
    run(async {
        run_sql(&path, "CREATE TABLE moz_places (id INTEGER PRIMARY KEY)").await;
        let error = open_error(dir.path()).await;
        assert!(error.contains("another program"), "{error}");
    });
}

mod exhaustive {
    use super::*;

    #[test]
    fn file_can_be_created_concurrently() {
        for _ in 0..10 {
            let dir = tempfile::tempdir().unwrap();
            let url = url(dir.path());
            run(async {
                let all = (0..8).map(|_| {
                    let url = url.clone();
                    tokio::spawn(async move { windlass_store::open(&url).await.map(drop) })
                });
                for opened in futures::future::join_all(all).await {
                    opened.unwrap().unwrap();
                }
            });
        }
    }
}
