//! `windlass store prune --refs` and `--mirrors`, with a real remote and two machines.

use serde_json::{Value, json};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use super::remote_project::Machines;

/// Every ref of the remote that keeps something.
const KEPT: &str = "refs/windlass/";

/// Makes all tasks as old as if they had ended long ago.
fn age_tasks(machines: &Machines) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let path = machines.harness.path("tasks.db");
        let mut connection = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
        let text = "UPDATE task SET updated_at = 1000, completed_at = CASE WHEN completed_at IS NULL THEN NULL ELSE 1000 END";
        sqlx::raw_sql(text).execute(&mut connection).await.unwrap();
    });
}

fn prune(machines: &Machines, flags: &[&str]) -> Value {
    let args = [&["store", "prune", "--json"], flags].concat();
    machines.json(&args)
}

fn reasons(pruned: &Value) -> Vec<(&str, bool)> {
    let refs = pruned["refs"].as_array().unwrap().iter();
    refs.map(|one| (one["reason"].as_str().unwrap(), one["remote"].is_string()))
        .collect()
}

#[test]
fn kept_changes_go_when_they_are_merged_and_not_before() {
    let machines = Machines::new();
    machines.work();
    let kept = machines.there("refs/windlass/*/task-1/attempt-1");
    assert!(!kept.is_empty());

    // A young task, and one whose change is on no branch, keep theirs.
    assert_eq!(prune(&machines, &["--refs", "1d"])["refs"], json!([]));
    age_tasks(&machines);
    assert_eq!(prune(&machines, &["--refs", "1d"])["refs"], json!([]));
    let asked = prune(&machines, &["--refs", "1d", "--unmerged", "--dry-run"]);
    assert!(reasons(&asked).contains(&("unmerged", true)), "{asked}");
    assert_eq!(machines.there("refs/windlass/*/task-1/attempt-1"), kept);

    // Merged and pushed, it is on the remote's branch.
    let merged = machines.harness.run(&["task", "merge", "1", "--accept"]);
    assert_eq!(merged.code, 0, "{merged:?}");
    age_tasks(&machines);
    let local = prune(&machines, &["--refs", "1d"]);
    assert_eq!(local["refs"], json!([]), "the remote does not have it yet");
    machines
        .harness
        .git(&["push", "-q", &machines.url(), "main"]);
    let asked = prune(&machines, &["--refs", "1d", "--dry-run"]);
    assert!(reasons(&asked).contains(&("landed", true)), "{asked}");
    assert_eq!(
        machines.there("refs/windlass/*/task-1/attempt-1"),
        kept,
        "a dry run"
    );
    let pruned = prune(&machines, &["--refs", "1d"]);
    assert_eq!(reasons(&pruned), reasons(&asked));
    assert_eq!(machines.there(KEPT), "");
    assert_ne!(
        machines.there(&machines.branch()),
        "",
        "branches are the user's"
    );
    assert_eq!(prune(&machines, &["--refs", "1d"])["refs"], json!([]));
    let shown = machines.harness.run(&["task", "diff", "1"]);
    assert!(shown.stdout.contains("+done"), "{shown:?}");
}

#[test]
fn refs_that_are_not_known_or_still_needed_stay() {
    let machines = Machines::new();
    machines.work();
    let kept = machines.there("refs/windlass/*/task-1/attempt-1");
    let store = machines.branch().split('/').nth(3).unwrap().to_owned();
    let strange = [
        format!("refs/windlass/{store}/task-99/attempt-1"),
        format!("refs/windlass/{store}/other"),
        "refs/windlass/00000000/task-1/attempt-1".to_owned(),
    ];
    for name in &strange {
        machines
            .harness
            .git(&["--git-dir", &machines.url(), "update-ref", name, &kept]);
    }
    // Another task depends on the first one.
    machines.json(&["task", "add", "More", "--after", "1", "--json"]);
    age_tasks(&machines);
    let all = ["--refs", "1d", "--unmerged"];
    assert_eq!(prune(&machines, &all)["refs"], json!([]));
    machines.harness.run(&["task", "cancel", "2"]);
    age_tasks(&machines);
    let pruned = prune(&machines, &all);
    assert!(reasons(&pruned).contains(&("unmerged", true)), "{pruned}");
    assert_eq!(
        machines.there("refs/windlass/*/task-1/attempt-1"),
        kept,
        "of another store"
    );
    for name in &strange {
        assert_eq!(machines.there(name), kept, "{name}");
    }
}

#[test]
fn remote_that_cannot_be_reached_is_named_and_fails() {
    let machines = Machines::new();
    machines.work();
    age_tasks(&machines);
    let moved = machines.harness.path("moved.git");
    std::fs::rename(&machines.bare, &moved).unwrap();
    let failed = machines.harness.run(&["store", "prune", "--refs", "1d"]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.stderr.contains("project "), "{failed:?}");
}

#[test]
fn unused_mirrors_are_deleted_and_fetched_again() {
    let machines = Machines::new();
    machines.work();
    let elsewhere = |args: &[&str]| {
        let run = machines.elsewhere(&[&["store", "prune", "--json"], args].concat());
        assert_eq!(run.code, 0, "{run:?}");
        let pruned: Value = serde_json::from_str(&run.stdout).unwrap();
        pruned["mirrors"].as_array().unwrap().len()
    };
    assert_eq!(elsewhere(&["--mirrors", "1d"]), 0, "it was used just now");
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(elsewhere(&["--mirrors", "1s", "--dry-run"]), 1);
    machines.json(&["task", "add", "Again", "--json"]);
    assert_eq!(elsewhere(&["--mirrors", "1s"]), 0, "a task waits");
    machines.harness.run(&["task", "cancel", "2"]);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(elsewhere(&["--mirrors", "1s"]), 1);
    assert_eq!(elsewhere(&["--mirrors", "1s"]), 0, "it is gone");
    machines.json(&["task", "add", "Third", "--json"]);
    let worker = machines.elsewhere(&["worker", "--all", "--once"]);
    assert_eq!(worker.code, 0, "{worker:?}");
    let third = machines.json(&["task", "show", "3", "--json"]);
    assert_eq!(third["task"]["status"], "completed", "{third}");
}
