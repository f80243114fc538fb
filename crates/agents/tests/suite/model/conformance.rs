//! The conformance suite, on model agents.

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;
use windlass_core::{AgentHandle, Result};
use windlass_scripted::RunningModel;
use windlass_testkit::conformance::{BackendUnderTest, CaseScript, exercise};

use super::super::conformance::script;
use super::harness::{Api, ModelFixture, scripted};

/// A model agent, and a scripted model for each case.
struct Model {
    api: Api,
    fixtures: Mutex<Vec<(ModelFixture, RunningModel)>>,
}

impl BackendUnderTest for Model {
    fn agent<'a>(&'a self, case: &'a CaseScript) -> BoxFuture<'a, Result<AgentHandle>> {
        Box::pin(async move {
            let model = scripted(script(case)["turns"].clone()).await;
            let fixture = ModelFixture::new(self.api, &model.url(), json!({})).await;
            let handle = fixture.handle();
            let mut fixtures = self.fixtures.lock();
            fixtures.push((fixture, model));
            Ok(handle)
        })
    }

    fn live_processes(&self) -> Vec<String> {
        let fixtures = self.fixtures.lock();
        let pids = fixtures
            .iter()
            .flat_map(|(fixture, _)| fixture.harness.processes());
        pids.map(|pid| format!("process {pid}")).collect()
    }
}

async fn passes(api: Api) {
    let fixtures = Mutex::default();
    let report = exercise(&Model { api, fixtures }).await;
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
