//! Rolling upgrades: this version runs as the older one, beside a newer one with migrations of a test.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;
use windlass_store::{
    Migration, MigrationMode, Migrations, StoreSettings, migrate, migration_plan, open_all,
};
use windlass_tasks::TaskId;

use super::task_harness::{INSTANT, TaskHarness};

/// The newest released schema.
const NOW: i64 = 18;

/// How often something is looked at, every 100 ms, until it must have happened.
const MAX_POLLS: u32 = 1_200;

#[track_caller]
fn wait_for<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    for _ in 0..MAX_POLLS {
        if let Some(value) = poll() {
            return value;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    unreachable!("{what} did not happen");
}

fn runtime() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().unwrap()
}

/// Returns the settings of a newer program with one migration that older ones survive, and with `steps` of 2 another one that
/// they do not.
fn newer(steps: usize) -> StoreSettings {
    let step = |name: &'static str, oldest| Migration {
        sqlite: name,
        postgres: name,
        oldest,
    };
    let all = [
        step("ALTER TABLE task ADD COLUMN color TEXT", NOW),
        step("ALTER TABLE task ADD COLUMN shape TEXT", NOW + 2),
    ];
    let objects = [
        "column\ttask.color\ttext \n",
        "column\ttask.color\ttext \ncolumn\ttask.shape\ttext \n",
    ];
    let mut settings = StoreSettings::default();
    settings.migrations = Migrations::with_later(&all[..steps], objects[steps - 1]);
    settings
}

fn status(harness: &TaskHarness, id: &str) -> Value {
    harness.json(&["task", "show", id, "--json"])["task"]["status"].clone()
}

fn wait_until(harness: &TaskHarness, id: &str, wanted: &str) {
    wait_for(wanted, || (status(harness, id) == wanted).then_some(()));
}

/// Starts a worker whose stderr is in a file.
fn worker(harness: &TaskHarness) -> Child {
    let log = std::fs::File::create(harness.path("worker.log")).unwrap();
    let mut command = harness.child(&["worker", "--concurrency", "1"]);
    command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

/// A worker runs through a compatible migration, and ends by itself before an incompatible one.
fn roll(harness: &TaskHarness, url: &str) {
    let runtime = runtime();
    harness.lease(6);
    harness.json(&["task", "add", "One", "--json"]);
    let mut worker = worker(harness);
    wait_until(harness, "1", "in_progress");
    let opened = runtime.block_on(open_all(url, newer(1))).unwrap();
    assert_eq!(opened.newer_schema, None);

    // It finishes its task and claims the next one, which this version adds to the newer store.
    let added = harness.run(&["task", "add", "Two", "--json"]);
    assert_eq!(added.code, 0, "{added:?}");
    assert!(added.stderr.contains("newer Windlass"), "{added:?}");
    wait_until(harness, "1", "completed");
    wait_until(harness, "2", "in_progress");
    harness.json(&["task", "add", "Three", "--json"]);

    // The incompatible migration asks it to end, and waits. It completes what it runs, and claims nothing more.
    let plan = runtime
        .block_on(migrate(url, &newer(2), MigrationMode::Drain))
        .unwrap();
    assert!(!plan.migrated, "{plan:?}");
    let name = plan.blocked_by[0].name.clone();
    assert!(name.ends_with(&format!("/{}", worker.id())), "{name}");
    assert_eq!(worker.wait().unwrap().code(), Some(0));
    let store = opened.tasks;
    let task = |id: i64| runtime.block_on(store.task(TaskId::from(id))).unwrap();
    assert_eq!(task(2).status.as_str(), "completed");
    assert_eq!((task(3).status.as_str(), task(3).attempt), ("pending", 0));
    drop(store);
    let plan = runtime
        .block_on(migrate(url, &newer(2), MigrationMode::Drain))
        .unwrap();
    assert!(plan.migrated && plan.blocked_by.is_empty(), "{plan:?}");

    // This version is too old now, and says so in one sentence.
    for args in [
        &["task", "list"][..],
        &["worker", "--once"],
        &["store", "migrate"],
    ] {
        let refused = harness.run(args);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("newer Windlass"), "{refused:?}");
        assert_eq!(refused.stderr.lines().count(), 1, "{refused:?}");
    }
    runtime.block_on(open_all(url, newer(2))).unwrap();
}

/// A forced migration stops a worker that cannot go on; its task is taken over.
fn force(harness: &TaskHarness, url: &str) {
    let runtime = runtime();
    harness.lease(6);
    harness.json(&["task", "add", "One", "--json"]);
    let mut worker = worker(harness);
    wait_until(harness, "1", "in_progress");
    let plan = runtime
        .block_on(migrate(url, &newer(2), MigrationMode::Force))
        .unwrap();
    assert!(plan.migrated && plan.blocked_by.len() == 1, "{plan:?}");
    assert_eq!(worker.wait().unwrap().code(), Some(1));
    let log = std::fs::read_to_string(harness.path("worker.log")).unwrap();
    assert!(log.contains("migrated by a newer Windlass"), "{log}");

    let store = runtime.block_on(open_all(url, newer(2))).unwrap().tasks;
    let reclaimed = wait_for("the end of the lease", || {
        runtime.block_on(store.reclaim_expired()).unwrap().pop()
    });
    assert_eq!(
        (reclaimed.title.as_str(), reclaimed.status.as_str()),
        ("One", "pending")
    );
}

mod sqlite {
    use super::*;

    fn url(harness: &TaskHarness) -> String {
        format!("sqlite:{}", harness.path("tasks.db").display())
    }

    #[test]
    fn p10_worker_runs_through_a_compatible_migration_and_ends_before_another() {
        let harness = TaskHarness::new("sleep 4", INSTANT);
        roll(&harness, &url(&harness));
    }

    #[test]
    fn p10_forced_migration_stops_an_older_worker() {
        let harness = TaskHarness::new("sleep 60", INSTANT);
        force(&harness, &url(&harness));
    }
}

mod real_postgres {
    use super::super::cluster::Cluster;
    use super::*;

    #[test]
    fn p10_worker_runs_through_a_compatible_migration_and_ends_before_another() {
        let cluster = Cluster::start("rolling");
        let harness = TaskHarness::new("sleep 4", INSTANT);
        harness.configure(&cluster.url(), "sleep 4");
        roll(&harness, &cluster.url());
    }

    #[test]
    fn p10_forced_migration_stops_an_older_worker() {
        let cluster = Cluster::start("rolling-forced");
        let harness = TaskHarness::new("sleep 60", INSTANT);
        harness.configure(&cluster.url(), "sleep 60");
        force(&harness, &cluster.url());
    }
}

/// Creates a store of version 16 with an active worker, as its program left it.
fn create_earlier(path: &Path) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/migrations/sqlite");
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    let mut text =
        "CREATE TABLE windlass_schema (version BIGINT NOT NULL PRIMARY KEY, at BIGINT NOT NULL);"
            .to_owned();
    for (version, file) in (1..=16).zip(files) {
        text.push_str(&std::fs::read_to_string(file).unwrap());
        text.push_str(&format!(
            "; INSERT INTO windlass_schema VALUES ({version}, 0);"
        ));
    }
    text.push_str(
        "INSERT INTO worker (name, machine, version, labels, kinds, agents, lanes, interval_ms, started_at, seen_at) \
         VALUES ('build-7/4711', 'build-7', '0.0.9', '[]', '[]', '[]', 1, 10000, 0, 9000000000000)",
    );
    execute(path, text);
}

fn execute(path: &Path, text: String) {
    runtime().block_on(async {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true);
        let mut connection = options.connect().await.unwrap();
        let batch = sqlx::raw_sql(sqlx::AssertSqlSafe(text));
        batch.execute(&mut connection).await.unwrap();
    });
}

#[test]
fn p10_store_migrate_names_drains_and_awaits_older_workers() {
    let harness = TaskHarness::new("true", INSTANT);
    let file = harness.path("tasks.db");
    create_earlier(&file);
    let refused = harness.run(&["task", "list"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    for part in ["build-7/4711 (0.0.9)", "windlass store migrate"] {
        assert!(refused.stderr.contains(part), "{refused:?}");
    }
    let plan = harness.json(&["store", "migrate", "--dry-run", "--json"]);
    assert_eq!((&plan["from"], &plan["to"]), (&json!(16), &json!(NOW)));
    assert_eq!(plan["migrated"], false);
    assert_eq!(plan["blocked_by"][0]["draining"], false, "{plan}");

    // It is drained, and does not end in time.
    let waited = harness.run(&["store", "migrate", "--wait", "2s"]);
    assert_eq!(waited.code, 124, "{waited:?}");
    assert!(waited.stdout.contains("build-7/4711 (0.0.9)"), "{waited:?}");
    let url = format!("sqlite:{}", file.display());
    let plan = runtime()
        .block_on(migration_plan(&url, &StoreSettings::default()))
        .unwrap();
    assert!(plan.blocked_by[0].draining, "{plan:?}");

    execute(&file, "DELETE FROM worker".to_owned());
    let done = harness.run(&["store", "migrate"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(
        done.stdout.contains("from schema version 16 to 18"),
        "{done:?}"
    );
    let again = harness.json(&["store", "migrate", "--json"]);
    assert_eq!(
        (&again["migrated"], &again["from"]),
        (&json!(true), &json!(NOW))
    );
    assert_eq!(harness.run(&["task", "list"]).code, 0);
}
