//! Files of every released schema version can be opened and keep their data.
//!
//! Each fixture is written by the Windlass of that version:
//! `cargo run -p windlass-store --example role -- fixture crates/store/fixtures/vN`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::Row as _;
use sqlx::sqlite::SqliteConnectOptions;
use windlass_store::{ManualClock, StoreSettings, open_with};
use windlass_tasks::{Claim, EventFilter, NewProject, NewTask, TaskFilter, TaskStatus};

fn run<F: Future>(test: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(test)
}

fn url(dir: &Path) -> String {
    format!("sqlite:{}/windlass.db", dir.display())
}

fn claim() -> Claim {
    Claim {
        worker: "w".to_owned(),
        lease: Duration::from_secs(30),
        ..Claim::default()
    }
}

#[test]
fn p10_files_of_every_released_schema_open() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut seen = 0;
    for fixture in std::fs::read_dir(fixtures).unwrap() {
        let fixture = fixture.unwrap().path().join("windlass.db");
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(&fixture, dir.path().join("windlass.db")).unwrap();
        run(check_fixture(dir.path()));
        seen += 1;
    }
    assert!(seen > 0, "there are no fixtures");
}

async fn check_fixture(dir: &Path) {
    let clock = ManualClock::new("after the upgrade");
    let mut settings = StoreSettings::default();
    settings.lease_clock = Arc::new(clock.clone());
    let store = open_with(&url(dir), settings).await.unwrap();
    let tasks = store.tasks(TaskFilter::default()).await.unwrap();
    let found: Vec<(&str, TaskStatus)> = tasks
        .iter()
        .map(|task| (task.title.as_str(), task.status))
        .collect();
    let wanted = [
        ("completed", TaskStatus::Completed),
        ("failed", TaskStatus::Failed),
        ("held up", TaskStatus::Blocked),
        ("asks", TaskStatus::Blocked),
        ("in progress", TaskStatus::InProgress),
        ("pending", TaskStatus::Pending),
    ];
    assert_eq!(found, wanted);
    assert_eq!(tasks[5].dependencies, [tasks[4].id]);
    let open = store.blockers(None, true).await.unwrap();
    assert_eq!(open[0].question, "which tea?");
    let events = store.events(EventFilter::default()).await.unwrap();
    let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());

    // The store can be used after the migration.
    assert_eq!(store.reclaim_expired().await.unwrap(), vec![]);
    clock.advance(Duration::from_secs(31));
    let reclaimed = store.reclaim_expired().await.unwrap();
    assert_eq!(reclaimed[0].title, "in progress");
    let answered = store
        .answer_blocker(open[0].id, "green".to_owned())
        .await
        .unwrap();
    let claimed = store.claim(claim()).await.unwrap().unwrap();
    assert_eq!(claimed.task.id, answered.id);
}

/// A program from before labels that is still running selects tasks with this condition.
#[test]
fn older_program_passes_over_tasks_that_need_labels() {
    const READY: &str =
        "SELECT title FROM task WHERE status = 'pending' AND waiting = 0 AND paused = 0";
    run(async {
        let dir = tempfile::tempdir().unwrap();
        let store = windlass_store::open(&url(dir.path())).await.unwrap();
        let project = NewProject {
            name: "shop".to_owned(),
            root: "/home/me/shop".into(),
        };
        let id = store.add_project(project).await.unwrap().id;
        let labelled = NewTask {
            needs: vec!["gpu".to_owned()],
            ..NewTask::new(id, "labelled")
        };
        let added = store
            .enqueue(vec![labelled, NewTask::new(id, "plain")])
            .await;
        let labelled = added.unwrap().remove(0).task.id;
        let options = SqliteConnectOptions::new().filename(dir.path().join("windlass.db"));
        let mut older = options.connect().await.unwrap();
        let rows = sqlx::query(READY).fetch_all(&mut older).await.unwrap();
        let titles: Vec<String> = rows.iter().map(|row| row.get("title")).collect();
        assert_eq!(titles, ["plain"]);

        // What it wrote when it completed a dependency does not hide the task from newer programs.
        let reset = sqlx::query("UPDATE task SET waiting = 0");
        reset.execute(&mut older).await.unwrap();
        let first = store.claim(claim()).await.unwrap().unwrap();
        assert_eq!(first.task.title, "plain");
        assert_eq!(store.claim(claim()).await.unwrap(), None);
        let with_label = Claim {
            labels: vec!["gpu".to_owned()],
            ..claim()
        };
        let claimed = store.claim(with_label).await.unwrap().unwrap();
        assert_eq!(claimed.task.id, labelled);
    });
}
