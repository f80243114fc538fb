//! `windlass token`: tokens with scopes, from the command line to a running server.

use serde_json::{Value, json};

use super::serve_harness::ServeProcess;
use super::task_harness::{INSTANT, TaskHarness};

/// Creates a token and returns its secret.
fn create(harness: &TaskHarness, args: &[&str]) -> String {
    let run = harness.run(&[&["token", "create"], args].concat());
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!run.stderr.contains(run.stdout.trim()), "{run:?}");
    run.stdout.trim().to_owned()
}

/// Sends a request with another token.
fn request(serving: &mut ServeProcess, token: &str, method: &str, path: &str) -> (u16, Value) {
    let own = std::mem::replace(&mut serving.token, token.to_owned());
    let response = serving.request(method, path, Some(&json!({"title": "Do it"})));
    serving.token = own;
    response
}

#[test]
fn p22_token_allows_exactly_its_scopes() {
    let harness = TaskHarness::new("true", INSTANT);
    let mut serving = ServeProcess::start(&harness, &["--no-worker"]);
    // This is what a program that only adds tasks may have, such as an agent.
    let worker = create(
        &harness,
        &["adder", "--scope", "read,work", "--expires", "1h"],
    );
    let models = create(
        &harness,
        &["models", "--scope", "models", "--project", "project"],
    );
    for (token, method, path, status) in [
        (&worker, "POST", "/api/v1/tasks", 201),
        (&worker, "GET", "/api/v1/tasks/1", 200),
        (&worker, "POST", "/api/v1/tasks/1/merge", 403),
        (&worker, "POST", "/api/v1/tasks/1/cancel", 403),
        (&worker, "GET", "/api/v1/tokens", 403),
        (&worker, "GET", "/v1/models", 403),
        (&models, "GET", "/v1/models", 200),
        (&models, "GET", "/api/tags", 200),
        (&models, "GET", "/api/v1/tasks/1", 403),
    ] {
        let (found, body) = request(&mut serving, token, method, path);
        assert_eq!(found, status, "{method} {path}: {body}");
    }
    let listed = harness.json(&["token", "list", "--json"]);
    let names: Vec<&Value> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|token| &token["name"])
        .collect();
    assert_eq!(names, ["adder", "models"], "{listed}");
    assert_eq!(listed[1]["projects"], json!([1]));
    assert!(!listed.to_string().contains(&worker), "{listed}");
    // A copy of the store does not contain the secret.
    let mut store = std::fs::read(harness.path("tasks.db")).unwrap();
    store.extend(std::fs::read(harness.path("tasks.db-wal")).unwrap());
    let contains = |text: &str| {
        store
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    assert!(contains("adder") && !contains(&worker));

    let revoked = harness.run(&["token", "revoke", "adder"]);
    assert_eq!(
        (revoked.code, revoked.stdout.trim()),
        (0, "revoked token 1: adder")
    );
    // The server reads the store again within a second.
    while request(&mut serving, &worker, "GET", "/api/v1/tasks").0 == 200 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let (status, body) = request(&mut serving, &worker, "GET", "/api/v1/tasks");
    assert_eq!(status, 401, "{body}");
    let table = harness.run(&["token", "list", "--all"]).stdout;
    assert!(
        table.contains("revoked") && table.contains("valid"),
        "{table}"
    );
}

#[test]
fn invalid_token_arguments_are_one_sentence() {
    let harness = TaskHarness::new("true", INSTANT);
    for (args, message) in [
        (&["create", "a"][..], "--scope"),
        (
            &["create", "a", "--scope", "write"],
            "expected one of read, work, approve, admin, models",
        ),
        (
            &["create", "a", "--scope", "read", "--expires", "soon"],
            "such as 30m, 12h or 30d",
        ),
        (
            &["create", "a", "--scope", "read", "--project", "x"],
            "there is no project \"x\"",
        ),
        (&["create", "", "--scope", "read"], "a token needs a name"),
        (&["revoke", "x"], "there is no token \"x\""),
    ] {
        let run = harness.run(&[&["token"], args].concat());
        assert_eq!(run.code, 2, "{args:?}: {run:?}");
        assert!(run.stderr.contains(message), "{args:?}: {run:?}");
    }
    let none = harness.run(&["token", "list"]);
    assert!(none.stdout.starts_with("no tokens"), "{none:?}");
    create(&harness, &["a", "--scope", "read"]);
    let again = harness.run(&["token", "create", "a", "--scope", "read"]);
    assert!(again.stderr.contains("already named \"a\""), "{again:?}");
}
