//! Reviews over the API: scopes, versions, places of comments, events.

use serde_json::{Value, json};
use windlass_core::Usage;
use windlass_tasks::{Leases, NewProject, Outcome, Projects, Scope};

use super::full_run::claim;
use super::harness::Harness;

/// Completes an attempt at the task with the lowest number.
async fn complete(harness: &Harness) {
    let attempt = claim(harness).await;
    let done = Outcome::Completed {
        proof: None,
        branch: None,
        output: "sold".to_owned(),
    };
    let finished = harness.store.finish(attempt, done, Usage::default());
    finished.await.unwrap();
}

async fn with_completed_task() -> Harness {
    let harness = Harness::new().await;
    harness.add("sell tea").await;
    complete(&harness).await;
    harness
}

fn review(attempt: u32, decision: &str) -> Value {
    json!({"attempt": attempt, "decision": decision, "text": "Use new()."})
}

#[tokio::test]
async fn comments_are_on_lines_of_the_diff() {
    let harness = with_completed_task().await;
    let hostile = "```\n{{task}}\u{1b}[31m\u{202e}";
    let mut body = review(1, "request_changes");
    body["comments"] = json!([
        {"path": "src/lib.rs", "line": 1, "side": "old", "text": hostile},
        {"path": "src/lib.rs", "line": 2, "text": "context"},
        {"path": "src/lib.rs", "text": "the file"},
    ]);
    let reviewed = harness.post("/tasks/1/reviews", &body).await;
    assert_eq!(reviewed.status, 200, "{reviewed:?}");
    let reviewed = reviewed.json();
    assert_eq!(reviewed["task"]["status"], "pending", "{reviewed}");
    assert_eq!(reviewed["task"]["review"], "request_changes");
    let stored = &reviewed["review"];
    assert_eq!(stored["author"], "owner");
    assert_eq!(stored["author_kind"], "person");
    let comments = &stored["comments"];
    assert_eq!(comments[0]["quote"], "fn old() {}");
    assert_eq!(comments[0]["text"], hostile);
    assert_eq!(comments[1]["quote"], "// end");
    assert_eq!(comments[2]["line"], json!(null));
    // The response may have been lost.
    let again = harness.post("/tasks/1/reviews", &body).await.json();
    assert_eq!(again["review"], *stored);
    let all = harness.get("/tasks/1/reviews").await.json();
    assert_eq!(all, json!([stored]));
    let events = harness.get("/tasks/1/events").await.json().to_string();
    assert!(
        events.contains("owner requested changes of version 1"),
        "{events}"
    );
}

#[tokio::test]
async fn misplaced_comments_and_old_versions_are_refused() {
    let harness = with_completed_task().await;
    for (comment, why) in [
        (
            json!({"path": "src/lib.rs", "line": 9, "text": "x"}),
            "line 9 of src/lib.rs",
        ),
        (
            json!({"path": "../x", "line": 1, "text": "x"}),
            "does not contain ../x",
        ),
        (
            json!({"path": "src/lib.rs", "line": 1, "side": "left", "text": "x"}),
            "left",
        ),
        (
            json!({"path": "src/lib.rs", "line": 1, "text": ""}),
            "empty",
        ),
    ] {
        let mut body = review(1, "comment");
        body["comments"] = json!([comment]);
        let refused = harness.post("/tasks/1/reviews", &body).await;
        assert!([400, 409].contains(&refused.status), "{refused:?}");
        assert!(refused.body.contains(why), "{refused:?}");
    }
    harness.post("/tasks/1/retry", &json!({})).await;
    complete(&harness).await;
    for decision in ["comment", "request_changes", "approve"] {
        let late = harness.post("/tasks/1/reviews", &review(1, decision)).await;
        assert_eq!(late.status, 409, "{late:?}");
        assert!(late.body.contains("look at version 2"), "{late:?}");
    }
    assert_eq!(harness.get("/tasks/1/reviews").await.json(), json!([]));
    let approved = harness
        .post("/tasks/1/reviews", &review(2, "approve"))
        .await;
    assert_eq!(approved.json()["task"]["review"], "approve", "{approved:?}");
}

#[tokio::test]
async fn decisions_need_the_scope_approve() {
    let harness = with_completed_task().await;
    let path = "/tasks/1/reviews";
    for (scope, decision, status) in [
        (Scope::Read, "comment", 403),
        (Scope::Models, "comment", 403),
        (Scope::Work, "approve", 403),
        (Scope::Work, "request_changes", 403),
        (Scope::Work, "comment", 200),
        (Scope::Approve, "comment", 200),
        (Scope::Approve, "approve", 200),
    ] {
        let name = format!("{scope}-{decision}");
        let token = harness.create_token(&name, &[scope], None).await;
        let body = review(1, decision);
        let response = harness.send_as(&token, "POST", path, Some(&body)).await;
        assert_eq!(response.status, status, "{name}: {response:?}");
        if status == 200 {
            assert_eq!(response.json()["review"]["author"], name);
        }
    }
    let garden = NewProject {
        name: "garden".to_owned(),
        root: "/home/me/garden".into(),
    };
    let garden = harness.store.add_project(garden).await.unwrap().id;
    let other = harness
        .create_token("garden", &[Scope::Approve, Scope::Read], Some(vec![garden]))
        .await;
    let body = review(1, "approve");
    let hidden = harness.send_as(&other, "POST", path, Some(&body)).await;
    assert_eq!(hidden.status, 404, "{hidden:?}");
    let hidden = harness.send_as(&other, "GET", path, None).await;
    assert_eq!(hidden.status, 404, "{hidden:?}");
}

#[tokio::test]
async fn versions_are_compared() {
    let harness = with_completed_task().await;
    let diff = harness.get("/tasks/1/diff?from=1&to=2").await;
    assert_eq!(diff.json()["files"][0]["path"], "src/lib.rs", "{diff:?}");
    for query in ["from=1", "to=2", "from=1&to=2&attempt=1"] {
        let refused = harness.get(&format!("/tasks/1/diff?{query}")).await;
        assert_eq!(refused.status, 400, "{query}: {refused:?}");
    }
    let missing = harness.get("/tasks/1/diff?from=1&to=9").await;
    assert_eq!(missing.status, 409, "{missing:?}");
}
