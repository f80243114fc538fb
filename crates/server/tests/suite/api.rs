//! The API against its OpenAPI document.

use serde_json::{Value, json};
use windlass_tasks::{CallLabels, Landings, NewLanding, NewModelCall, ProjectId, TaskId};

use super::client::Response;
use super::full_run::run_full_task;
use super::harness::Harness;

/// The OpenAPI document.
struct OpenApi(Value);

impl OpenApi {
    async fn fetch(harness: &Harness) -> Self {
        Self(harness.get("/openapi.json").await.json())
    }

    /// Fails unless the response matches the document.
    #[track_caller]
    fn check(&self, method: &str, path: &str, response: &Response) {
        let pointer = format!(
            "/paths/{}/{method}/responses/{}",
            path.replace('/', "~1"),
            response.status
        );
        let found = self.0.pointer(&pointer);
        let mut described =
            found.unwrap_or_else(|| panic!("{method} {path} is not described: {response:?}"));
        if let Some(reference) = described["$ref"].as_str() {
            described = self.0.pointer(reference.trim_start_matches('#')).unwrap();
        }
        let Some(schema) = described.pointer("/content/application~1json/schema") else {
            assert_eq!(response.body, "", "{method} {path}");
            return;
        };
        let mut schema = schema.clone();
        schema["components"] = self.0["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let value = response.json();
        let violations: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(
            violations.is_empty(),
            "{method} {path}: {violations:#?}\n{value:#}"
        );
    }
}

/// The documented paths, and the requested ones.
const GETS: &[(&str, &str)] = &[
    ("/session", "/session"),
    ("/tokens", "/tokens"),
    ("/health", "/health"),
    ("/openapi.json", "/openapi.json"),
    ("/projects", "/projects"),
    ("/projects/{id}/note", "/projects/1/note"),
    ("/worker", "/worker"),
    ("/workers", "/workers"),
    ("/landings", "/landings"),
    ("/landings", "/landings?open=true"),
    ("/tasks", "/tasks"),
    (
        "/tasks",
        "/tasks?status=completed,failed&limit=1&project=1&after=0",
    ),
    ("/tasks/{id}", "/tasks/1"),
    ("/tasks/{id}", "/tasks/9"),
    ("/tasks/{id}/attempts", "/tasks/1/attempts"),
    ("/tasks/{id}/tests", "/tasks/1/tests"),
    ("/tasks/{id}/corrections", "/tasks/1/corrections"),
    ("/tasks/{id}/proof", "/tasks/1/proof"),
    ("/tasks/{id}/reviews", "/tasks/1/reviews"),
    ("/tasks/{id}/diff", "/tasks/1/diff?from=1&to=2"),
    ("/tasks/{id}/blockers", "/tasks/1/blockers"),
    ("/tasks/{id}/questions", "/tasks/1/questions"),
    ("/tasks/{id}/traces", "/tasks/1/traces"),
    ("/tasks/{id}/events", "/tasks/1/events?after=1&limit=3"),
    ("/tasks/{id}/diff", "/tasks/1/diff"),
    ("/events", "/events"),
    ("/events", "/events?after=x"),
    ("/blockers", "/blockers"),
    ("/blockers", "/blockers?open=true"),
    ("/approvals", "/approvals?open=false"),
    ("/agents", "/agents"),
    ("/usage", "/usage"),
    ("/usage/calls", "/usage/calls?by=task&since=1&project=1"),
    ("/evaluations", "/evaluations"),
    ("/traces", "/traces?limit=1"),
    ("/traces/{id}", "/traces/task-1-attempt-2"),
    ("/traces/{id}", "/traces/x"),
    ("/ws", "/ws"),
];

fn posts(harness: &Harness) -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("/session", "/session", json!({"token": harness.token()})),
        ("/session", "/session", json!({"token": "x"})),
        (
            "/tasks",
            "/tasks",
            json!({"title": "again", "priority": 0, "kind": "test", "dependencies": [1], "agent": "codex", "needs": ["gpu"]}),
        ),
        ("/tasks", "/tasks", json!({"titel": "again"})),
        ("/tokens", "/tokens", json!({"name": "", "scopes": []})),
        (
            "/tasks/{id}/messages",
            "/tasks/2/messages",
            json!({"text": "use tabs"}),
        ),
        (
            "/tasks/{id}/messages",
            "/tasks/1/messages",
            json!({"text": "too late"}),
        ),
        ("/tasks/{id}/pause", "/tasks/2/pause", json!({})),
        ("/tasks/{id}/pause", "/tasks/1/pause", json!({})),
        ("/tasks/{id}/resume", "/tasks/2/resume", json!({})),
        (
            "/tasks/bulk",
            "/tasks/bulk",
            json!({"ids": [2, 99], "action": "priority", "priority": 1}),
        ),
        (
            "/tasks/bulk",
            "/tasks/bulk",
            json!({"ids": [2], "action": "x"}),
        ),
        (
            "/worker/pause",
            "/worker/pause",
            json!({"reason": "a release"}),
        ),
        ("/worker/resume", "/worker/resume", json!({})),
        ("/workers/{id}/drain", "/workers/1/drain", json!({})),
        ("/workers/{id}/drain", "/workers/99/drain", json!({})),
        ("/tasks/{id}/land", "/tasks/1/land", json!({})),
        ("/tasks/{id}/land", "/tasks/99/land", json!({})),
        ("/tasks/{id}/cancel", "/tasks/2/cancel", json!({})),
        ("/tasks/{id}/retry", "/tasks/2/retry", json!({})),
        ("/tasks/{id}/merge", "/tasks/1/merge", json!({})),
        ("/tasks/{id}/merge", "/tasks/2/merge", json!({})),
        (
            "/blockers/{id}/answer",
            "/blockers/1/answer",
            json!({"text": "twice"}),
        ),
        (
            "/approvals/{id}/decision",
            "/approvals/1/decision",
            json!({"option": "yes"}),
        ),
        (
            "/approvals/{id}/decision",
            "/approvals/1/decision",
            json!({"option": "x"}),
        ),
    ]
}

#[tokio::test]
async fn every_response_matches_the_openapi_document() {
    let harness = Harness::new().await;
    let document = OpenApi::fetch(&harness).await;
    run_full_task(&harness).await;
    let landing = NewLanding {
        task: TaskId::from(1),
        target: "main".to_owned(),
        by: "ada".to_owned(),
    };
    let queued = harness.store.enqueue_landing(landing).await;
    queued.unwrap();
    let call = NewModelCall {
        labels: CallLabels {
            project: Some(ProjectId::from(1)),
            task: Some(TaskId::from(1)),
            ..CallLabels::default()
        },
        ..NewModelCall::default()
    };
    let started = harness.store.calls.begin_call(call, Vec::new()).await;
    started.unwrap();
    let token = json!({"name": "ci", "scopes": ["read"], "projects": [1], "expires_in_secs": 60});
    let created = harness.post("/tokens", &token).await;
    assert_eq!(created.status, 201, "{created:?}");
    document.check("post", "/tokens", &created);
    let review = json!({"attempt": 2, "text": "Nice."});
    let reviewed = harness.post("/tasks/1/reviews", &review).await;
    assert_eq!(reviewed.status, 200, "{reviewed:?}");
    document.check("post", "/tasks/{id}/reviews", &reviewed);
    for (path, requested) in GETS {
        let response = harness.get(requested).await;
        document.check("get", path, &response);
        let empty = response.status == 200 && ["[]", "null"].contains(&response.body.as_str());
        assert!(
            !empty || requested.contains("open=true"),
            "{requested} returns nothing"
        );
    }
    for (path, requested, body) in posts(&harness) {
        document.check("post", path, &harness.post(requested, &body).await);
    }
    for (path, requested) in [
        ("/tasks/{id}/messages", "/tasks/2/messages"),
        ("/schedules", "/schedules?project=1"),
    ] {
        document.check("get", path, &harness.get(requested).await);
    }
    check_edits(&harness, &document).await;
    for (path, requested) in [("/tokens/{id}", "/tokens/1"), ("/tokens/{id}", "/tokens/9")] {
        let request = harness.request("DELETE", requested).bytes();
        document.check("delete", path, &harness.send(request).await);
    }
    let logout = harness
        .send(harness.request("DELETE", "/session").bytes())
        .await;
    document.check("delete", "/session", &logout);
}

/// Edits a task and a note, with valid and invalid requests.
async fn check_edits(harness: &Harness, document: &OpenApi) {
    for (method, path, requested, body) in [
        (
            "patch",
            "/tasks/{id}",
            "/tasks/3",
            json!({"title": "other", "agent": null}),
        ),
        (
            "patch",
            "/tasks/{id}",
            "/tasks/3",
            json!({"title": "late", "updated_at": 1}),
        ),
        ("patch", "/tasks/{id}", "/tasks/3", json!({"priority": 9})),
        (
            "put",
            "/projects/{id}/note",
            "/projects/1/note",
            json!({"note": "use tabs"}),
        ),
        (
            "put",
            "/projects/{id}/note",
            "/projects/9/note",
            json!({"note": "x"}),
        ),
    ] {
        let request = harness
            .request(&method.to_uppercase(), requested)
            .header("Content-Type", "application/json");
        let response = harness.send(request.with(&body.to_string())).await;
        document.check(method, path, &response);
    }
}

#[tokio::test]
async fn p6_same_key_returns_the_same_task() {
    let harness = Harness::new().await;
    let add = async |body: &str| {
        let request = harness
            .request("POST", "/tasks")
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", "k");
        harness.send(request.with(body)).await
    };
    let first = add("{\"title\":\"a\"}").await;
    let again = add("{\"title\":\"a\"}").await;
    let other = add("{\"title\":\"b\"}").await;
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!(first.json(), again.json());
    assert_eq!((other.status, other.code().as_str()), (409, "key_taken"));
    assert_eq!(
        harness.get("/tasks").await.json().as_array().unwrap().len(),
        1
    );
}

#[tokio::test]
async fn blocker_and_permission_request_are_decided_once() {
    let harness = Harness::new().await;
    run_full_task(&harness).await;
    let twice = harness
        .post("/blockers/1/answer", &json!({"text": "black"}))
        .await;
    assert_eq!(twice.status, 409, "{twice:?}");
    assert_eq!(
        harness
            .post("/blockers/9/answer", &json!({"text": "x"}))
            .await
            .status,
        404
    );
    assert_eq!(
        harness
            .post("/blockers/1/answer", &json!({"text": " "}))
            .await
            .status,
        400
    );
    let same = harness
        .post("/approvals/1/decision", &json!({"option": "yes"}))
        .await;
    assert_eq!(
        same.status, 200,
        "the first decision is final, and this one is the same: {same:?}"
    );
    assert_eq!(
        harness
            .post("/approvals/9/decision", &json!({"option": "yes"}))
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn p24_responses_contain_no_control_or_invisible_characters() {
    let harness = Harness::new().await;
    run_full_task(&harness).await;
    let title = "tea\u{1b}]52;c;aGk=\u{7}\u{202e}\u{9b}31m\u{200b}<script>alert(1)</script>";
    harness.add(title).await;
    for path in [
        "/tasks",
        "/tasks/2",
        "/tasks/1/tests",
        "/tasks/1/diff",
        "/events",
        "/traces",
    ] {
        let response = harness.get(path).await;
        let is_bad = |c: char| c.is_control() && c != '\n' || ['\u{202e}', '\u{200b}'].contains(&c);
        assert!(!response.body.chars().any(is_bad), "{path}: {response:?}");
        assert_eq!(response.header("content-type"), Some("application/json"));
    }
    assert_eq!(
        harness.get("/tasks/2").await.json()["title"],
        title,
        "the value is unchanged"
    );
    let diff = harness.get("/tasks/1/diff").await.json();
    let lines = &diff["files"][0]["hunks"][0]["lines"];
    let text: String = lines[1]["spans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|span| span["text"].as_str().unwrap())
        .collect();
    assert_eq!(text, "fn new() -> u8 { 7 } // \\u{1b}[31m \\u{202e}");
    let styles: Vec<&str> = lines[1]["spans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|span| span["style"].as_str().unwrap())
        .collect();
    for style in ["kw", "fn", "num", "com"] {
        assert!(styles.contains(&style), "{styles:?}");
    }
}
