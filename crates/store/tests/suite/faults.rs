//! Files that are full, read-only, damaged, of another time or of another program: one clear sentence, nothing lost.

use std::path::Path;
use std::sync::Arc;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use windlass_core::task::{NewProject, NewTask, TaskFilter, TaskStore};

use super::again;

fn url(folder: &Path) -> String {
    format!("sqlite:{}/windlass.db", folder.display())
}

fn run<F: Future>(test: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(test)
}

async fn filled(folder: &Path) -> (Arc<dyn TaskStore>, i64) {
    let store = windlass_store::open(&url(folder)).await.unwrap();
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

async fn refused(folder: &Path) -> String {
    let answer = windlass_store::open(&url(folder)).await;
    answer.unwrap_err().to_string()
}

/// Statements of a test's own, and the log written back into the file.
async fn meddle(path: &Path, sql: &'static str) {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true);
    let mut link = options.connect().await.unwrap();
    sqlx::raw_sql(sql).execute(&mut link).await.unwrap();
    sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        .execute(&mut link)
        .await
        .unwrap();
    link.close().await.unwrap();
}

/// A folder that a namespace of its own can mount over: not under `/tmp`, which may be private there.
fn place() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[test]
fn a_full_disk_is_said_so_and_heals() {
    let place = place();
    let mount = format!(
        "mount -t tmpfs -o size=4m tmpfs '{}'",
        place.path().display()
    );
    again::play_mounted("fill", place.path(), &mount);
}

#[test]
fn a_read_only_file_can_be_read() {
    let place = place();
    let read_only = |folder: &Path| {
        let folder = folder.display();
        format!("mount --bind '{folder}' '{folder}'; mount -o remount,bind,ro '{folder}'")
    };
    run(async {
        let (store, _) = filled(place.path()).await;
        // While another process writes there is a log beside the file.
        let mount = read_only(place.path());
        again::play_mounted("read", place.path(), &mount);
        drop(store);
    });
    // The connections close in the background: the last one takes the log away.
    run(meddle(&place.path().join("windlass.db"), "SELECT 1"));
    let mount = read_only(place.path());
    again::play_mounted("read", place.path(), &mount);
}

#[test]
fn p10_a_newer_schema_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("windlass.db");
    run(async {
        drop(filled(folder.path()).await);
        meddle(
            &path,
            "INSERT INTO windlass_schema (version, at) VALUES (1000, 0)",
        )
        .await;
        let before = std::fs::read(&path).unwrap();
        let error = refused(folder.path()).await;
        assert!(error.contains("windlass.db"), "{error}");
        assert!(error.contains("newer Windlass"), "{error}");
        assert!(error.contains("version 1000"), "{error}");
        assert!(before == std::fs::read(&path).unwrap(), "it was written to");
    });
}

#[test]
fn p10_a_damaged_file_is_named_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("windlass.db");
    run(async {
        drop(filled(folder.path()).await);
        meddle(&path, "SELECT 1").await;
        let good = std::fs::read(&path).unwrap();
        let noise: Vec<u8> = (0..good.len()).map(|at| (at * 7 % 251) as u8).collect();
        let damage: [(&str, Vec<u8>); 4] = [
            ("all but the name", [&good[..100], &noise[100..]].concat()),
            (
                "the name itself",
                [b"SQLite format 9\0", &good[16..]].concat(),
            ),
            ("the end is missing", good[..4096].to_vec()),
            ("something else", b"to whom it may concern".to_vec()),
        ];
        for (what, bytes) in damage {
            std::fs::write(&path, &bytes).unwrap();
            let error = refused(folder.path()).await;
            assert!(error.contains("windlass.db"), "{what}: {error}");
            assert!(error.contains("damaged"), "{what}: {error}");
            assert!(
                bytes == std::fs::read(&path).unwrap(),
                "{what}: it was written to"
            );
        }
        std::fs::write(&path, &good).unwrap();
        let store = windlass_store::open(&url(folder.path())).await.unwrap();
        assert_eq!(store.tasks(TaskFilter::default()).await.unwrap().len(), 1);
    });
}

#[test]
fn the_database_of_another_program_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("windlass.db");
    run(async {
        meddle(&path, "CREATE TABLE moz_places (id INTEGER PRIMARY KEY)").await;
        let error = refused(folder.path()).await;
        assert!(error.contains("another program"), "{error}");
    });
}

#[test]
fn many_may_make_the_file_at_the_same_moment() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let url = url(folder.path());
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
