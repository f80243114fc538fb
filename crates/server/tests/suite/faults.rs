//! Errors of the store, and a handler that panics.

use serde_json::json;
use windlass_tasks::StoreError;

use super::harness::Harness;
use super::store::Fault;

#[tokio::test]
async fn store_error_has_its_own_status() {
    let harness = Harness::new().await;
    let secret = "/home/me/tasks.db";
    let slow = StoreError::Timeout {
        what: "adding tasks",
        after: std::time::Duration::from_secs(5),
    };
    let faults = [
        (
            StoreError::Full(format!("no space for {secret}")),
            507,
            "full",
            None,
        ),
        (
            StoreError::Unavailable(format!("{secret} is gone")),
            503,
            "store_unavailable",
            Some("5"),
        ),
        (slow, 503, "store_slow", Some("1")),
    ];
    for (fault, status, code, retry_after) in faults {
        harness.store.fail(Some(Fault::Error(fault)));
        let responses = [
            harness.post("/tasks", &json!({"title": "a"})).await,
            harness.get("/tasks").await,
            harness.get("/events").await,
        ];
        for response in responses {
            assert_eq!(
                (response.status, response.code().as_str()),
                (status, code),
                "{response:?}"
            );
            assert_eq!(response.header("retry-after"), retry_after);
            assert!(
                !response.body.contains(secret),
                "only for the log: {response:?}"
            );
        }
        let health = harness.get("/health").await;
        assert_eq!(health.status, 503);
        assert_eq!(health.json()["store"]["ok"], false);
        assert!(!health.body.contains(secret), "{health:?}");
    }
    harness.store.fail(None);
    assert_eq!(
        harness.post("/tasks", &json!({"title": "a"})).await.status,
        201
    );
    assert_eq!(harness.get("/health").await.json()["status"], "ok");
}

#[tokio::test]
async fn panicking_handler_returns_only_the_request_id() {
    let harness = Harness::new().await;
    harness.store.fail(Some(Fault::Panic));
    let response = harness.get("/projects").await;
    harness.store.fail(None);
    assert_eq!(
        (response.status, response.code().as_str()),
        (500, "internal")
    );
    assert!(!response.body.contains("secret"), "{response:?}");
    let id = response.json()["error"]["id"].as_str().unwrap().to_owned();
    assert_eq!(response.header("x-request-id"), Some(id.as_str()));
    assert_eq!(harness.get("/projects").await.status, 200);
}

#[tokio::test]
async fn host_operation_errors_are_reported_or_logged() {
    let harness = Harness::new().await;
    for title in ["a", "b", "c"] {
        harness.add(title).await;
    }
    let merged = harness.post("/tasks/1/merge", &json!({})).await;
    assert_eq!(
        (merged.status, merged.json()),
        (200, json!({"status": "nothing"}))
    );
    let rejected = harness.post("/tasks/2/merge", &json!({})).await;
    assert_eq!(
        (rejected.status, rejected.code().as_str()),
        (409, "conflict")
    );
    assert!(rejected.body.contains("your edits would be lost"));
    let broken = harness.post("/tasks/3/merge", &json!({})).await;
    assert_eq!(broken.status, 500);
    assert!(!broken.body.contains("secret"), "{broken:?}");
}
