//! The suite that every backend must pass.

use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;
use serde_json::json;
use windlass_core::{AgentHandle, Result};
use windlass_gateway::RunningModel;
use windlass_testkit::conformance::{BackendUnderTest, CaseScript, exercise};

use super::super::conformance::script;
use super::world::{Api, Desk, scripted};

/// A model agent, and a scripted model for each case.
struct Model {
    api: Api,
    kept: Mutex<Vec<(Desk, RunningModel)>>,
}

impl BackendUnderTest for Model {
    fn agent<'a>(&'a self, stage: &'a CaseScript) -> BoxFuture<'a, Result<AgentHandle>> {
        Box::pin(async move {
            let model = scripted(script(stage)["turns"].clone()).await;
            let desk = Desk::new(self.api, &model.url(), json!({})).await;
            let handle = desk.handle();
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push((desk, model));
            Ok(handle)
        })
    }

    fn live_processes(&self) -> Vec<String> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let pids = kept.iter().flat_map(|(desk, _)| desk.world.processes());
        pids.map(|pid| format!("process {pid}")).collect()
    }
}

async fn passes(api: Api) {
    let kept = Mutex::default();
    let report = exercise(&Model { api, kept }).await;
    assert!(report.passed(), "{api:?}: {report}");
}

#[tokio::test]
async fn ollama_passes() {
    passes(Api::Ollama).await;
}

#[tokio::test]
async fn chat_completions_pass() {
    passes(Api::Chat).await;
}

#[tokio::test]
async fn responses_pass() {
    passes(Api::Responses).await;
}

#[tokio::test]
async fn messages_pass() {
    passes(Api::Messages).await;
}
