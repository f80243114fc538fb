//! An agent API with real agents and a scripted model, behind a guard.

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
    ServedModel, TraceSink, error_response,
};
use windlass_sandbox::{Host, Sandbox};
use windlass_scripted::{RunningModel, Script, ScriptedModel};
use windlass_wire::{ErrorKind, ModelError};

use super::agent_api_harness::SavedTraces;
use super::tools::install;

/// The token that the agent API requires.
pub(crate) const TOKEN: &str = "token-7f3a";
/// The key that the model's provider requires. No other server may receive it.
pub(crate) const CANARY: &str = "canary-91bd";

/// Agents by name.
struct NamedAgents(BTreeMap<&'static str, ServedModel>);

impl ModelCatalog for NamedAgents {
    fn list(&self) -> Vec<ModelInfo> {
        let info = |name: &&'static str| ModelInfo {
            id: (*name).to_owned(),
            kind: ModelInfoKind::Agent,
        };
        self.0.keys().map(info).collect()
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

/// Creates an agent from its configuration.
type Factory = Box<dyn Fn(&Value) -> windlass_core::Result<AgentHandle>>;

/// Two real programs, and models of three kinds, all with the scripted model as provider.
fn named_agents(context: &AgentContext, upstream: &str) -> BTreeMap<&'static str, ServedModel> {
    let config_with_key = |model: &str, endpoint: String| {
        json!({
            "model": model, "endpoint": endpoint, "api_key_env": "UPSTREAM_KEY", "max_retries": 0,
        })
    };
    let program = |name: &'static str, make: Factory, endpoint: String| {
        let agent = make(&config_with_key("gpt-5.5", endpoint)).unwrap();
        (name, ServedModel::new(name, agent))
    };
    let native = |name: &'static str, kind, api: Option<&str>| {
        let mut config = config_with_key(name, upstream.to_owned());
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

/// An agent API with a scripted model and agents, behind a guard.
pub(crate) struct AgentApiSetup {
    pub(crate) url: String,
    pub(crate) upstream: RunningModel,
    pub(crate) api: AgentApi,
    pub(crate) traces: Arc<SavedTraces>,
    pub(crate) dir: TempDir,
}

impl AgentApiSetup {
    pub(crate) async fn new(script: Script) -> Self {
        let dir = TempDir::with_prefix_in("api-", env!("CARGO_TARGET_TMPDIR")).unwrap();
        let listen = "127.0.0.1:0".parse().unwrap();
        let upstream = ScriptedModel::start(script, listen).await.unwrap();
        let context = context(dir.path()).await;
        let named_agents = named_agents(&context, &upstream.url());
        let traces = Arc::new(SavedTraces::default());
        let api = AgentApi::new(
            Arc::new(NamedAgents(named_agents)),
            Arc::clone(&traces) as Arc<dyn TraceSink>,
            dir.path().join("request-dirs"),
            Arc::new(SystemClock::new()),
            AgentApiLimits::default(),
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = api.router().layer(from_fn(guard));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            url,
            upstream,
            api,
            traces,
            dir,
        }
    }

    /// Waits until every request is cleaned up, and returns the remaining directories.
    pub(crate) async fn settled(&self) -> Vec<PathBuf> {
        self.api.close().await;
        let dirs = std::fs::read_dir(self.dir.path().join("request-dirs"));
        let left = dirs.into_iter().flatten().flatten();
        left.map(|entry| entry.path()).collect()
    }
}

async fn guard(request: Request, next: Next) -> axum::response::Response {
    if has_token(&request) {
        return next.run(request).await;
    }
    let error = ModelError::new(ErrorKind::Authentication, "no token");
    error_response(request.uri().path(), &error)
}

fn has_token(request: &Request) -> bool {
    let header = |name| request.headers().get(name)?.to_str().ok();
    let token = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    token.or(header("x-api-key")) == Some(TOKEN)
}

async fn context(dir: &Path) -> AgentContext {
    let path = format!(
        "{}:/usr/local/bin:/usr/bin:/bin",
        install("agents", "agents/node_modules/.bin").display(),
    );
    let home = dir.join("home");
    std::fs::create_dir_all(&home).unwrap();
    let host = Host::new([
        ("HOME", home.to_str().unwrap()),
        ("PATH", path.as_str()),
        ("UPSTREAM_KEY", CANARY),
    ]);
    let sandbox = Sandbox::detect(host).await.unwrap();
    AgentContext::new(sandbox, dir.join("state"))
}
