//! Where tasks are stored: never in a file that a repository brings along.

use std::path::{Path, PathBuf};

use serde_json::json;
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use windlass_tasks::{NewProject, NewTask};

use super::task_harness::{INSTANT, TaskHarness};

fn run<F: Future>(test: F) -> F::Output {
    tokio::runtime::Runtime::new().unwrap().block_on(test)
}

/// Returns a project whose configuration names no store.
fn harness() -> TaskHarness {
    let harness = TaskHarness::new("test -f done.txt", INSTANT);
    let script = harness.path("script.json");
    let config = format!(
        "default_agent = \"player\"\n[agents.player]\nbackend = \"mock\"\nscript = {script:?}\n\
         [tests]\ncommand = [\"sh\", \"-c\", \"test -f done.txt\"]\n"
    );
    std::fs::write(harness.path("named.toml"), config).unwrap();
    harness
}

fn old_file(harness: &TaskHarness) -> PathBuf {
    harness.project().join(".windlass/windlass.db")
}

/// Creates a store of an earlier version in the project, with one task of the project at `root`.
fn create_old_store(harness: &TaskHarness, root: &Path) {
    std::fs::create_dir(harness.project().join(".windlass")).unwrap();
    let url = format!("sqlite:{}", old_file(harness).display());
    run(async {
        let store = windlass_store::open(&url).await.unwrap();
        let project = NewProject {
            name: "project".to_owned(),
            root: root.to_owned(),
        };
        let project = store.add_project(project).await.unwrap().id;
        let new = vec![NewTask::new(project, "from the old store")];
        store.enqueue(new).await.unwrap();
    });
    // Writes the log back into the file.
    execute(harness, "PRAGMA wal_checkpoint(TRUNCATE)");
}

/// Runs SQL on the old store.
fn execute(harness: &TaskHarness, sql: &'static str) {
    run(async {
        let options = SqliteConnectOptions::new().filename(old_file(harness));
        let mut connection = options.connect().await.unwrap();
        sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
        sqlx::Connection::close(connection).await.unwrap();
    });
}

const TRIGGERS: &str = "\
CREATE TRIGGER add_task AFTER INSERT ON project BEGIN
  INSERT INTO task (project_id, title, description, status, priority, workflow_step, kind, max_attempts, created_at, updated_at)
  VALUES (new.id, 'hostile', 'hostile', 'pending', 1, 1, 'backend', 3, 0, 0); END;
CREATE TRIGGER answer AFTER INSERT ON approval BEGIN
  UPDATE approval SET chosen = 'allow_once', decided_at = 1 WHERE id = new.id; END;";

#[test]
fn p20_p25_committed_store_starts_no_agent_and_decides_nothing() {
    for triggers in [true, false] {
        let harness = harness();
        // Without triggers, the attacker has guessed where the victim clones to.
        create_old_store(&harness, &harness.project().canonicalize().unwrap());
        if triggers {
            execute(&harness, TRIGGERS);
        }
        harness.git(&["add", "-f", ".windlass/windlass.db"]);
        harness.git(&["commit", "-q", "-m", "Add a store"]);
        let before = std::fs::read(old_file(&harness)).unwrap();

        let worker = harness.run(&["worker", "--once", "--json"]);
        assert_eq!(worker.code, 0, "{worker:?}");
        let report: serde_json::Value = serde_json::from_str(&worker.stdout).unwrap();
        let counts = report.as_object().unwrap().values();
        let is_nothing = |value: &serde_json::Value| *value == 0 || *value == json!([]);
        assert!(counts.into_iter().all(is_nothing), "{report}");
        assert!(
            worker.stderr.contains("is ignored: it is tracked by git"),
            "{worker:?}"
        );
        assert_eq!(harness.json(&["task", "list", "--json"]), json!([]));
        assert_eq!(harness.json(&["approvals", "--all", "--json"]), json!([]));
        assert_eq!(harness.git(&["branch", "--list", "windlass/*"]), "");
        assert!(
            before == std::fs::read(old_file(&harness)).unwrap(),
            "it was written to"
        );
        assert!(!harness.project().join(".windlass/windlass.db-shm").exists());

        let moved = harness.run(&["store", "move", "--yes"]);
        assert_eq!(moved.code, 2, "{moved:?}");
    }
}

#[test]
fn p20_committed_store_is_refused_where_the_configuration_names_it() {
    let harness = harness();
    create_old_store(&harness, &harness.project().canonicalize().unwrap());
    harness.git(&["add", "-f", ".windlass/windlass.db"]);
    harness.git(&["commit", "-q", "-m", "Add a store"]);
    harness.configure("sqlite:.windlass/windlass.db", "true");
    let refused = harness.run(&["worker", "--once"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.error().contains("is tracked by git"), "{refused:?}");
    // Removing it from the index does not make it the user's own.
    harness.git(&["rm", "-q", "--cached", ".windlass/windlass.db"]);
    assert_eq!(harness.run(&["task", "list"]).code, 2);
}

#[test]
fn p10_store_of_an_earlier_version_is_moved_once() {
    let harness = harness();
    create_old_store(&harness, &harness.project().canonicalize().unwrap());
    let asked = harness.run(&["task", "list"]);
    assert_eq!(asked.code, 2, "{asked:?}");
    assert!(
        asked.error().contains("run windlass store move"),
        "{asked:?}"
    );
    assert!(old_file(&harness).exists());

    let moved = harness.run(&["store", "move", "--yes"]);
    assert_eq!(moved.code, 0, "{moved:?}");
    assert!(moved.stderr.contains("1 open tasks"), "{moved:?}");
    assert!(!old_file(&harness).parent().unwrap().exists());
    let tasks = harness.json(&["task", "list", "--json"]);
    assert_eq!(tasks[0]["title"], "from the old store", "{tasks}");
    let path = harness.run(&["store", "path"]).stdout;
    assert!(Path::new(path.trim()).starts_with(harness.home()), "{path}");

    let again = harness.run(&["store", "move", "--yes"]);
    assert_eq!(again.code, 2);
    assert!(again.error().contains("nothing to move"), "{again:?}");
    // A file that appears later is ignored.
    create_old_store(&harness, &harness.project().canonicalize().unwrap());
    let listed = harness.run(&["task", "list"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    assert!(
        listed.stderr.contains("is ignored: the tasks"),
        "{listed:?}"
    );
}

#[test]
fn p20_untracked_store_with_triggers_or_of_another_directory_is_not_moved() {
    let harness = harness();
    create_old_store(&harness, Path::new("/home/attacker/project"));
    let other = harness.run(&["store", "move", "--yes"]);
    assert_eq!(other.code, 2, "{other:?}");
    assert!(
        other.error().contains("/home/attacker/project"),
        "{other:?}"
    );
    execute(&harness, TRIGGERS);
    let hostile = harness.run(&["store", "move", "--yes"]);
    assert_eq!(hostile.code, 1, "{hostile:?}");
    assert!(
        hostile.error().contains("trigger \"add_task\""),
        "{hostile:?}"
    );
    assert!(old_file(&harness).exists());
    let state = harness.home().join(".local/state/windlass/projects");
    for project in std::fs::read_dir(state).unwrap() {
        let project = project.unwrap().path();
        assert_eq!(
            std::fs::read_dir(&project).unwrap().count(),
            0,
            "{project:?}"
        );
    }
}

#[test]
fn store_in_use_is_not_moved() {
    let harness = harness();
    create_old_store(&harness, &harness.project().canonicalize().unwrap());
    run(async {
        let url = format!("sqlite:{}", old_file(&harness).display());
        let store = windlass_store::open(&url).await.unwrap();
        let refused = harness.run(&["store", "move", "--yes"]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.error().contains("stop the workers"), "{refused:?}");
        drop(store);
    });
    assert!(old_file(&harness).exists());
}
