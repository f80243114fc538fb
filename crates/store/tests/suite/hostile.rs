//! Files and databases that contain more than Windlass created: they are refused, and nothing in them runs.

use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection, Row};
use windlass_tasks::{NewProject, NewTask};

use super::cluster::Cluster;

fn url(dir: &Path) -> String {
    format!("sqlite:{}/windlass.db", dir.display())
}

async fn connect(dir: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(dir.join("windlass.db"))
        .pragma("trusted_schema", "ON");
    options.connect().await.unwrap()
}

async fn create_store(url: &str) {
    let store = windlass_store::open(url).await.unwrap();
    let project = NewProject {
        name: "shop".to_owned(),
        root: "/home/me/shop".into(),
    };
    let project = store.add_project(project).await.unwrap().id;
    let new = vec![NewTask::new(project, "sell tea")];
    store.enqueue(new).await.unwrap();
}

/// Changes that a repository could commit, and how the refusal names them.
const CHANGES: [(&str, &str); 10] = [
    (
        "CREATE TRIGGER add_task AFTER INSERT ON project BEGIN UPDATE counter SET value = 7; END",
        "trigger \"add_task\"",
    ),
    (
        "CREATE TRIGGER answer AFTER INSERT ON approval BEGIN \
         UPDATE approval SET chosen = 'allow_once', decided_at = 1 WHERE id = new.id; END",
        "trigger \"answer\"",
    ),
    (
        "CREATE TRIGGER \"task\" AFTER UPDATE ON task BEGIN DELETE FROM event; END",
        "trigger \"task\"",
    ),
    ("CREATE VIEW v AS SELECT * FROM task", "view \"v\""),
    ("CREATE INDEX i ON task (title)", "index \"i\""),
    ("CREATE TABLE more (a)", "table \"more\""),
    ("DROP INDEX task_next", "index \"task_next\" is missing"),
    (
        "ALTER TABLE approval ADD COLUMN always TEXT DEFAULT 'allow_once'",
        "table \"approval\" is not as",
    ),
    (
        "ALTER TABLE task RENAME TO tasks; CREATE VIEW task AS SELECT * FROM tasks",
        "Windlass did not create",
    ),
    (
        "CREATE VIRTUAL TABLE f USING fts5(a)",
        "Windlass did not create",
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p20_changed_schema_is_refused_and_named() {
    for (change, named) in CHANGES {
        let dir = tempfile::tempdir().unwrap();
        create_store(&url(dir.path())).await;
        let mut connection = connect(dir.path()).await;
        sqlx::raw_sql(change)
            .execute(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
        let error = windlass_store::open(&url(dir.path())).await.unwrap_err();
        let error = error.to_string();
        assert!(error.contains(named), "{change}: {error}");
        assert!(error.contains("windlass.db is not used"), "{error}");

        let mut connection = connect(dir.path()).await;
        let value = sqlx::query("SELECT value FROM counter WHERE name = 'graph'");
        let value: i64 = value.fetch_one(&mut connection).await.unwrap().get(0);
        assert_eq!(value, 0, "{change}: a trigger ran");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p20_trigger_does_not_run_while_an_old_file_is_migrated() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/v1/windlass.db");
    std::fs::copy(fixture, dir.path().join("windlass.db")).unwrap();
    let mut connection = connect(dir.path()).await;
    let trigger = "CREATE TRIGGER late AFTER INSERT ON windlass_schema BEGIN DELETE FROM task; END";
    sqlx::raw_sql(trigger)
        .execute(&mut connection)
        .await
        .unwrap();
    let error = windlass_store::open(&url(dir.path())).await.unwrap_err();
    assert!(error.to_string().contains("trigger \"late\""), "{error}");
    let tasks = sqlx::query("SELECT count(*) FROM task");
    let tasks: i64 = tasks.fetch_one(&mut connection).await.unwrap().get(0);
    assert_eq!(tasks, 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_is_built_in_defensive_mode() {
    let dir = tempfile::tempdir().unwrap();
    create_store(&url(dir.path())).await;
    let options = SqliteConnectOptions::new().filename(dir.path().join("windlass.db"));
    let mut connection = options.connect().await.unwrap();
    let trusted = sqlx::query("PRAGMA trusted_schema");
    let trusted: i64 = trusted.fetch_one(&mut connection).await.unwrap().get(0);
    assert_eq!(trusted, 0);
    let edit =
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'x' WHERE name = 'task'";
    let edited = sqlx::raw_sql(edit).execute(&mut connection).await;
    let error = edited.unwrap_err().to_string();
    assert!(error.contains("may not be modified"), "{error}");
}

mod real_postgres {
    use super::*;

    const CHANGES: [(&str, &str); 8] = [
        (
            "CREATE FUNCTION public.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; \
             CREATE TRIGGER answer BEFORE INSERT ON windlass.approval FOR EACH ROW EXECUTE FUNCTION public.f()",
            "trigger \"approval.answer\"",
        ),
        (
            "CREATE RULE r AS ON INSERT TO windlass.approval DO ALSO NOTIFY other",
            "rule \"approval.r\"",
        ),
        (
            "CREATE FUNCTION windlass.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "function \"f\"",
        ),
        ("CREATE TABLE windlass.more (a int)", "\"more"),
        ("CREATE VIEW windlass.v AS SELECT 1 AS a", "\"v"),
        (
            "CREATE TABLE public.child () INHERITS (windlass.task)",
            "child \"public.child\"",
        ),
        (
            "ALTER TABLE windlass.approval ALTER COLUMN chosen SET DEFAULT 'allow_once'",
            "column \"approval.chosen\" is not as",
        ),
        ("DROP INDEX windlass.task_next", "is missing"),
    ];

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn p20_changed_schema_is_refused_and_named() {
        let cluster = Cluster::shared();
        for (change, named) in CHANGES {
            let database = cluster.database().await;
            create_store(&cluster.url(&database)).await;
            let mut connection = cluster.connect(&database).await;
            sqlx::raw_sql(change)
                .execute(&mut connection)
                .await
                .unwrap();
            let error = windlass_store::open(&cluster.url(&database)).await;
            let error = error.unwrap_err().to_string();
            assert!(error.contains(named), "{change}: {error}");
        }
    }

    /// `UPDATE_EXPECT=1` writes the file.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn stored_objects_are_those_of_the_migrations() {
        let cluster = Cluster::shared();
        let database = cluster.database().await;
        let mut connection = cluster.connect(&database).await;
        for batch in [
            "CREATE SCHEMA windlass; SET search_path TO windlass; \
             CREATE TABLE windlass_schema (version BIGINT NOT NULL PRIMARY KEY, at BIGINT NOT NULL)",
            include_str!("../../migrations/postgres/0001_tasks.sql"),
            include_str!("../../migrations/postgres/0002_attempt_error.sql"),
            include_str!("../../migrations/postgres/0003_leases.sql"),
            include_str!("../../migrations/postgres/0004_access.sql"),
            include_str!("../../migrations/postgres/0005_proof.sql"),
            include_str!("../../migrations/postgres/0006_steering.sql"),
            include_str!("../../migrations/postgres/0007_publishing.sql"),
            include_str!("../../migrations/postgres/0008_landings.sql"),
            include_str!("../../migrations/postgres/0009_reviews.sql"),
            include_str!("../../migrations/postgres/0010_stack.sql"),
            include_str!("../../migrations/postgres/0011_agent_settings.sql"),
            include_str!("../../migrations/postgres/0012_depended_on.sql"),
            include_str!("../../migrations/postgres/0013_model_call.sql"),
            include_str!("../../migrations/postgres/0014_checkouts.sql"),
            include_str!("../../migrations/postgres/0015_audit.sql"),
            include_str!("../../migrations/postgres/0016_workers.sql"),
            include_str!("../../migrations/postgres/0017_account_limit.sql"),
            include_str!("../../migrations/postgres/0018_rolling.sql"),
        ] {
            sqlx::raw_sql(batch).execute(&mut connection).await.unwrap();
        }
        let objects = sqlx::query(include_str!("../../src/schema/postgres_objects.sql"));
        let mut text = String::new();
        for row in objects.fetch_all(&mut connection).await.unwrap() {
            let cells: [String; 3] = std::array::from_fn(|at| row.get(at));
            text.push_str(&format!("{}\n", cells.join("\t")));
        }
        expect_test::expect_file!["../../migrations/postgres/objects.tsv"].assert_eq(&text);
    }
}
