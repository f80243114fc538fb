//! SQLite's log is brought into the file while nobody waits for it.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Row};
use windlass_core::task::{Broadcast, NewProject};

/// A log longer than is worth carrying into the file, and shorter than what a commit would do it for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_log_is_copied_without_a_commit_that_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("windlass.db");
    let url = format!("sqlite:{}", path.display());
    let store = windlass_store::open(&url).await.unwrap();
    let project = NewProject {
        name: "shop".to_owned(),
        root: "/home/me/shop".into(),
    };
    let project = store.add_project(project).await.unwrap().id;
    let message = Broadcast::ActivityUpdate {
        project_id: project,
        activity_type: "noise".to_owned(),
        agent_id: "worker".to_owned(),
        message: "x".repeat(64 << 10),
        task_id: None,
    };
    for _ in 0..100 {
        store
            .append_events(None, vec![message.clone()])
            .await
            .unwrap();
    }
    let options = SqliteConnectOptions::new().filename(&path);
    let mut link = options.connect().await.unwrap();
    loop {
        let state = sqlx::query("PRAGMA wal_checkpoint(NOOP)");
        let state = state.fetch_one(&mut link).await.unwrap();
        let (pages, copied): (i64, i64) = (state.get(1), state.get(2));
        assert!(pages > 1_000, "the log has {pages} pages only");
        if pages - copied < 1_000 {
            break;
        }
        tokio::task::yield_now().await;
    }
}
