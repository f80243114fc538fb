//! Files of every schema that was released open, and hold what they held.
//!
//! A new one is made by the Windlass of its time:
//! `WINDLASS_STORE_ROLE=crates/store/fixtures/vN cargo nextest run -p windlass-store role_writes_a_file_of_its_time`.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use windlass_core::Usage;
use windlass_core::task::{
    Claim, Dependency, EventFilter, NewIssue, NewProject, NewTask, Outcome, TaskFilter, TaskStatus,
};

use super::again;

fn run<F: Future>(test: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(test)
}

fn url(folder: &Path) -> String {
    format!("sqlite:{}/windlass.db", folder.display())
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

#[test]
fn role_writes_a_file_of_its_time() {
    let Some(folder) = again::folder() else {
        return;
    };
    run(async {
        let store = windlass_store::open(&url(&folder)).await.unwrap();
        let project = NewProject {
            name: "shop".to_owned(),
            root: "/home/me/shop".into(),
        };
        let project = store.add_project(project).await.unwrap().id;
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
            let one = store.claim(claim()).await.unwrap().unwrap();
            let usage = Usage::default();
            store.finish(one.attempt, outcome, usage).await.unwrap();
        }
        let last = store.claim(claim()).await.unwrap().unwrap();
        assert_eq!(last.task.title, "in progress");
        drop(store);
        let options = SqliteConnectOptions::new().filename(folder.join("windlass.db"));
        let mut link = options.connect().await.unwrap();
        for tidy in ["VACUUM", "PRAGMA journal_mode = DELETE"] {
            sqlx::raw_sql(tidy).execute(&mut link).await.unwrap();
        }
        link.close().await.unwrap();
    });
}

#[test]
fn p10_files_of_every_released_schema_open() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut seen = 0;
    for old in std::fs::read_dir(fixtures).unwrap() {
        let old = old.unwrap().path().join("windlass.db");
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(&old, folder.path().join("windlass.db")).unwrap();
        run(holds_what_it_held(folder.path()));
        seen += 1;
    }
    assert!(seen > 0, "there are no fixtures");
}

async fn holds_what_it_held(folder: &Path) {
    let store = windlass_store::open(&url(folder)).await.unwrap();
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

    // And work goes on with it.
    let swept = store.sweep().await.unwrap();
    assert_eq!(swept[0].title, "in progress");
    let answered = store.answer(open[0].id, "green".to_owned()).await.unwrap();
    let one = store.claim(claim()).await.unwrap().unwrap();
    assert_eq!(one.task.id, answered.id);
}
