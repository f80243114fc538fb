//! A server with a real store, and host operations with one change.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_core::{ExposeSecret, SecretString, Timestamp};
use windlass_server::{
    AgentCard, AgentHealth, AskAnswer, AskRequest, Evaluation, HostOps, HostOpsError,
    RunningServer, Server, ServerLimits, Token,
};
use windlass_tasks::{
    AccessStore, Broadcast, NewAccessToken, NewProject, NewTask, Project, ProjectId, Projects,
    Push, Scope, Task, TaskQueue, TaskStore,
};

use super::client::{Request, Response, raw};
use super::store::FaultyStore;

pub(crate) struct Harness {
    pub(crate) store: Arc<FaultyStore>,
    pub(crate) access: Arc<dyn AccessStore>,
    pub(crate) project: Project,
    pub(crate) token: SecretString,
    pub(crate) running: RunningServer,
    _dir: TempDir,
}

/// Raises the limit of open files for a test with this many connections, whose two ends are in one process.
pub(crate) fn raise_file_limit(connections: usize) {
    let limit = getrlimit(Resource::Nofile);
    let needed = 2 * connections as u64;
    let hard = limit.maximum.unwrap_or(u64::MAX);
    assert!(
        hard >= needed,
        "the test needs {needed} open files: ulimit -Hn"
    );
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
}

pub(crate) const DIFF: &str = "\
diff --git a/src/lib.rs b/src/lib.rs
index 1..2 100644
--- a/src/lib.rs
+++ b/src/lib.rs
@@ -1,2 +1,2 @@ mod x
-fn old() {}
+fn new() -> u8 { 7 } // \u{1b}[31m \u{202e}
 // end
";

/// Host operations that return one change and merge nothing.
#[derive(Debug)]
pub(crate) struct TestHostOps;

impl HostOps for TestHostOps {
    fn diff<'a>(
        &'a self,
        _: &'a Task,
        attempt: Option<u32>,
    ) -> BoxFuture<'a, Result<String, HostOpsError>> {
        Box::pin(async move {
            match attempt {
                None | Some(1) => Ok(DIFF.to_owned()),
                Some(_) => Err(HostOpsError::Refused("there is no such attempt".to_owned())),
            }
        })
    }

    fn version_diff<'a>(
        &'a self,
        _: &'a Task,
        from: u32,
        to: u32,
    ) -> BoxFuture<'a, Result<String, HostOpsError>> {
        Box::pin(async move {
            match (from, to) {
                (1, 2) => Ok(DIFF.to_owned()),
                _ => Err(HostOpsError::Refused("there is no such attempt".to_owned())),
            }
        })
    }

    fn merge<'a>(
        &'a self,
        task: &'a Task,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Value, HostOpsError>> {
        Box::pin(async move {
            match task.id.get() {
                1 => Ok(json!({"status": "nothing"})),
                2 => Err(HostOpsError::Refused("your edits would be lost".to_owned())),
                _ => Err(HostOpsError::Internal("/home/me/secret broke".to_owned())),
            }
        })
    }

    fn preview_merge<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<Value, HostOpsError>> {
        self.merge(task, "")
    }

    fn push<'a>(
        &'a self,
        task: &'a Task,
        remote: Option<String>,
    ) -> BoxFuture<'a, Result<Push, HostOpsError>> {
        Box::pin(async move {
            let why = format!("task {} has no branch for {remote:?}", task.id);
            Err(HostOpsError::Refused(why))
        })
    }

    fn agents(&self) -> BoxFuture<'_, Result<Vec<AgentCard>, HostOpsError>> {
        Box::pin(async {
            Ok(vec![AgentCard {
                name: "codex".to_owned(),
                backend: "codex".to_owned(),
                transport: Some("exec".to_owned()),
                version: Some("1.0.0".to_owned()),
                capabilities: vec!["tools".to_owned()],
                default: true,
                configured: true,
                health: AgentHealth::Ok,
                detail: None,
            }])
        })
    }

    fn evaluations(&self) -> BoxFuture<'_, Result<Vec<Evaluation>, HostOpsError>> {
        Box::pin(async {
            Ok(vec![Evaluation {
                file: "/home/me/eval.toml".to_owned(),
                updated_at: Timestamp(1),
                report: json!({"agents": [], "results": [], "routing": {}}),
            }])
        })
    }

    fn ask<'a>(
        &'a self,
        root: &'a Path,
        ask: AskRequest,
    ) -> BoxFuture<'a, Result<AskAnswer, HostOpsError>> {
        Box::pin(async move {
            Ok(AskAnswer {
                agent: ask.agent.unwrap_or_else(|| "codex".to_owned()),
                answer: format!("{}: {}", root.display(), ask.prompt),
                usage: None,
            })
        })
    }
}

impl Harness {
    pub(crate) async fn new() -> Self {
        Self::with(ServerLimits::default()).await
    }

    pub(crate) async fn with(limits: ServerLimits) -> Self {
        let dir = TempDir::new().unwrap();
        let url = format!("sqlite:{}/tasks.db", dir.path().display());
        Self::on(&url, limits, dir).await
    }

    pub(crate) async fn on(url: &str, limits: ServerLimits, dir: TempDir) -> Self {
        let settings = windlass_store::StoreSettings::default();
        let opened = windlass_store::open_all(url, settings).await.unwrap();
        let store = Arc::new(FaultyStore::new(opened.tasks, opened.calls));
        let access = opened.access;
        let project = NewProject {
            name: "shop".to_owned(),
            root: "/home/me/shop".into(),
        };
        let project = store.add_project(project).await.unwrap();
        let token = Token::generate().unwrap();
        let running = serve(&store, &access, &token, project.id, limits, "127.0.0.1:0").await;
        Self {
            store,
            access,
            project,
            token,
            running,
            _dir: dir,
        }
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.running.addr()
    }

    pub(crate) fn host(&self) -> String {
        self.addr().to_string()
    }

    pub(crate) fn token(&self) -> &str {
        self.token.expose_secret()
    }

    /// Creates an authenticated request.
    pub(crate) fn request(&self, method: &str, path: &str) -> Request {
        Request::new(method, &format!("/api/v1{path}"))
            .header("Host", &self.host())
            .header("Authorization", &format!("Bearer {}", self.token()))
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.send(self.request("GET", path).bytes()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        let request = self
            .request("POST", path)
            .header("Content-Type", "application/json");
        self.send(request.with(&body.to_string())).await
    }

    pub(crate) async fn send(&self, request: Vec<u8>) -> Response {
        raw(self.addr(), &request).await.unwrap()
    }

    /// Creates a token of the store, and returns its secret.
    pub(crate) async fn create_token(
        &self,
        name: &str,
        scopes: &[Scope],
        projects: Option<Vec<ProjectId>>,
    ) -> String {
        let (secret, hash) = Token::generate_for_store().unwrap();
        let new = NewAccessToken {
            name: name.to_owned(),
            hash,
            scopes: scopes.to_vec(),
            projects,
            expires_in: None,
        };
        self.access.add_token(new).await.unwrap();
        secret.expose_secret().to_owned()
    }

    /// Sends a request with another token.
    pub(crate) async fn send_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Response {
        let request = Request::new(method, &format!("/api/v1{path}"))
            .header("Host", &self.host())
            .header("Authorization", &format!("Bearer {token}"))
            .header("Content-Type", "application/json");
        let body = body.map(Value::to_string).unwrap_or_default();
        self.send(request.with(&body)).await
    }

    pub(crate) async fn add(&self, title: &str) -> Task {
        let new = NewTask::new(self.project.id, title);
        self.store.enqueue(vec![new]).await.unwrap().remove(0).task
    }

    /// Appends `count` events, and returns the sequence number of the last one.
    pub(crate) async fn broadcast(&self, count: usize, length: usize) -> u64 {
        broadcast(&*self.store, self.project.id, count, length).await
    }
}

pub(crate) async fn serve(
    store: &Arc<FaultyStore>,
    access: &Arc<dyn AccessStore>,
    token: &SecretString,
    project: ProjectId,
    limits: ServerLimits,
    listen: &str,
) -> RunningServer {
    let calls = Arc::clone(&store.calls);
    let store: Arc<dyn TaskStore> = Arc::clone(store) as _;
    let host_ops = Arc::new(TestHostOps);
    Server::new(store, Arc::clone(access), host_ops, Token::new(token))
        .with_store_kind("sqlite")
        .with_project(project)
        .with_model_calls(calls)
        .with_limits(limits)
        .listen(listen.parse().unwrap())
        .await
        .unwrap()
}

pub(crate) async fn broadcast(
    store: &dyn TaskStore,
    project: ProjectId,
    count: usize,
    length: usize,
) -> u64 {
    let note = |number: usize| Broadcast::ActivityUpdate {
        project_id: project,
        activity_type: "note".to_owned(),
        agent_id: "worker".to_owned(),
        message: format!("{number:>length$}"),
        task_id: None,
    };
    let mut last = 0;
    for from in (0..count).step_by(100) {
        let notes = (from..count.min(from + 100)).map(note).collect();
        last = store.append_events(None, notes).await.unwrap();
    }
    last
}
