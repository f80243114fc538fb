//! Who may use the repositories, and what git is asked to do. `windlass` tests them with git itself.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use windlass_server::{
    GitHost, GitRequest, GitResponseBody, GitStep, HostOpsError, RunningServer, Server,
    ServerLimits, Token,
};
use windlass_tasks::{NewProject, Projects, Scope};

use super::client::{Request, Response, raw};
use super::harness::{Harness, TestHostOps};

const OLD: &str = "0000000000000000000000000000000000000000";
const NEW: &str = "1234567890abcdef1234567890abcdef12345678";

/// Reads every body to its end, and answers with a report.
#[derive(Debug, Default)]
struct TestGit {
    asked: Mutex<Vec<String>>,
}

impl GitHost for TestGit {
    fn serve(&self, request: GitRequest) -> BoxFuture<'_, Result<GitResponseBody, HostOpsError>> {
        Box::pin(async move {
            let mut what = format!("{} {:?}", request.project.name, request.service);
            if let Some(protocol) = &request.protocol {
                what.push_str(&format!(" {protocol}"));
            }
            let mut output = "000eunpack ok\n0000".to_owned();
            if let GitStep::Exchange(mut input) = request.step {
                let mut count = 0;
                while let Some(part) = input.next().await {
                    match part {
                        Ok(part) => count += part.len(),
                        Err(error) => return Err(HostOpsError::Internal(error.to_string())),
                    }
                }
                what.push_str(&format!(" {count} bytes"));
            } else {
                "refs".clone_into(&mut output);
            }
            self.asked.lock().push(what);
            Ok(futures::stream::iter([Ok(output.into())]).boxed())
        })
    }
}

struct Served {
    harness: Harness,
    git: Arc<TestGit>,
    running: RunningServer,
}

impl Served {
    async fn new() -> Self {
        let harness = Harness::new().await;
        let git = Arc::new(TestGit::default());
        let (store, access) = (harness.store.clone(), harness.access.clone());
        let token = Token::new(&harness.token);
        let mut limits = ServerLimits::default();
        limits.push_bytes = 100_000;
        let server = Server::new(store, access, Arc::new(TestHostOps), token);
        let server = server.with_git(git.clone()).with_limits(limits);
        let running = server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        Self {
            harness,
            git,
            running,
        }
    }

    fn request(&self, token: &str, method: &str, path: &str) -> Request {
        let basic = STANDARD.encode(format!("anyone:{token}"));
        Request::new(method, path)
            .header("Host", &self.running.addr().to_string())
            .header("Authorization", &format!("Basic {basic}"))
    }

    async fn send(&self, request: Vec<u8>) -> Response {
        raw(self.running.addr(), &request).await.unwrap()
    }

    async fn get(&self, token: &str, path: &str) -> Response {
        self.send(self.request(token, "GET", path).bytes()).await
    }

    async fn post(&self, token: &str, service: &str, body: &str) -> Response {
        let kind = format!("application/x-{service}-request");
        let path = format!("/git/shop.git/{service}");
        let request = self
            .request(token, "POST", &path)
            .header("Content-Type", &kind);
        self.send(request.with(body)).await
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.git.asked.lock())
    }
}

/// Returns the body of a push that creates refs.
fn push_of(names: &[&str]) -> String {
    let mut body = String::new();
    for (index, name) in names.iter().enumerate() {
        let features = if index == 0 { "\0 report-status" } else { "" };
        let line = format!("{OLD} {NEW} {name}{features}\n");
        body.push_str(&format!("{:04x}{line}", line.len() + 4));
    }
    body + "0000PACK"
}

/// Every request of git, with the scope that it needs.
const ROUTES: &[(&str, &str, &str)] = &[
    ("GET", "/info/refs?service=git-upload-pack", "read"),
    ("GET", "/info/refs?service=git-receive-pack", "work"),
    ("POST", "/git-upload-pack", "read"),
    ("POST", "/git-receive-pack", "work"),
];

#[tokio::test]
async fn p22_every_request_of_git_needs_its_scope() {
    let served = Served::new().await;
    for scope in Scope::ALL {
        let harness = &served.harness;
        let token = harness.create_token(scope.as_str(), &[scope], None).await;
        for (method, path, needed) in ROUTES {
            let service = path.rsplit(['/', '=']).next().unwrap();
            let path = format!("/git/shop.git{path}");
            let request = served
                .request(&token, method, &path)
                .header("Content-Type", &format!("application/x-{service}-request"));
            let body = push_of(&["refs/heads/windlass/s/task-1"]);
            let body = if *method == "POST" {
                body
            } else {
                String::new()
            };
            let response = served.send(request.with(&body)).await;
            let is_allowed = *needed == scope.as_str();
            let expected = if is_allowed { 200 } else { 403 };
            assert_eq!(response.status, expected, "{scope} {path}: {response:?}");
            let names_it = response.body.contains(&format!("the scope {needed},"));
            assert_eq!(names_it, !is_allowed, "{response:?}");
        }
    }
    for (method, path, _) in ROUTES {
        let path = format!("/git/shop.git{path}");
        for request in [
            Request::new(method, &path).header("Host", &served.running.addr().to_string()),
            served.request("wrong", method, &path),
        ] {
            let response = served.send(request.bytes()).await;
            assert_eq!(response.status, 401, "{response:?}");
            let scheme = response.header("www-authenticate").unwrap();
            assert!(scheme.starts_with("Basic realm="), "{scheme}");
        }
        // The password of git is no way into anything else.
        let other = served.request(served.harness.token(), "GET", "/api/v1/health");
        assert_eq!(served.send(other.bytes()).await.status, 401);
    }
}

#[tokio::test]
async fn p22_repositories_of_other_projects_do_not_exist() {
    let served = Served::new().await;
    let add = async |name: &str, root: &str| {
        let new = NewProject {
            name: name.to_owned(),
            root: root.into(),
        };
        served.harness.store.add_project(new).await.unwrap().id
    };
    let garden = add("garden", "/home/me/garden").await;
    let projects = Some(vec![garden]);
    let harness = &served.harness;
    let all = [Scope::Read, Scope::Work, Scope::Approve];
    let token = harness.create_token("garden", &all, projects).await;
    let refs = "info/refs?service=git-upload-pack";
    for (path, status) in [
        (format!("/git/garden.git/{refs}"), 200),
        (format!("/git/garden/{refs}"), 200),
        (format!("/git/shop.git/{refs}"), 404),
        (format!("/git/nothing.git/{refs}"), 404),
        (format!("/git/.git/{refs}"), 404),
        (format!("/git/..%2fgarden.git/{refs}"), 404),
        (format!("/git/garden.git%00/{refs}"), 404),
        (format!("/git/./garden.git/{refs}"), 404),
        ("/git/garden.git/info/refs".to_owned(), 404),
        ("/git/garden.git/info/refs?service=git-evil".to_owned(), 404),
        ("/git/garden.git/HEAD".to_owned(), 404),
        ("/git/garden.git/config".to_owned(), 404),
        ("/git/garden.git/objects/info/packs".to_owned(), 404),
        ("/git/../../etc/passwd".to_owned(), 404),
    ] {
        let response = served.get(&token, &path).await;
        assert_eq!(response.status, status, "{path}: {response:?}");
    }
    assert_eq!(
        served.post(&token, "git-upload-pack", "0000").await.status,
        404
    );
    // Two projects with one name are ambiguous only for those who see both.
    add("garden", "/home/you/garden").await;
    let path = format!("/git/garden.git/{refs}");
    assert_eq!(served.get(&token, &path).await.status, 200);
    assert_eq!(served.get(harness.token(), &path).await.status, 409);
}

#[tokio::test]
async fn p22_only_approve_moves_other_refs_than_those_of_tasks() {
    let served = Served::new().await;
    let harness = &served.harness;
    let work = harness.create_token("ci", &[Scope::Work], None).await;
    let both = [Scope::Work, Scope::Approve];
    let lead = harness.create_token("lead", &both, None).await;
    let own = "refs/heads/windlass/s/task-1";
    for refs in [
        &["refs/heads/main"][..],
        &[own, "refs/heads/main"],
        &["refs/windlass/s/target/main"],
        &["refs/tags/v1"],
    ] {
        let body = push_of(refs);
        let refused = served.post(&work, "git-receive-pack", &body).await;
        assert_eq!(refused.status, 200, "{refused:?}");
        for name in refs {
            let line = format!("ng {name} the scope approve is needed");
            assert!(refused.body.contains(&line), "{refused:?}");
        }
        assert_eq!(served.asked(), Vec::<String>::new(), "git is not asked");
        served.post(&lead, "git-receive-pack", &body).await;
        // A line break at the end of a command is not passed on.
        let expected = format!("shop Push {} bytes", body.len() - refs.len());
        assert_eq!(served.asked(), [expected]);
    }
    let body = push_of(&[own]);
    served.post(&work, "git-receive-pack", &body).await;
    let expected = format!("shop Push {} bytes", body.len() - 1);
    assert_eq!(served.asked(), [expected]);

    let entries = harness.get("/audit?limit=3").await.json();
    let entry = |index: usize| {
        let entry = &entries[index];
        let text = |key: &str| entry[key].as_str().unwrap().to_owned();
        (text("actor"), text("result"), text("subject"))
    };
    let (actor, result, subject) = entry(0);
    assert_eq!((actor.as_str(), result.as_str()), ("ci", "ok"));
    assert_eq!(subject, format!("{own} 0000000000..1234567890"));
    let (actor, result, subject) = entry(2);
    assert_eq!((actor.as_str(), result.as_str()), ("ci", "missing_scope"));
    assert!(subject.starts_with("refs/tags/v1 "), "{subject}");
}

#[tokio::test]
async fn p12_pushes_and_fetches_are_limited() {
    let served = Served::new().await;
    let token = served.harness.token().to_owned();
    let push = |body: String| {
        let served = &served;
        let token = token.clone();
        async move { served.post(&token, "git-receive-pack", &body).await.status }
    };
    let body = push_of(&["refs/heads/main"]);
    assert_eq!(push(format!("{body}{}", "x".repeat(99_000))).await, 200);
    assert_eq!(push(format!("{body}{}", "x".repeat(101_000))).await, 413);
    for garbage in ["", "PACK", "0001", "zzzz0000", "0009push-"] {
        assert_eq!(push(garbage.to_owned()).await, 400, "{garbage}");
    }
    assert_eq!(
        push("0000".to_owned()).await,
        200,
        "asks whether it may push"
    );
    let path = "/git/shop.git/git-upload-pack";
    let kind = "application/x-git-upload-pack-request";
    for (name, value, status) in [
        ("Content-Type", "text/plain", 415),
        ("Content-Encoding", "br", 415),
        ("Content-Encoding", "gzip", 400),
        ("Git-Protocol", "version=2", 200),
    ] {
        let mut request = served.request(&token, "POST", path).header(name, value);
        if name != "Content-Type" {
            request = request.header("Content-Type", kind);
        }
        served.asked();
        let response = served.send(request.with("0000")).await;
        assert_eq!(response.status, status, "{name}: {value}: {response:?}");
    }
    assert_eq!(served.asked(), ["shop Fetch version=2 4 bytes"]);
}

#[tokio::test]
async fn first_request_of_a_git_client_is_not_in_the_audit_log() {
    let served = Served::new().await;
    let path = "/git/shop.git/info/refs?service=git-upload-pack";
    let host = served.running.addr().to_string();
    let asked = Request::new("GET", path).header("Host", &host).bytes();
    assert_eq!(served.send(asked).await.status, 401);
    assert_eq!(served.get("wrong", path).await.status, 401);
    let entries = served.harness.get("/audit").await.json();
    let results: Vec<&str> = entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["result"].as_str().unwrap())
        .collect();
    assert_eq!(results, ["unauthorized"], "{entries:#}");
}

#[tokio::test]
async fn server_without_repositories_says_how_to_offer_them() {
    let harness = Harness::new().await;
    let request = Request::new("GET", "/git/shop.git/info/refs?service=git-upload-pack")
        .header("Host", &harness.host())
        .header("x-api-key", harness.token());
    let response = harness.send(request.bytes()).await;
    assert_eq!(response.status, 404, "{response:?}");
    assert!(response.body.contains("--git"), "{response:?}");
}
