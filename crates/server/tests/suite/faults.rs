//! A store in trouble, and a handler that breaks.

use serde_json::json;
use windlass_core::task::StoreError;

use super::store::Fault;
use super::world::World;

#[tokio::test]
async fn a_store_in_trouble_is_said_in_its_own_status() {
    let world = World::new().await;
    let secret = "/home/me/tasks.db";
    let slow = StoreError::Timeout {
        what: "adding tasks",
        after: std::time::Duration::from_secs(5),
    };
    let faults = [
        (
            StoreError::Full(format!("no room for {secret}")),
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
    for (fault, status, code, again) in faults {
        world.store.fail(Some(Fault::Answer(fault)));
        let replies = [
            world.post("/tasks", &json!({"title": "a"})).await,
            world.get("/tasks").await,
            world.get("/events").await,
        ];
        for reply in replies {
            assert_eq!(
                (reply.status, reply.code().as_str()),
                (status, code),
                "{reply:?}"
            );
            assert_eq!(reply.header("retry-after"), again);
            assert!(!reply.body.contains(secret), "for the log alone: {reply:?}");
        }
        let health = world.get("/health").await;
        assert_eq!(health.status, 503);
        assert_eq!(health.json()["store"]["ok"], false);
        assert!(!health.body.contains(secret), "{health:?}");
    }
    world.store.fail(None);
    assert_eq!(
        world.post("/tasks", &json!({"title": "a"})).await.status,
        201
    );
    assert_eq!(world.get("/health").await.json()["status"], "ok");
}

#[tokio::test]
async fn a_handler_that_breaks_tells_its_number_and_nothing_else() {
    let world = World::new().await;
    world.store.fail(Some(Fault::Panic));
    let reply = world.get("/projects").await;
    world.store.fail(None);
    assert_eq!((reply.status, reply.code().as_str()), (500, "internal"));
    assert!(!reply.body.contains("secret"), "{reply:?}");
    let id = reply.json()["error"]["id"].as_str().unwrap().to_owned();
    assert_eq!(reply.header("x-request-id"), Some(id.as_str()));
    assert_eq!(world.get("/projects").await.status, 200);
}

#[tokio::test]
async fn what_the_desk_says_goes_where_it_belongs() {
    let world = World::new().await;
    for title in ["a", "b", "c"] {
        world.add(title).await;
    }
    let merged = world.post("/tasks/1/merge", &json!({})).await;
    assert_eq!(
        (merged.status, merged.json()),
        (200, json!({"status": "nothing"}))
    );
    let refused = world.post("/tasks/2/merge", &json!({})).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "conflict"));
    assert!(refused.body.contains("your edits would be lost"));
    let broken = world.post("/tasks/3/merge", &json!({})).await;
    assert_eq!(broken.status, 500);
    assert!(!broken.body.contains("secret"), "{broken:?}");
}
