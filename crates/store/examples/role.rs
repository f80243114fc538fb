//! Parts of tests that need a separate process: one that can be killed, or that has its own mounts.
//!
//! `role NAME DIR` runs one role on `DIR/windlass.db` and fails by panicking. The fixture of a new schema
//! version is created with
//! `cargo run -p windlass-store --example role -- fixture crates/store/fixtures/vN`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a part of a test fails by panicking, and reports to the test on stdout"
)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use windlass_core::Usage;
use windlass_store::{StoreSettings, open_with};
use windlass_tasks::{
    Claim, Dependency, NewIssue, NewProject, NewTask, Outcome, ProjectId, StoreError, TaskFilter,
    TaskStore,
};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap();
    let dir = PathBuf::from(args.next().unwrap());
    match name.as_str() {
        "add" => add_until_killed(&dir).await,
        "fill" => fill_the_disk(&dir).await,
        "read" => read_read_only_file(&dir).await,
        "fixture" => write_fixture(&dir).await,
        _ => panic!("no such role: {name}"),
    }
    println!("done");
}

fn url(dir: &Path) -> String {
    format!("sqlite:{}/windlass.db", dir.display())
}

async fn add_project(store: &dyn TaskStore) -> ProjectId {
    let project = NewProject {
        name: "shop".to_owned(),
        root: "/home/me/shop".into(),
    };
    store.add_project(project).await.unwrap().id
}

/// Adds tasks with eight clients until the process is killed, and prints each id once the store has
/// acknowledged it.
async fn add_until_killed(dir: &Path) {
    let mut settings = StoreSettings::default();
    settings.query_timeout = Duration::from_secs(60);
    settings.commit_timeout = Duration::from_secs(60);
    let store = open_with(&url(dir), settings).await.unwrap();
    let project = add_project(&*store).await;
    let clients = (0..8).map(|_| async {
        loop {
            let pair = vec![NewTask::new(project, "one"), NewTask::new(project, "two")];
            let added = store.enqueue(pair).await.unwrap();
            println!("added {} {}", added[0].task.id, added[1].task.id);
        }
    });
    futures::future::join_all(clients).await;
}

async fn fill_the_disk(dir: &Path) {
    // Removed later to free space.
    std::fs::write(dir.join("ballast"), vec![1; 1 << 20]).unwrap();
    let store = windlass_store::open(&url(dir)).await.unwrap();
    let project = add_project(&*store).await;
    let first = vec![NewTask::new(project, "sell tea")];
    store.enqueue(first).await.unwrap();
    let mut stored = 1;
    let error = loop {
        let mut new = NewTask::new(project, "a big one");
        new.description = "x".repeat(64 << 10);
        match store.enqueue(vec![new]).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 1_000, "the disk is too large");
    };
    assert!(matches!(error, StoreError::Full(_)), "{error:?}");
    assert!(error.to_string().contains("windlass.db"), "{error}");
    let found = store.tasks(TaskFilter::default()).await.unwrap();
    assert_eq!(found.len(), stored, "stored tasks can be read");

    // Another process can read too, although it cannot create the shared memory of the WAL.
    drop(store);
    wait_until_closed(dir).await;
    let _ = std::fs::remove_file(dir.join("windlass.db-shm"));
    fill_rest(dir);
    let store = windlass_store::open(&url(dir)).await.unwrap();
    let found = store.tasks(TaskFilter::default()).await.unwrap();
    assert_eq!(found.len(), stored, "stored tasks can be read again");
    let new = vec![NewTask::new(project, "no space")];
    let error = store.enqueue(new).await.unwrap_err();
    assert!(matches!(error, StoreError::Full(_)), "{error:?}");
    drop(store);
    wait_until_closed(dir).await;

    std::fs::remove_file(dir.join("ballast")).unwrap();
    let store = windlass_store::open(&url(dir)).await.unwrap();
    let last = vec![NewTask::new(project, "there is space")];
    store.enqueue(last).await.unwrap();
    drop(store);
    let store = windlass_store::open(&url(dir)).await.unwrap();
    let found = store.tasks(TaskFilter::default()).await.unwrap();
    assert_eq!(found.len(), stored + 1);
}

/// Waits until this process has no file of the store open: connections close in the background.
async fn wait_until_closed(dir: &Path) {
    let is_open = || {
        let files = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let mut targets = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        targets.any(|target| target.starts_with(dir))
    };
    while is_open() {
        tokio::task::yield_now().await;
    }
}

/// Fills what is left of the disk.
fn fill_rest(dir: &Path) {
    let mut rest = std::fs::File::create(dir.join("rest")).unwrap();
    while std::io::Write::write_all(&mut rest, &[1; 512]).is_ok() {}
}

async fn read_read_only_file(dir: &Path) {
    let store = windlass_store::open(&url(dir)).await.unwrap();
    let found = store.tasks(TaskFilter::default()).await.unwrap();
    assert_eq!(found.len(), 1);
    let new = NewTask::new(found[0].project_id, "no");
    let error = store.enqueue(vec![new]).await.unwrap_err();
    assert!(error.to_string().contains("read-only"), "{error}");
    assert!(error.to_string().contains("windlass.db"), "{error}");
}

fn claim() -> Claim {
    Claim {
        worker: "w".to_owned(),
        lease: Duration::from_secs(30),
        ..Claim::default()
    }
}

/// Writes the tasks that `tests/suite/schema_versions.rs` expects.
async fn write_fixture(dir: &Path) {
    let store = windlass_store::open(&url(dir)).await.unwrap();
    let project = add_project(&*store).await;
    let issue = NewIssue {
        project_id: project,
        title: "open a shop".to_owned(),
        description: String::new(),
    };
    let issue = store.add_issue(issue).await.unwrap().id;
    let new = |title: &str, siblings: &[usize]| NewTask {
        issue_id: Some(issue),
        dependencies: siblings.iter().map(|at| Dependency::Sibling(*at)).collect(),
        max_attempts: 1,
        ..NewTask::new(project, title)
    };
    let tasks = vec![
        new("completed", &[]),
        new("failed", &[0]),
        new("held up", &[1]),
        new("asks", &[]),
        new("in progress", &[0]),
        new("pending", &[4]),
    ];
    store.enqueue(tasks).await.unwrap();
    let outcomes = [
        Outcome::Completed {
            proof: None,
            branch: Some("windlass/task-1".to_owned()),
            output: "done".to_owned(),
        },
        Outcome::Failed {
            error: "it broke".to_owned(),
            again: true,
        },
        Outcome::Blocked {
            question: "which tea?".to_owned(),
        },
    ];
    for outcome in outcomes {
        let claimed = store.claim(claim()).await.unwrap().unwrap();
        let usage = Usage::default();
        store.finish(claimed.attempt, outcome, usage).await.unwrap();
    }
    let last = store.claim(claim()).await.unwrap().unwrap();
    assert_eq!(last.task.title, "in progress");
    drop(store);
    let options = SqliteConnectOptions::new().filename(dir.join("windlass.db"));
    let mut connection = options.connect().await.unwrap();
    for sql in ["VACUUM", "PRAGMA journal_mode = DELETE"] {
        sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
}
