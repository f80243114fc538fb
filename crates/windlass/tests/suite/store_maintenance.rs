//! `windlass store backup`, `restore`, `check`, `prune` and `move --to`, and `windlass audit`.

use std::path::PathBuf;

use serde_json::Value;

use super::serve_harness::ServeProcess;
use super::task_harness::{INSTANT, TaskHarness};

#[test]
fn store_is_backed_up_restored_checked_and_pruned() {
    let harness = TaskHarness::new("true", INSTANT);
    harness.json(&["task", "add", "Do it", "--json"]);
    let done = harness.run(&["worker", "--once"]);
    assert_eq!(done.code, 0, "{done:?}");
    // A server uses the store meanwhile.
    let serving = ServeProcess::start(&harness, &["--no-worker"]);
    let file = harness.path("store.backup");
    let file = file.to_str().unwrap();
    let saved = harness.json(&["store", "backup", file, "--json"]);
    assert_eq!(saved["task"]["rows"], 1, "{saved}");
    let again = harness.run(&["store", "backup", file]);
    assert_eq!(again.code, 2, "{again:?}");
    assert!(again.stderr.contains("exists"), "{again:?}");
    let target = format!("sqlite:{}", harness.path("restored.db").display());
    let restored = harness.json(&["store", "restore", file, "--to", &target, "--json"]);
    assert_eq!(restored, saved);
    let twice = harness.run(&["store", "restore", file, "--to", &target]);
    assert_eq!(twice.code, 2, "{twice:?}");
    let checked = harness.run(&["store", "check"]);
    assert_eq!(
        (checked.code, checked.stdout.as_str()),
        (0, "the store is consistent\n")
    );
    let nothing = harness.run(&["store", "prune"]);
    assert_eq!(nothing.code, 2, "{nothing:?}");
    let pruned = harness.json(&["store", "prune", "--traces", "1d", "--json"]);
    assert_eq!(
        pruned,
        serde_json::json!({"events": 0, "traces": 0, "audit": 0})
    );

    // It cannot be moved while the server uses it.
    let elsewhere = format!("sqlite:{}", harness.path("elsewhere.db").display());
    let used = harness.run(&["store", "move", "--to", &elsewhere]);
    assert_eq!(used.code, 2, "{used:?}");
    assert!(used.stderr.contains("used by another process"), "{used:?}");
    drop(serving);
    let old = harness.path("tasks.db");
    assert!(old.exists(), "{old:?}");
    let moved = harness.json(&["store", "move", "--to", &elsewhere, "--json"]);
    assert_eq!(moved["tables"]["task"]["rows"], 1, "{moved}");
    assert!(!old.exists() && PathBuf::from(moved["kept"].as_str().unwrap()).exists());
}

#[test]
fn audit_lists_commands_and_requests() {
    let harness = TaskHarness::new("true", INSTANT);
    let created = harness.run(&["token", "create", "ann", "--scope", "read,work"]);
    assert_eq!(created.code, 0, "{created:?}");
    let mut serving = ServeProcess::start(&harness, &["--no-worker"]);
    serving.token = created.stdout.trim().to_owned();
    let body = serde_json::json!({"title": "Do it"});
    assert_eq!(serving.request("POST", "/api/v1/tasks", Some(&body)).0, 201);
    assert_eq!(
        serving.request("POST", "/api/v1/tasks/1/cancel", None).0,
        403
    );
    let entries = harness.json(&["audit", "--json"]);
    let lines: Vec<String> = entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let text = |key: &str| entry[key].as_str().unwrap().to_owned();
            format!(
                "{} {} {} {}",
                text("source"),
                text("action"),
                text("subject"),
                text("result")
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            "127.0.0.1 POST /api/v1/tasks/1/cancel  missing_scope",
            "127.0.0.1 POST /api/v1/tasks task 1 ok",
            "cli token create token \"ann\" ok",
        ]
    );
    let own = harness.json(&["audit", "--actor", "ann", "--limit", "1", "--json"]);
    assert_eq!(own.as_array().map(Vec::len), Some(1), "{own}");
    assert_eq!(own[0]["actor"], Value::from("ann"));
    let table = harness.run(&["audit"]);
    assert!(
        table.stdout.contains("POST /api/v1/tasks (task 1)"),
        "{table:?}"
    );
}
