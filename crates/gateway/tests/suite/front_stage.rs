//! A front with real agents and a scripted model behind it, and a guard before it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use windlass_agents::model::{ModelAgent, ModelKind, ModelSettings, NoTools};
use windlass_agents::{AgentContext, claude, codex};
use windlass_core::{AgentHandle, SystemClock};
use windlass_gateway::{
    AgentApi, AgentApiLimits, ModelCatalog, ModelInfo, ModelInfoKind, ModelLookupError,
    RunningModel, Script, ScriptedModel, ServedModel, TraceSink, error_response,
};
use windlass_sandbox::{Host, Sandbox};
use windlass_wire::{ErrorKind, ModelError};

use super::front_world::Kept;
use super::tools::install;

/// What the front asks for.
pub(crate) const TOKEN: &str = "token-7f3a";
/// What the model's provider asks for, and nobody else may see.
pub(crate) const CANARY: &str = "canary-91bd";

/// Some agents by name.
struct Named(BTreeMap<&'static str, ServedModel>);

impl ModelCatalog for Named {
    fn list(&self) -> Vec<ModelInfo> {
        let card = |name: &&'static str| ModelInfo {
            id: (*name).to_owned(),
            kind: ModelInfoKind::Agent,
        };
        self.0.keys().map(card).collect()
    }

    fn find(&self, name: &str) -> Result<ServedModel, ModelLookupError> {
        self.0
            .get(name)
            .cloned()
            .ok_or_else(|| ModelLookupError::Unknown {
                name: name.to_owned(),
                near: Vec::new(),
            })
    }
}

/// Makes an agent of its configuration.
type Factory = Box<dyn Fn(&Value) -> windlass_core::Result<AgentHandle>>;

/// Two real programs, and models of three kinds, all on the scripted one.
fn named(context: &AgentContext, upstream: &str) -> BTreeMap<&'static str, ServedModel> {
    let keyed = |model: &str, endpoint: String| {
        json!({
            "model": model, "endpoint": endpoint, "api_key_env": "UPSTREAM_KEY", "max_retries": 0,
        })
    };
    let program = |name: &'static str, make: Factory, endpoint: String| {
        let agent = make(&keyed("gpt-5.5", endpoint)).unwrap();
        (name, ServedModel::new(name, agent))
    };
    let native = |name: &'static str, kind, api: Option<&str>| {
        let mut config = keyed(name, upstream.to_owned());
        config["api_spec"] = json!(api);
        let settings = ModelSettings::from_value(&config).unwrap();
        let agent = ModelAgent::new(kind, settings, context.clone(), Arc::new(NoTools)).unwrap();
        let served = ServedModel {
            native: Some(Arc::new(agent.clone())),
            ..ServedModel::new(name, agent.handle())
        };
        (name, served)
    };
    let codex = Box::new(codex::factory(context.clone()));
    let claude = Box::new(claude::factory(context.clone()));
    BTreeMap::from([
        program("codex", codex, format!("{upstream}/v1")),
        program("claude", claude, upstream.to_owned()),
        native("model", ModelKind::OpenAi, None),
        native("gpt-5.5", ModelKind::OpenAi, Some("responses")),
        native("claude-coder", ModelKind::Anthropic, None),
    ])
}

/// A front with a scripted model and agents behind it, and a guard before it.
pub(crate) struct Stage {
    pub(crate) url: String,
    pub(crate) upstream: RunningModel,
    pub(crate) front: AgentApi,
    pub(crate) traces: Arc<Kept>,
    pub(crate) folder: TempDir,
}

impl Stage {
    pub(crate) async fn new(script: Script) -> Self {
        let folder = TempDir::with_prefix_in("front-", env!("CARGO_TARGET_TMPDIR")).unwrap();
        let listen = "127.0.0.1:0".parse().unwrap();
        let upstream = ScriptedModel::start(script, listen).await.unwrap();
        let context = context(folder.path()).await;
        let named = named(&context, &upstream.url());
        let traces = Arc::new(Kept::default());
        let front = AgentApi::new(
            Arc::new(Named(named)),
            Arc::clone(&traces) as Arc<dyn TraceSink>,
            folder.path().join("rooms"),
            Arc::new(SystemClock::new()),
            AgentApiLimits::default(),
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = front.router().layer(from_fn(guard));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            url,
            upstream,
            front,
            traces,
            folder,
        }
    }

    /// Waits until every request is tidied up after, and says what is left.
    pub(crate) async fn settled(&self) -> Vec<PathBuf> {
        self.front.close().await;
        let rooms = std::fs::read_dir(self.folder.path().join("rooms"));
        let left = rooms.into_iter().flatten().flatten();
        left.map(|entry| entry.path()).collect()
    }
}

async fn guard(request: Request, next: Next) -> axum::response::Response {
    if is_known(&request) {
        return next.run(request).await;
    }
    let error = ModelError::new(ErrorKind::Authentication, "no token");
    error_response(request.uri().path(), &error)
}

fn is_known(request: &Request) -> bool {
    let header = |name| request.headers().get(name)?.to_str().ok();
    let token = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    token.or(header("x-api-key")) == Some(TOKEN)
}

async fn context(folder: &Path) -> AgentContext {
    let path = format!(
        "{}:/usr/local/bin:/usr/bin:/bin",
        install("agents", "agents/node_modules/.bin").display(),
    );
    let home = folder.join("home");
    std::fs::create_dir_all(&home).unwrap();
    let host = Host::new([
        ("HOME", home.to_str().unwrap()),
        ("PATH", path.as_str()),
        ("UPSTREAM_KEY", CANARY),
    ]);
    let sandbox = Sandbox::detect(host).await.unwrap();
    AgentContext::new(sandbox, folder.join("state"))
}
