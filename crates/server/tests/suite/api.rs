//! The API as it is described, and the description as it is.

use serde_json::{Value, json};

use super::client::Reply;
use super::story::storied;
use super::world::World;

/// The description.
struct Described(Value);

impl Described {
    async fn of(world: &World) -> Self {
        Self(world.get("/openapi.json").await.json())
    }

    /// Fails unless an answer is as it is described.
    #[track_caller]
    fn check(&self, method: &str, path: &str, reply: &Reply) {
        let pointer = format!(
            "/paths/{}/{method}/responses/{}",
            path.replace('/', "~1"),
            reply.status
        );
        let found = self.0.pointer(&pointer);
        let mut described =
            found.unwrap_or_else(|| panic!("{method} {path} is not described: {reply:?}"));
        if let Some(named) = described["$ref"].as_str() {
            described = self.0.pointer(named.trim_start_matches('#')).unwrap();
        }
        let Some(schema) = described.pointer("/content/application~1json/schema") else {
            assert_eq!(reply.body, "", "{method} {path}");
            return;
        };
        let mut schema = schema.clone();
        schema["components"] = self.0["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let value = reply.json();
        let faults: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{method} {path}: {faults:#?}\n{value:#}");
    }
}

/// Paths as they are described, and as they are asked for.
const GETS: &[(&str, &str)] = &[
    ("/health", "/health"),
    ("/openapi.json", "/openapi.json"),
    ("/projects", "/projects"),
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
    ("/traces", "/traces?limit=1"),
    ("/traces/{id}", "/traces/task-1-attempt-2"),
    ("/traces/{id}", "/traces/x"),
    ("/ws", "/ws"),
];

fn posts(world: &World) -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("/session", "/session", json!({"token": world.token()})),
        ("/session", "/session", json!({"token": "x"})),
        (
            "/tasks",
            "/tasks",
            json!({"title": "again", "priority": 0, "kind": "test", "dependencies": [1], "agent": "codex"}),
        ),
        ("/tasks", "/tasks", json!({"titel": "again"})),
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
async fn every_answer_is_as_it_is_described() {
    let world = World::new().await;
    let described = Described::of(&world).await;
    storied(&world).await;
    for (path, asked) in GETS {
        let reply = world.get(asked).await;
        described.check("get", path, &reply);
        let empty = reply.status == 200 && ["[]", "null"].contains(&reply.body.as_str());
        assert!(
            !empty || asked.contains("open=true"),
            "{asked} shows nothing"
        );
    }
    for (path, asked, body) in posts(&world) {
        described.check("post", path, &world.post(asked, &body).await);
    }
    let left = world
        .send(world.request("DELETE", "/session").bytes())
        .await;
    described.check("delete", "/session", &left);
}

#[tokio::test]
async fn p6_the_same_key_is_the_same_task() {
    let world = World::new().await;
    let add = async |body: &str| {
        let request = world
            .request("POST", "/tasks")
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", "k");
        world.send(request.with(body)).await
    };
    let first = add("{\"title\":\"a\"}").await;
    let again = add("{\"title\":\"a\"}").await;
    let other = add("{\"title\":\"b\"}").await;
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!(first.json(), again.json());
    assert_eq!((other.status, other.code().as_str()), (409, "key_taken"));
    assert_eq!(
        world.get("/tasks").await.json().as_array().unwrap().len(),
        1
    );
}

#[tokio::test]
async fn a_question_or_a_request_is_settled_once() {
    let world = World::new().await;
    storied(&world).await;
    let twice = world
        .post("/blockers/1/answer", &json!({"text": "black"}))
        .await;
    assert_eq!(twice.status, 409, "{twice:?}");
    assert_eq!(
        world
            .post("/blockers/9/answer", &json!({"text": "x"}))
            .await
            .status,
        404
    );
    assert_eq!(
        world
            .post("/blockers/1/answer", &json!({"text": " "}))
            .await
            .status,
        400
    );
    let same = world
        .post("/approvals/1/decision", &json!({"option": "yes"}))
        .await;
    assert_eq!(
        same.status, 200,
        "the first decision holds, and this is the same: {same:?}"
    );
    assert_eq!(
        world
            .post("/approvals/9/decision", &json!({"option": "yes"}))
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn p24_nothing_in_an_answer_commands_a_terminal_or_hides() {
    let world = World::new().await;
    storied(&world).await;
    let title = "tea\u{1b}]52;c;aGk=\u{7}\u{202e}\u{9b}31m\u{200b}<script>alert(1)</script>";
    world.add(title).await;
    for path in [
        "/tasks",
        "/tasks/2",
        "/tasks/1/tests",
        "/tasks/1/diff",
        "/events",
        "/traces",
    ] {
        let reply = world.get(path).await;
        let is_bad = |c: char| c.is_control() && c != '\n' || ['\u{202e}', '\u{200b}'].contains(&c);
        assert!(!reply.body.chars().any(is_bad), "{path}: {reply:?}");
        assert_eq!(reply.header("content-type"), Some("application/json"));
    }
    assert_eq!(
        world.get("/tasks/2").await.json()["title"],
        title,
        "the value is what it was"
    );
    let diff = world.get("/tasks/1/diff").await.json();
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
