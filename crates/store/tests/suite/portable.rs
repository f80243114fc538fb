//! Backup, restore, check and prune, on both databases and from one to the other.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use windlass_core::Usage;
use windlass_store::{
    StoreRetention, StoreSettings, backup, check, open_all, open_with, prune, restore, summarize,
};
use windlass_tasks::{
    Claim, Dependency, EventFilter, NewAccessToken, NewAuditEntry, NewProject, NewTask, Outcome,
    ProjectId, Scope, TaskId, TaskStore,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn sqlite(dir: &TempDir, name: &str) -> String {
    format!("sqlite:{}", dir.path().join(name).display())
}

async fn project(store: &dyn TaskStore) -> ProjectId {
    let new = NewProject {
        name: "shop \u{1F375} \"quoted\"".to_owned(),
        root: "/home/me/shop".into(),
    };
    store.add_project(new).await.unwrap().id
}

/// Adds tasks of every status, with records of most kinds.
async fn fill(url: &str, tasks: usize) {
    let store = open_all(url, StoreSettings::default()).await.unwrap();
    let project = project(&*store.tasks).await;
    let mut added: Vec<TaskId> = Vec::new();
    for from in (0..tasks).step_by(500) {
        let new = (from..tasks.min(from + 500)).map(|number| {
            let mut task = NewTask::new(
                project,
                format!("task {number}: \\ \n\t\u{7}\u{2028}\u{1F980}"),
            );
            task.description = "ä".repeat(number % 97);
            task
        });
        let new: Vec<NewTask> = new.collect();
        let enqueued = store.tasks.enqueue(new).await.unwrap();
        added.extend(enqueued.iter().map(|added| added.task.id));
    }
    let mut dependent = NewTask::new(project, "after the first");
    dependent.dependencies = vec![Dependency::Task(added[0])];
    store.tasks.enqueue(vec![dependent]).await.unwrap();
    let lease = Duration::from_secs(60);
    for number in 0..6 {
        let claim = Claim {
            worker: "worker".to_owned(),
            lease,
            ..Claim::default()
        };
        let claimed = store.tasks.claim(claim).await.unwrap().unwrap();
        let outcome = match number {
            0 | 1 => Outcome::Blocked {
                question: "which tea?".to_owned(),
            },
            2 | 3 => Outcome::Cancelled,
            _ => continue,
        };
        let usage = Usage::default();
        store
            .tasks
            .finish(claimed.attempt, outcome, usage)
            .await
            .unwrap();
    }
    let trace = serde_json::json!({"name": "attempt", "start": 1, "duration_ms": 2});
    let trace = serde_json::from_value(trace).unwrap();
    store
        .tasks
        .put_trace("t-1".to_owned(), Some(added[0]), trace)
        .await
        .unwrap();
    let token = NewAccessToken {
        name: "ann".to_owned(),
        hash: "h".to_owned(),
        scopes: vec![Scope::Read],
        projects: None,
        expires_in: None,
    };
    let token = store.access.add_token(token).await.unwrap();
    store.access.revoke_token(token.id).await.unwrap();
    let entry = NewAuditEntry {
        actor: "ann".to_owned(),
        ..NewAuditEntry::default()
    };
    store.access.append_audit(entry).await.unwrap();
}

/// Moves a store by a backup, and checks that nothing is lost and that ids go on.
async fn check_copy(from: &str, to: &str, file: &Path) {
    let before = backup(from, file).await.unwrap();
    assert_eq!(restore(to, file).await.unwrap(), before);
    assert_eq!(summarize(to).await.unwrap(), before);
    assert_eq!(check(to).await.unwrap(), []);
    let again = restore(to, file).await.unwrap_err().to_string();
    assert!(again.contains("is not empty"), "{again}");
    let exists = backup(from, file).await.unwrap_err().to_string();
    assert!(exists.contains("exists"), "{exists}");

    // New records get the ids and numbers that the original would give them.
    let mut next = Vec::new();
    for url in [from, to] {
        let store = open_all(url, StoreSettings::default()).await.unwrap();
        let project = store.tasks.projects().await.unwrap()[0].id;
        let new = vec![NewTask::new(project, "next")];
        let task = store.tasks.enqueue(new).await.unwrap()[0].task.id;
        let last = store
            .tasks
            .wait_for_events(0, Duration::ZERO)
            .await
            .unwrap();
        next.push((task, last));
    }
    assert_eq!(next[0], next[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p1_store_moves_between_files() {
    let dir = TempDir::new().unwrap();
    let (from, to) = (sqlite(&dir, "a.db"), sqlite(&dir, "b.db"));
    fill(&from, 50).await;
    check_copy(&from, &to, &dir.path().join("backup")).await;
}

/// Adds about 50 tasks a second while backups are made. Each backup has every task that was acknowledged before it
/// started, and is consistent.
async fn check_backup_during_writes(url: &str, other: impl AsyncFn() -> String) {
    let dir = TempDir::new().unwrap();
    fill(url, 300).await;
    let store = open_with(url, StoreSettings::default()).await.unwrap();
    let project = store.projects().await.unwrap()[0].id;
    let ended = Arc::new(AtomicBool::new(false));
    let (acknowledged, count) = tokio::sync::watch::channel(0_u64);
    let writer = tokio::spawn({
        let ended = Arc::clone(&ended);
        async move {
            let mut interval = tokio::time::interval(Duration::from_millis(20));
            while !ended.load(Ordering::Acquire) {
                interval.tick().await;
                let new = vec![NewTask::new(project, "meanwhile")];
                store.enqueue(new).await.unwrap();
                acknowledged.send_modify(|count| *count += 1);
            }
        }
    });
    for number in 0..3 {
        let file = dir.path().join(format!("backup-{number}"));
        let mut waiting = count.clone();
        let least = *waiting.borrow() + 5;
        waiting.wait_for(|count| *count >= least).await.unwrap();
        let before = *count.borrow();
        let summary = backup(url, &file).await.unwrap();
        let rows = summary.tables["task"].rows;
        assert!(rows >= 301 + before, "{rows} tasks, {before} acknowledged");
        let target = other().await;
        assert_eq!(restore(&target, &file).await.unwrap(), summary);
        assert_eq!(check(&target).await.unwrap(), []);
    }
    ended.store(true, Ordering::Release);
    writer.await.unwrap();
    assert_eq!(check(url).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p1_backup_of_sqlite_during_writes_is_consistent() {
    let dir = TempDir::new().unwrap();
    let number = std::sync::atomic::AtomicUsize::new(0);
    let other = async || {
        let number = number.fetch_add(1, Ordering::Relaxed);
        sqlite(&dir, &format!("copy-{number}.db"))
    };
    check_backup_during_writes(&sqlite(&dir, "a.db"), other).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p1_damaged_backup_is_refused_and_writes_nothing() {
    let dir = TempDir::new().unwrap();
    let from = sqlite(&dir, "a.db");
    fill(&from, 20).await;
    let file = dir.path().join("backup");
    backup(&from, &file).await.unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let row = lines
        .iter()
        .position(|line| line.contains("task 3:"))
        .unwrap();
    let to = sqlite(&dir, "b.db");
    let damaged: PathBuf = dir.path().join("damaged");
    let without = |at: usize| [&lines[..at], &lines[at + 1..]].concat().join("\n");
    let changed = |from: &str, to: &str| text.replacen(from, to, 1);
    for (what, content) in [
        ("empty", String::new()),
        ("cut", lines[..lines.len() / 2].join("\n")),
        ("no summary", lines[..lines.len() - 1].join("\n")),
        ("a row is missing", without(row)),
        ("a row is changed", changed("task 3:", "task 4:")),
        (
            "a row is twice",
            changed(lines[row], &format!("{0}\n{0}", lines[row])),
        ),
        ("other columns", changed("\"title\"", "\"titles\"")),
        (
            "another table",
            changed("{\"table\":\"task\"", "{\"table\":\"tusk\""),
        ),
        ("a newer schema", changed("\"schema\":", "\"schema\":9")),
        ("not a backup", "a letter\n".to_owned()),
    ] {
        std::fs::write(&damaged, content).unwrap();
        let error = restore(&to, &damaged).await;
        assert!(error.is_err(), "{what}");
    }
    // Nothing of it was written: the whole backup can be restored.
    restore(&to, &file).await.unwrap();
    assert_eq!(check(&to).await.unwrap(), []);
}

/// Adds finished tasks a hundred days ago, and one today.
async fn check_prune(url: &str) {
    let settings = StoreSettings::default();
    settings.clock_skew.rewind(100 * DAY);
    let store = open_all(url, settings.clone()).await.unwrap();
    let project = project(&*store.tasks).await;
    let new: Vec<NewTask> = (0..10).map(|_| NewTask::new(project, "old")).collect();
    for added in store.tasks.enqueue(new).await.unwrap() {
        store.tasks.cancel(added.task.id).await.unwrap();
    }
    let trace = serde_json::json!({"name": "attempt", "start": 1, "duration_ms": 2});
    let trace: windlass_core::TraceNode = serde_json::from_value(trace).unwrap();
    store
        .tasks
        .put_trace("old".to_owned(), None, trace.clone())
        .await
        .unwrap();
    store
        .access
        .append_audit(NewAuditEntry::default())
        .await
        .unwrap();
    // This one is not finished: its events, and all later ones, stay.
    let open = store
        .tasks
        .enqueue(vec![NewTask::new(project, "open")])
        .await
        .unwrap();
    let open = open[0].task.id;
    settings.clock_skew.advance(100 * DAY);
    store
        .tasks
        .put_trace("new".to_owned(), None, trace)
        .await
        .unwrap();
    store
        .access
        .append_audit(NewAuditEntry::default())
        .await
        .unwrap();
    store
        .tasks
        .cancel(
            store
                .tasks
                .enqueue(vec![NewTask::new(project, "new")])
                .await
                .unwrap()[0]
                .task
                .id,
        )
        .await
        .unwrap();

    let seqs = async || {
        let events = store.tasks.events(EventFilter::default()).await.unwrap();
        events.iter().map(|event| event.seq).collect::<Vec<u64>>()
    };
    assert_eq!(seqs().await, (1..=23).collect::<Vec<u64>>());
    let mut retention = StoreRetention::default();
    retention.events = Some(90 * DAY);
    let pruned = prune(url, &retention).await.unwrap();
    assert_eq!((pruned.events, pruned.traces, pruned.audit), (20, 0, 0));
    assert_eq!(seqs().await, [21, 22, 23]);
    store.tasks.cancel(open).await.unwrap();
    (retention.traces, retention.audit) = (Some(90 * DAY), Some(90 * DAY));
    let pruned = prune(url, &retention).await.unwrap();
    assert_eq!((pruned.events, pruned.traces, pruned.audit), (1, 1, 1));
    assert_eq!(seqs().await, [22, 23, 24]);
    assert_eq!(check(url).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prune_removes_what_is_old_and_finished() {
    let dir = TempDir::new().unwrap();
    check_prune(&sqlite(&dir, "a.db")).await;
}

mod real_postgres {
    use super::super::cluster::Cluster;
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn p1_sqlite_moves_to_postgres_and_back() {
        move_to_postgres(2_000).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "full: moves 100,000 tasks"]
    async fn p1_large_sqlite_moves_to_postgres() {
        move_to_postgres(100_000).await;
    }

    async fn move_to_postgres(tasks: usize) {
        let dir = TempDir::new().unwrap();
        let cluster = Cluster::shared();
        let postgres = cluster.url(&cluster.database().await);
        let from = sqlite(&dir, "a.db");
        fill(&from, tasks).await;
        check_copy(&from, &postgres, &dir.path().join("there")).await;
        check_copy(&postgres, &sqlite(&dir, "b.db"), &dir.path().join("back")).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn p1_backup_of_postgres_during_writes_is_consistent() {
        let cluster = Cluster::shared();
        let url = cluster.url(&cluster.database().await);
        let other = async || cluster.url(&cluster.database().await);
        check_backup_during_writes(&url, other).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn check_finds_broken_records() {
        let cluster = Cluster::shared();
        let database = cluster.database().await;
        let url = cluster.url(&database);
        fill(&url, 10).await;
        assert_eq!(check(&url).await.unwrap(), []);
        let mut connection = cluster.connect(&database).await;
        for (statement, rule) in [
            ("DELETE FROM windlass.event WHERE seq = 3", "without gaps"),
            (
                "UPDATE windlass.counter SET value = 1 WHERE name = 'event'",
                "number of the last event",
            ),
            (
                "UPDATE windlass.task SET status = 'in_progress' WHERE id = 9",
                "has an open attempt",
            ),
            (
                "UPDATE windlass.task SET status = 'odd' WHERE id = 10",
                "known status",
            ),
            (
                "UPDATE windlass.task SET status = 'pending', waiting = 0 WHERE id = 11",
                "waits for no dependency",
            ),
        ] {
            sqlx::raw_sql(statement)
                .execute(&mut connection)
                .await
                .unwrap();
            let problems = check(&url).await.unwrap();
            let found = problems.iter().any(|problem| problem.rule.contains(rule));
            assert!(found, "{rule}: {problems:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn prune_removes_what_is_old_and_finished() {
        let cluster = Cluster::shared();
        check_prune(&cluster.url(&cluster.database().await)).await;
    }
}
