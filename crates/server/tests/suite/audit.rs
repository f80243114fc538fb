//! The audit log, and two servers on one store.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::Instant;
use windlass_server::ServerLimits;
use windlass_tasks::{AuditEntry, AuditFilter, MAX_AUDIT_PAGE, Scope, TaskFilter, TaskQueue};

use super::client::{Request, raw};
use super::full_run::run_full_task;
use super::harness::{Harness, serve};
use super::store::FaultyStore;
use super::ws::open_with;

/// Returns the whole log, oldest first.
async fn log(harness: &Harness) -> Vec<AuditEntry> {
    let filter = AuditFilter {
        limit: MAX_AUDIT_PAGE,
        ..AuditFilter::default()
    };
    let mut entries = harness.access.audit(filter).await.unwrap();
    entries.reverse();
    entries
}

/// Returns who did what to what, and the result.
fn line(entry: &AuditEntry) -> String {
    format!(
        "{} | {} | {} | {}",
        entry.actor, entry.action, entry.subject, entry.result
    )
}

#[tokio::test]
async fn p22_read_token_is_refused_every_change() {
    let harness = Harness::new().await;
    run_full_task(&harness).await;
    let token = harness.create_token("reader", &[Scope::Read], None).await;
    let tasks = harness.store.tasks(TaskFilter::default()).await.unwrap();
    let document = harness.get("/openapi.json").await.json();
    let mut expected = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            // Signing in and out changes nothing but the caller's own session.
            if method == "get" || path == "/session" {
                continue;
            }
            let body = match path.as_str() {
                "/tasks/{id}/reviews" => json!({"attempt": 1, "text": "looks good"}),
                _ => json!({}),
            };
            let (path, method) = (path.replace("{id}", "1"), method.to_uppercase());
            let response = harness.send_as(&token, &method, &path, Some(&body)).await;
            assert_eq!(response.status, 403, "{method} {path}: {response:?}");
            assert_eq!(response.code(), "missing_scope", "{response:?}");
            expected.push(format!(
                "reader | {method} /api/v1{path} |  | missing_scope"
            ));
        }
    }
    assert!(expected.len() > 20, "{expected:?}");
    let mut entries = log(&harness).await;
    entries.retain(|entry| entry.actor == "reader");
    let lines: Vec<String> = entries.iter().map(line).collect();
    assert_eq!(lines, expected);
    let after = harness.store.tasks(TaskFilter::default()).await.unwrap();
    assert_eq!(after, tasks);
}

#[tokio::test]
async fn audit_log_has_changes_logins_and_refusals() {
    let harness = Harness::new().await;
    let token = harness
        .create_token("ann", &[Scope::Read, Scope::Work], None)
        .await;
    let login = harness.post("/session", &json!({"token": token})).await;
    assert_eq!(login.status, 204, "{login:?}");
    let wrong = harness
        .post("/session", &json!({"token": "wl_guess"}))
        .await;
    assert_eq!(wrong.status, 401, "{wrong:?}");
    let added = harness
        .send_as(&token, "POST", "/tasks", Some(&json!({"title": "tea"})))
        .await;
    let request = added.header("x-request-id").unwrap().to_owned();
    harness
        .send_as(&token, "POST", "/tasks/1/merge", Some(&json!({})))
        .await;
    let bulk = json!({"ids": [1, 7], "action": "pause"});
    harness
        .send_as(&token, "POST", "/tasks/bulk", Some(&bulk))
        .await;
    // A read, and a tool that reads, are not recorded.
    harness.send_as(&token, "GET", "/tasks", None).await;
    harness.call(&token, "list_tasks", json!({})).await;
    harness
        .call(&token, "add_task", json!({"title": "cake"}))
        .await;
    harness.call(&token, "merge_task", json!({"id": 2})).await;
    harness.send_as("wl_nothing", "GET", "/tasks", None).await;
    harness.send_as(&token, "GET", "/audit", None).await;
    let new = json!({"name": "ci", "scopes": ["read"]});
    harness.post("/tokens", &new).await;
    let id = harness.access.tokens().await.unwrap()[1].id;
    let owner = harness.token().to_owned();
    let revoke = format!("/tokens/{id}");
    harness.send_as(&owner, "DELETE", &revoke, None).await;

    let entries = log(&harness).await;
    let lines: Vec<String> = entries.iter().map(line).collect();
    assert_eq!(
        lines,
        [
            "ann | POST /api/v1/session |  | ok",
            " | POST /api/v1/session |  | unauthorized",
            "ann | POST /api/v1/tasks | task 1 | ok",
            "ann | POST /api/v1/tasks/1/merge |  | missing_scope",
            "ann | POST /api/v1/tasks/bulk | pause tasks 1,7 | ok",
            "ann | mcp add_task | task 2 | ok",
            "ann | mcp merge_task | 2 | missing_scope",
            " | GET /api/v1/tasks |  | unauthorized",
            "ann | GET /api/v1/audit |  | missing_scope",
            "owner | POST /api/v1/tokens | token \"ci\" | ok",
            "owner | DELETE /api/v1/tokens/2 | token \"ci\" | ok",
        ]
    );
    assert!(entries.iter().all(|entry| entry.source == "127.0.0.1"));
    assert_eq!(entries[2].request, request);
    let text = format!("{entries:?}");
    assert!(!text.contains(&token) && !text.contains(&owner), "{text}");

    let listed = harness.get("/audit?actor=ann&limit=2").await.json();
    let listed: Vec<&Value> = listed.as_array().unwrap().iter().collect();
    assert_eq!(listed.len(), 2, "{listed:?}");
    assert_eq!(listed[0]["action"], "GET /api/v1/audit");
    let before = listed[1]["id"].as_i64().unwrap();
    let earlier = harness
        .get(&format!("/audit?before={before}&limit=1"))
        .await;
    assert_eq!(earlier.json()[0]["action"], "mcp add_task");
}

#[tokio::test]
async fn p22_audit_log_needs_a_token_of_all_projects() {
    let harness = Harness::new().await;
    let projects = Some(vec![harness.project.id]);
    let token = harness
        .create_token("lead", &[Scope::Admin], projects)
        .await;
    let refused = harness.send_as(&token, "GET", "/audit", None).await;
    assert_eq!(refused.status, 403, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_that_disconnects_is_in_the_audit_log() {
    let harness = Harness::new().await;
    for number in 0..20 {
        disconnect(&harness, number, Duration::ZERO).await;
    }
    assert_eq!(
        harness
            .post("/tasks", &json!({"title": "last"}))
            .await
            .status,
        201
    );
    // Each added task has an entry, although no client waited for its response.
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut attempt = 20;
    loop {
        let tasks = harness.store.tasks(TaskFilter::default()).await.unwrap();
        let entries = log(&harness).await;
        let has_ended = entries.iter().any(|entry| entry.result == "disconnected");
        if entries.len() >= tasks.len() && has_ended {
            break;
        }
        let lines: Vec<String> = entries.iter().map(line).collect();
        assert!(
            Instant::now() < deadline,
            "{} tasks, {lines:?}",
            tasks.len()
        );
        // A busy server may notice that a client has gone before it has read the request.
        if !has_ended {
            let stay = Duration::from_millis(attempt % 5);
            disconnect(&harness, attempt, stay).await;
            attempt += 1;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Sends a request, and disconnects after this time.
async fn disconnect(harness: &Harness, number: u64, stay: Duration) {
    let body = json!({"title": format!("task {number}")}).to_string();
    let request = harness
        .request("POST", "/tasks")
        .header("Content-Type", "application/json");
    let mut stream = TcpStream::connect(harness.addr()).await.unwrap();
    stream.write_all(&request.with(&body)).await.unwrap();
    tokio::time::sleep(stay).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p22_revoked_and_expired_tokens_end_on_every_server_of_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/tasks.db", dir.path().display());
    let harness = Harness::on(&url, ServerLimits::default(), dir).await;
    // A second opening of the same store, as in another process.
    let settings = windlass_store::StoreSettings::default();
    let opened = windlass_store::open_all(&url, settings).await.unwrap();
    let store = Arc::new(FaultyStore::new(opened.tasks, opened.calls));
    let (access, limits) = (opened.access, ServerLimits::default());
    let own = windlass_server::Token::generate().unwrap();
    let project = harness.project.id;
    let other = serve(&store, &access, &own, project, limits, "127.0.0.1:0").await;

    let revoked = harness.create_token("revoked", &[Scope::Read], None).await;
    let body = json!({"name": "expiring", "scopes": ["read"], "expires_in_secs": 3});
    let expiring = harness.post("/tokens", &body).await.json();
    let expiring = expiring["token"].as_str().unwrap().to_owned();
    let mut sockets = Vec::new();
    for token in [&revoked, &expiring] {
        for addr in [harness.addr(), other.addr()] {
            let bearer = format!("Bearer {token}");
            let mut socket = open_with(addr, "", "authorization", &bearer).await;
            assert_eq!(socket.next_json().await["type"], "hello");
            sockets.push(socket);
        }
    }
    let id = harness.access.tokens().await.unwrap()[0].id;
    let ended = Instant::now();
    harness.access.revoke_token(id).await.unwrap();
    for (number, socket) in sockets.iter_mut().enumerate() {
        let closed = tokio::time::timeout(Duration::from_secs(8), socket.closed()).await;
        let (code, _) = closed.unwrap().unwrap();
        assert_eq!(code, 1008, "socket {number}");
        // The second token expires up to three seconds later.
        let limit = if number < 2 { 5 } else { 8 };
        assert!(ended.elapsed() < Duration::from_secs(limit), "{number}");
    }
    for token in [&revoked, &expiring] {
        for addr in [harness.addr(), other.addr()] {
            let request = Request::new("GET", "/api/v1/tasks")
                .header("Host", &addr.to_string())
                .header("Authorization", &format!("Bearer {token}"));
            let response = raw(addr, &request.bytes()).await.unwrap();
            assert_eq!(response.status, 401, "{response:?}");
        }
    }
}
