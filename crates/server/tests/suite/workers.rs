//! The registered workers in the API.

use serde_json::json;
use windlass_tasks::{AuditFilter, NewProject, NewTask, Projects, Scope, TaskQueue, Workers};

use super::full_run::worker;
use super::harness::Harness;

#[tokio::test]
async fn workers_are_listed_and_drained_by_an_admin_and_logged() {
    let harness = Harness::new().await;
    let id = harness.store.register_worker(worker(None)).await.unwrap();
    let reader = harness.create_token("reader", &[Scope::Read], None).await;
    let listed = harness
        .send_as(&reader, "GET", "/workers", None)
        .await
        .json();
    assert_eq!(listed[0]["name"], "build-7/42", "{listed}");
    assert_eq!(
        (&listed[0]["state"], &listed[0]["lanes"]),
        (&json!("active"), &json!(4))
    );
    let drain = format!("/workers/{id}/drain");
    let body = json!({});
    let approver = [Scope::Read, Scope::Work, Scope::Approve];
    let approver = harness.create_token("approver", &approver, None).await;
    let refused = harness
        .send_as(&approver, "POST", &drain, Some(&body))
        .await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (403, "missing_scope")
    );

    let admin = harness
        .create_token("admin", &[Scope::Read, Scope::Admin], None)
        .await;
    let drained = harness.send_as(&admin, "POST", &drain, Some(&body)).await;
    assert_eq!(drained.status, 200, "{drained:?}");
    assert_eq!(drained.json()["state"], "draining");
    assert_eq!(harness.get("/workers").await.json()[0]["state"], "draining");
    let filter = AuditFilter {
        actor: Some("admin".to_owned()),
        limit: 1,
        ..AuditFilter::default()
    };
    let entry = harness.access.audit(filter).await.unwrap().remove(0);
    assert_eq!(entry.action, format!("POST /api/v1{drain}"));
    assert_eq!(
        (entry.subject.as_str(), entry.result.as_str()),
        ("worker \"build-7/42\"", "ok")
    );
}

#[tokio::test]
async fn workers_of_other_projects_are_not_seen() {
    let harness = Harness::new().await;
    let other = NewProject {
        name: "other".to_owned(),
        root: "/home/me/other".into(),
    };
    let other = harness.store.add_project(other).await.unwrap().id;
    let theirs = harness
        .store
        .register_worker(worker(Some(other)))
        .await
        .unwrap();
    let all = harness.store.register_worker(worker(None)).await.unwrap();
    let scopes = [Scope::Read, Scope::Admin];
    let token = harness
        .create_token("limited", &scopes, Some(vec![harness.project.id]))
        .await;
    let listed = harness
        .send_as(&token, "GET", "/workers", None)
        .await
        .json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    // A worker for all projects belongs to others too.
    for id in [theirs, all] {
        let drain = format!("/workers/{id}/drain");
        let refused = harness
            .send_as(&token, "POST", &drain, Some(&json!({})))
            .await;
        assert_eq!(refused.status, 404, "{refused:?}");
    }
}

#[tokio::test]
async fn task_that_no_worker_can_take_has_a_reason() {
    let harness = Harness::new().await;
    harness.store.register_worker(worker(None)).await.unwrap();
    let body = json!({"title": "train", "needs": ["gpu"]});
    let added = harness.post("/tasks", &body).await.json();
    assert_eq!(added["needs"], json!(["gpu"]), "{added}");
    let path = format!("/tasks/{}", added["id"]);
    let shown = harness.get(&path).await.json();
    assert_eq!(shown["waiting"], "no worker has the label gpu");
    let odd = harness
        .post("/tasks", &json!({"title": "x", "needs": ["A B"]}))
        .await;
    assert_eq!(odd.status, 400, "{odd:?}");
    let new = NewTask::new(harness.project.id, "plain");
    harness.store.enqueue(vec![new]).await.unwrap();
    let listed = harness.get("/tasks").await.json();
    assert_eq!(listed[0]["waiting"], "no worker has the label gpu");
    assert!(listed[1].get("waiting").is_none(), "{listed}");
}
