//! SQLite's WAL is checkpointed in the background.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Row};
use windlass_tasks::{Broadcast, NewProject};

/// Writes a WAL that is long enough for a checkpoint, but too short for the automatic checkpoint of a commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_wal_is_checkpointed_in_background() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("windlass.db");
    let url = format!("sqlite:{}", path.display());
    let store = windlass_store::open(&url).await.unwrap();
    let project = NewProject {
        name: "shop".to_owned(),
        root: "/home/me/shop".into(),
    };
    let project = store.add_project(project).await.unwrap().id;
    let message = Broadcast::ActivityUpdate {
        project_id: project,
        activity_type: "test".to_owned(),
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
    let mut connection = options.connect().await.unwrap();
    loop {
        let state = sqlx::query("PRAGMA wal_checkpoint(NOOP)");
        let state = state.fetch_one(&mut connection).await.unwrap();
        let (pages, copied): (i64, i64) = (state.get(1), state.get(2));
        assert!(pages > 1_000, "the WAL has only {pages} pages");
        if pages - copied < 1_000 {
            break;
        }
        tokio::task::yield_now().await;
    }
}
