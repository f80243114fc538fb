//! Serves an agent as a model on a loopback address, asks it as any OpenAI-compatible client does, and stops.
//!
//! Run it with `cargo run -p windlass --example serve`.

use std::io::Write;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use windlass_agents::AgentContext;
use windlass_agents::model::{ModelAgent, ModelKind, ModelSettings, NoTools, execute};
use windlass_core::{AgentHandle, SecretString, SessionOptions, SystemClock};
use windlass_gateway::{
    AgentApi, AgentApiLimits, ModelCatalog, ModelInfo, ModelInfoKind, ModelLookupError, ServedModel,
};
use windlass_sandbox::{Host, Sandbox, init};
use windlass_server::{
    AgentCard, AskAnswer, AskRequest, HostOps, HostOpsError, Server, StoreTraceSink, Token,
};
use windlass_store::StoreSettings;
use windlass_tasks::{Push, Task};
use windlass_testkit::MockAgent;

/// The name of the model in requests.
const MODEL: &str = "echo";

/// The models of this server: one agent, which echoes the prompt.
struct OneModel(AgentHandle);

impl ModelCatalog for OneModel {
    fn list(&self) -> Vec<ModelInfo> {
        vec![ModelInfo {
            id: MODEL.to_owned(),
            kind: ModelInfoKind::Agent,
        }]
    }

    fn find(&self, name: &str) -> Result<ServedModel, ModelLookupError> {
        if name != MODEL {
            return Err(ModelLookupError::Unknown {
                name: name.to_owned(),
                near: vec![MODEL.to_owned()],
            });
        }
        Ok(ServedModel::new(MODEL, self.0.clone()))
    }
}

/// What the task API of the server needs from git and the machine. This server has no tasks.
#[derive(Debug)]
struct NoRepository;

impl HostOps for NoRepository {
    fn diff<'a>(
        &'a self,
        _: &'a Task,
        _: Option<u32>,
    ) -> BoxFuture<'a, Result<String, HostOpsError>> {
        async { Err(HostOpsError::Refused("there is no repository".to_owned())) }.boxed()
    }

    fn version_diff<'a>(
        &'a self,
        _: &'a Task,
        _: u32,
        _: u32,
    ) -> BoxFuture<'a, Result<String, HostOpsError>> {
        async { Err(HostOpsError::Refused("there is no repository".to_owned())) }.boxed()
    }

    fn merge<'a>(&'a self, _: &'a Task, _: &'a str) -> BoxFuture<'a, Result<Value, HostOpsError>> {
        async { Err(HostOpsError::Refused("there is no repository".to_owned())) }.boxed()
    }

    fn preview_merge<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<Value, HostOpsError>> {
        self.merge(task, "")
    }

    fn push<'a>(
        &'a self,
        _: &'a Task,
        _: Option<String>,
    ) -> BoxFuture<'a, Result<Push, HostOpsError>> {
        async { Err(HostOpsError::Refused("there is no repository".to_owned())) }.boxed()
    }

    fn ask<'a>(
        &'a self,
        _: &'a std::path::Path,
        _: AskRequest,
    ) -> BoxFuture<'a, Result<AskAnswer, HostOpsError>> {
        async { Err(HostOpsError::Refused("there is no repository".to_owned())) }.boxed()
    }

    fn agents(&self) -> BoxFuture<'_, Result<Vec<AgentCard>, HostOpsError>> {
        async { Ok(Vec::new()) }.boxed()
    }
}

fn main() -> anyhow::Result<()> {
    // A program that uses the sandbox is also its init process. In that case this call does not return.
    init::run_if_invoked();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let url = format!("sqlite:{}", dir.path().join("tasks.db").display());
    let store = windlass_store::open_all(&url, StoreSettings::default()).await?;
    let token = Token::generate()?;
    // A server for sandboxed agents needs a directory outside of the system's temporary one; the mock runs no program.
    let agent_api = AgentApi::new(
        Arc::new(OneModel(AgentHandle::wrap(MockAgent::new()))),
        Arc::new(StoreTraceSink(store.tasks.clone())),
        dir.path(),
        Arc::new(SystemClock::new()),
        AgentApiLimits::default(),
    );
    let server = Server::new(
        store.tasks,
        store.access,
        Arc::new(NoRepository),
        Token::new(&token),
    )
    .with_agent_api(agent_api)
    .listen("127.0.0.1:0".parse()?)
    .await?;

    let answer = ask(server.url(), token).await;
    server.stop().await;
    let answer = answer?;
    writeln!(std::io::stdout(), "{answer}")?;
    anyhow::ensure!(answer.contains("haul away"));
    Ok(())
}

/// Sends one prompt to the model. Any other client works, too: the API is that of OpenAI, with the token as its key.
async fn ask(url: &str, token: SecretString) -> anyhow::Result<String> {
    let settings = json!({ "endpoint": url, "model": MODEL, "api_key_env": "SERVER_TOKEN" });
    let settings = ModelSettings::from_value(&settings)?;
    let dir = tempfile::tempdir()?;
    let sandbox = Sandbox::detect(Host::current()).await?;
    let context = AgentContext::new(sandbox, dir.path().join("state"))
        .with_secrets(move |name| (name == "SERVER_TOKEN").then(|| token.clone()));
    let client = ModelAgent::new(ModelKind::OpenAi, settings, context, Arc::new(NoTools))?.handle();
    let options = SessionOptions::in_dir(dir.path());
    Ok(execute(&client, "haul away", options).await?.last)
}
