//! Tokens with scopes and projects, over the whole API.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::{SystemClock, Usage};
use windlass_gateway::{
    AgentApi, AgentApiLimits, ModelCatalog, ModelInfo, ModelLookupError, ServedModel,
};
use windlass_server::{Server, ServerLimits, StoreTraceSink, Token};
use windlass_tasks::{
    AttemptRef, Leases, NewIssue, NewProject, NewTask, Outcome, ProjectId, Projects, Scope, TaskId,
    TaskQueue, TaskStore, Traces,
};

use super::client::{Request, raw};
use super::full_run::{claim, request_permission, run_full_task};
use super::harness::{Harness, TestHostOps, broadcast};
use super::ws::open_with;

/// Every route, with the scope that it needs; an empty scope means any token.
const ROUTES: &[(&str, &str, &str)] = &[
    ("get", "/session", ""),
    ("delete", "/session", ""),
    ("get", "/openapi.json", ""),
    ("get", "/health", "read"),
    ("get", "/projects", "read"),
    ("get", "/projects/{id}/note", "read"),
    ("put", "/projects/{id}/note", "work"),
    ("get", "/worker", "read"),
    ("post", "/worker/pause", "approve"),
    ("post", "/worker/resume", "approve"),
    ("get", "/workers", "read"),
    ("post", "/workers/{id}/drain", "admin"),
    ("get", "/tasks", "read"),
    ("post", "/tasks", "work"),
    ("post", "/tasks/bulk", "work"),
    ("get", "/tasks/{id}", "read"),
    ("patch", "/tasks/{id}", "work"),
    ("post", "/tasks/{id}/pause", "work"),
    ("post", "/tasks/{id}/resume", "work"),
    ("post", "/tasks/{id}/cancel", "approve"),
    ("post", "/tasks/{id}/land", "approve"),
    ("delete", "/tasks/{id}/land", "work"),
    ("get", "/landings", "read"),
    ("post", "/tasks/{id}/retry", "work"),
    ("post", "/tasks/{id}/accept", "approve"),
    ("post", "/tasks/{id}/merge", "approve"),
    ("post", "/tasks/{id}/push", "approve"),
    ("get", "/schedules", "read"),
    ("get", "/tasks/{id}/messages", "read"),
    ("post", "/tasks/{id}/messages", "work"),
    ("get", "/tasks/{id}/attempts", "read"),
    ("get", "/tasks/{id}/tests", "read"),
    ("get", "/tasks/{id}/corrections", "read"),
    ("get", "/tasks/{id}/proof", "read"),
    ("get", "/tasks/{id}/pushes", "read"),
    ("get", "/tasks/{id}/candidates", "read"),
    ("get", "/tasks/{id}/reviews", "read"),
    // What it needs depends on the decision; `reviews.rs` tests it.
    ("post", "/tasks/{id}/reviews", ""),
    ("get", "/tasks/{id}/blockers", "read"),
    ("get", "/tasks/{id}/questions", "read"),
    ("get", "/tasks/{id}/traces", "read"),
    ("get", "/tasks/{id}/events", "read"),
    ("get", "/tasks/{id}/diff", "read"),
    ("get", "/events", "read"),
    ("get", "/blockers", "read"),
    ("post", "/blockers/{id}/answer", "approve"),
    ("get", "/approvals", "read"),
    ("post", "/approvals/{id}/decision", "approve"),
    ("get", "/agents", "read"),
    ("get", "/usage", "read"),
    ("get", "/usage/calls", "read"),
    ("get", "/evaluations", "read"),
    ("get", "/traces", "read"),
    ("get", "/traces/{id}", "read"),
    ("get", "/tokens", "admin"),
    ("post", "/tokens", "admin"),
    ("delete", "/tokens/{id}", "admin"),
    ("get", "/audit", "admin"),
    ("get", "/ws", "read"),
];

/// The routes of the model APIs.
const MODEL_ROUTES: &[(&str, &str)] = &[
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/responses"),
    ("POST", "/v1/messages"),
    ("POST", "/v1/messages/count_tokens"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/codex"),
    ("POST", "/api/chat"),
    ("GET", "/api/tags"),
    ("POST", "/api/show"),
    ("GET", "/api/version"),
];

#[tokio::test]
async fn p22_every_route_needs_its_scope() {
    let harness = Harness::new().await;
    run_full_task(&harness).await;
    let document = harness.get("/openapi.json").await.json();
    let paths = document["paths"].as_object().unwrap();
    let described: BTreeSet<(&str, &str)> = paths
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys();
            methods.map(|method| (method.as_str(), path.as_str()))
        })
        .filter(|route| *route != ("post", "/session"))
        .collect();
    let tested = ROUTES.iter().map(|(method, path, _)| (*method, *path));
    assert_eq!(described, tested.collect());
    for scope in Scope::ALL {
        let token = harness.create_token(scope.as_str(), &[scope], None).await;
        for (method, path, needed) in ROUTES {
            let requested = path.replace("{id}", "999");
            let response = harness
                .send_as(&token, &method.to_uppercase(), &requested, Some(&json!({})))
                .await;
            let is_allowed = needed.is_empty() || *needed == scope.as_str();
            if is_allowed {
                let refused = [401, 403].contains(&response.status);
                assert!(!refused, "{scope}: {method} {path}: {response:?}");
                continue;
            }
            assert_eq!(response.status, 403, "{scope}: {method} {path}");
            assert_eq!(response.code(), "missing_scope", "{response:?}");
            let message = format!(
                "the token \"{scope}\" does not have the scope {needed}, which this request needs"
            );
            assert_eq!(response.json()["error"]["message"], message.as_str());
        }
    }
}

#[derive(Debug)]
struct NoModels;

impl ModelCatalog for NoModels {
    fn list(&self) -> Vec<ModelInfo> {
        Vec::new()
    }

    fn find(&self, name: &str) -> Result<ServedModel, ModelLookupError> {
        Err(ModelLookupError::Unknown {
            name: name.to_owned(),
            near: Vec::new(),
        })
    }
}

#[tokio::test]
async fn p22_model_apis_need_the_scope_models() {
    let harness = Harness::new().await;
    let dirs = tempfile::tempdir().unwrap();
    let store: Arc<dyn TaskStore> = harness.store.clone();
    let api = AgentApi::new(
        Arc::new(NoModels),
        Arc::new(StoreTraceSink(store.clone())),
        dirs.path(),
        Arc::new(SystemClock::new()),
        AgentApiLimits::default(),
    );
    let token = Token::new(&harness.token);
    let access = Arc::clone(&harness.access);
    let serving = Server::new(store, access, Arc::new(TestHostOps), token)
        .with_agent_api(api)
        .listen("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    for scope in Scope::ALL {
        let token = harness.create_token(scope.as_str(), &[scope], None).await;
        for (method, path) in MODEL_ROUTES {
            let request = Request::new(method, path)
                .header("Host", &serving.addr().to_string())
                .header("x-api-key", &token)
                .header("Content-Type", "application/json");
            let response = raw(serving.addr(), &request.with("{}")).await.unwrap();
            let is_refused = response.status == 403;
            assert_eq!(
                is_refused,
                scope != Scope::Models,
                "{scope} {path}: {response:?}"
            );
            assert_eq!(
                response.body.contains("does not have the scope models"),
                is_refused,
                "{response:?}"
            );
            assert_ne!(response.status, 401, "{response:?}");
        }
    }
}

/// Adds a second project with one task, and returns both.
async fn second_project(harness: &Harness) -> (ProjectId, TaskId) {
    let project = NewProject {
        name: "garden".to_owned(),
        root: "/home/me/garden".into(),
    };
    let project = harness.store.add_project(project).await.unwrap().id;
    let task = NewTask::new(project, "grow tea");
    let added = harness.store.enqueue(vec![task]).await.unwrap();
    (project, added[0].task.id)
}

/// Gives the second project's task a blocker, a permission request and a trace.
async fn fill_second_project(harness: &Harness) -> AttemptRef {
    let attempt = claim(harness).await;
    request_permission(harness, attempt).await;
    let trace = serde_json::from_value(json!({"name": "attempt", "start": 1, "duration_ms": 2}));
    let id = format!("task-{}-attempt-1", attempt.task);
    let put = harness
        .store
        .put_trace(id, Some(attempt.task), trace.unwrap());
    put.await.unwrap();
    let blocked = Outcome::Blocked {
        question: "which soil?".to_owned(),
    };
    let finished = harness.store.finish(attempt, blocked, Usage::default());
    finished.await.unwrap();
    attempt
}

#[tokio::test]
async fn p22_other_projects_do_not_exist_for_a_limited_token() {
    let harness = Harness::new().await;
    run_full_task(&harness).await;
    let (project, task) = second_project(&harness).await;
    let attempt = fill_second_project(&harness).await;
    assert_eq!(attempt.task, task);
    let all = [Scope::Read, Scope::Work, Scope::Approve];
    let token = harness
        .create_token("shop", &all, Some(vec![harness.project.id]))
        .await;
    let get = async |path: &str| harness.send_as(&token, "GET", path, None).await;
    let list = async |path: &str| get(path).await.json().as_array().unwrap().clone();
    let whole = async |path: &str| harness.get(path).await.json().as_array().unwrap().len();

    for path in ["/projects", "/tasks", "/blockers", "/approvals", "/traces"] {
        let (visible, whole) = (list(path).await, whole(path).await);
        assert_eq!(visible.len(), whole - 1, "{path}: {visible:?}");
        let text = Value::from(visible).to_string();
        for hidden in ["garden", "grow tea", "which soil", &format!("task-{task}-")] {
            assert!(!text.contains(hidden), "{path}: {text}");
        }
    }
    for path in ["/tasks", "/blockers"] {
        let found = list(&format!("{path}?project={project}")).await;
        assert_eq!(found, Vec::<Value>::new(), "{path}");
    }
    let events = get("/events").await.json()["events"].to_string();
    assert!(
        !events.contains(&format!("\"project_id\":{project}")),
        "{events}"
    );
    let hidden = get(&format!("/events?task={task}")).await.json();
    assert_eq!(hidden["events"], json!([]));
    let usage = get("/usage").await.json();
    assert_eq!(usage["total"]["tasks"], 1);
    // The task names no agent: its attempt does.
    assert_eq!(usage["by_agent"]["codex"]["input_tokens"], 10, "{usage}");

    hidden_task_cannot_be_read(&harness, &token, task).await;
    hidden_task_cannot_be_changed(&harness, &token, project, task).await;
}

/// Checks that no route returns a task of another project.
async fn hidden_task_cannot_be_read(harness: &Harness, token: &str, task: TaskId) {
    let get = async |path: &str| harness.send_as(token, "GET", path, None).await;
    for path in [
        "",
        "/attempts",
        "/tests",
        "/corrections",
        "/proof",
        "/blockers",
        "/questions",
    ] {
        assert_eq!(
            get(&format!("/tasks/{task}{path}")).await.status,
            404,
            "{path}"
        );
        assert_eq!(get(&format!("/tasks/1{path}")).await.status, 200, "{path}");
    }
    for path in ["/traces", "/events", "/diff"] {
        assert_eq!(
            get(&format!("/tasks/{task}{path}")).await.status,
            404,
            "{path}"
        );
    }
    assert_eq!(
        get(&format!("/traces/task-{task}-attempt-1")).await.status,
        404
    );
}

/// Checks that no route changes another project, or refers to it.
async fn hidden_task_cannot_be_changed(
    harness: &Harness,
    token: &str,
    project: ProjectId,
    task: TaskId,
) {
    let issue = async |project_id| {
        let title = "a goal".to_owned();
        let description = String::new();
        let new = NewIssue {
            project_id,
            title,
            description,
        };
        harness.store.add_issue(new).await.unwrap().id
    };
    let (hidden_issue, own_issue) = (issue(project).await, issue(harness.project.id).await);
    for (path, body) in [
        (format!("/tasks/{task}/cancel"), json!({})),
        (format!("/tasks/{task}/retry"), json!({})),
        (format!("/tasks/{task}/merge"), json!({})),
        ("/blockers/2/answer".to_owned(), json!({"text": "loam"})),
        ("/approvals/2/decision".to_owned(), json!({"option": "yes"})),
        (
            "/tasks".to_owned(),
            json!({"title": "a", "project_id": project}),
        ),
        (
            "/tasks".to_owned(),
            json!({"title": "a", "dependencies": [task]}),
        ),
        (
            "/tasks".to_owned(),
            json!({"title": "a", "issue_id": hidden_issue}),
        ),
    ] {
        let response = harness.send_as(token, "POST", &path, Some(&body)).await;
        assert_eq!(response.status, 404, "{path}: {response:?}");
        assert!(!response.body.contains("garden"), "{response:?}");
    }
    let own = json!({"title": "a", "dependencies": [1], "issue_id": own_issue});
    assert_eq!(
        harness
            .send_as(token, "POST", "/tasks", Some(&own))
            .await
            .status,
        201
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p22_websocket_of_a_limited_token_has_only_its_projects() {
    // A small ring, so that both the store and the ring serve events.
    let mut limits = ServerLimits::default();
    limits.ring_events = 4;
    let harness = Harness::with(limits).await;
    let (project, _) = second_project(&harness).await;
    let token = harness
        .create_token("garden", &[Scope::Read], Some(vec![project]))
        .await;
    let bearer = format!("Bearer {token}");
    for number in 0..20 {
        broadcast(&*harness.store, harness.project.id, 1, 3).await;
        broadcast(&*harness.store, project, 1, number).await;
    }
    let mut socket = open_with(harness.addr(), "?after=0", "authorization", &bearer).await;
    // The task of the second project, then every second event.
    let expected: Vec<u64> = (1..=1).chain((3..=41).step_by(2)).collect();
    assert_eq!(socket.numbers(expected.len()).await, expected);
    // Another subscription does not see more.
    let other = json!({"type": "subscribe", "project_id": harness.project.id, "after": 0});
    socket.send(&other).await;
    let own = json!({"type": "subscribe", "after": 30});
    socket.send(&own).await;
    assert_eq!(socket.numbers(6).await, [31, 33, 35, 37, 39, 41]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p22_revoked_token_ends_requests_and_websockets() {
    let harness = Harness::new().await;
    let token = harness.create_token("short", &[Scope::Read], None).await;
    let bearer = format!("Bearer {token}");
    let mut socket = open_with(harness.addr(), "", "authorization", &bearer).await;
    assert_eq!(socket.next_json().await["type"], "hello");
    let login = harness.post("/session", &json!({"token": token})).await;
    let cookie = login
        .header("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap();
    let mut session = open_with(harness.addr(), "", "cookie", cookie).await;
    assert_eq!(session.next_json().await["type"], "hello");
    let id = harness.access.tokens().await.unwrap()[0].id;
    harness.access.revoke_token(id).await.unwrap();
    for socket in [&mut socket, &mut session] {
        let (code, reason) = socket.closed().await.unwrap();
        assert_eq!(
            (code, reason.as_str()),
            (1008, "the token is no longer valid")
        );
    }
    let refused = harness.send_as(&token, "GET", "/tasks", None).await;
    assert_eq!(refused.status, 401, "{refused:?}");
    let body = json!({"name": "expired", "scopes": ["read"], "expires_in_secs": 0});
    let expired = harness.post("/tokens", &body).await.json();
    let expired = expired["token"].as_str().unwrap();
    let refused = harness.send_as(expired, "GET", "/tasks", None).await;
    assert_eq!(refused.status, 401, "{refused:?}");
}

#[tokio::test]
async fn p22_token_cannot_grant_more_than_it_has() {
    let harness = Harness::new().await;
    let (project, _) = second_project(&harness).await;
    let scopes = [Scope::Admin, Scope::Read];
    let token = harness
        .create_token("lead", &scopes, Some(vec![project]))
        .await;
    let create = async |token: &str, body: Value| {
        harness.send_as(token, "POST", "/tokens", Some(&body)).await
    };
    let more = create(&token, json!({"name": "a", "scopes": ["read", "approve"]})).await;
    assert_eq!((more.status, more.code().as_str()), (403, "missing_scope"));
    let own = harness.project.id;
    let other = create(
        &token,
        json!({"name": "a", "scopes": ["read"], "projects": [own]}),
    )
    .await;
    assert_eq!(other.status, 404, "{other:?}");
    let body = json!({"name": "reader", "scopes": ["read"], "expires_in_secs": 3600});
    let created = create(&token, body.clone()).await;
    assert_eq!(created.status, 201, "{created:?}");
    let created = created.json();
    assert_eq!(created["info"]["projects"], json!([project]));
    let reader = created["token"].as_str().unwrap();
    assert_eq!(
        harness.send_as(reader, "GET", "/tasks", None).await.status,
        200
    );
    assert_eq!(create(&token, body).await.status, 400, "the name is in use");
    assert_eq!(
        create(&token, json!({"name": "b", "scopes": []}))
            .await
            .status,
        400
    );

    // The owner's tokens of other projects do not exist for it.
    harness.create_token("all", &[Scope::Read], None).await;
    let names = async |token: &str| {
        let tokens = harness.send_as(token, "GET", "/tokens", None).await.json();
        let tokens = tokens.as_array().unwrap().iter();
        tokens
            .map(|token| token["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&token).await, ["lead", "reader"]);
    assert_eq!(names(harness.token()).await, ["lead", "reader", "all"]);
    assert_eq!(
        harness
            .send_as(&token, "DELETE", "/tokens/3", None)
            .await
            .status,
        404
    );
    let revoked = harness.send_as(&token, "DELETE", "/tokens/2", None).await;
    assert_eq!(revoked.status, 200, "{revoked:?}");
    assert_eq!(
        harness.send_as(reader, "GET", "/tasks", None).await.status,
        401
    );
    let listed = harness.get("/tokens").await;
    assert!(
        !listed.body.contains(reader) && !listed.body.contains("hash"),
        "{listed:?}"
    );
}

#[tokio::test]
async fn session_describes_the_token() {
    let harness = Harness::new().await;
    let owner = harness.get("/session").await.json();
    let all = json!(["read", "work", "approve", "admin", "models"]);
    let expected =
        json!({"name": "server-token", "scopes": all, "projects": null, "expires_at": null});
    assert_eq!(owner, expected);
    let projects = Some(vec![harness.project.id]);
    let token = harness.create_token("ci", &[Scope::Work], projects).await;
    let found = harness
        .send_as(&token, "GET", "/session", None)
        .await
        .json();
    let expected = json!({"name": "ci", "scopes": ["work"], "projects": [1], "expires_at": null});
    assert_eq!(found, expected);
}
