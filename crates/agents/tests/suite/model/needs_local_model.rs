//! A real model server on this machine: `LOCAL_MODEL_URL=http://127.0.0.1:8080`.
//!
//! `LOCAL_MODEL` names the model. The schema mode is used, because small models often have no native tool calls.

use serde_json::json;

use super::harness::{Api, ModelFixture, end, tools};

#[tokio::test]
#[ignore = "needs a model server at LOCAL_MODEL_URL"]
async fn local_model_changes_a_file() {
    let url = std::env::var("LOCAL_MODEL_URL").unwrap();
    let model = std::env::var("LOCAL_MODEL").unwrap_or_else(|_| "local".to_owned());
    let mut failures = Vec::new();
    for api in [Api::Chat, Api::Responses, Api::Messages] {
        let extra = json!({
            "model": model,
            "tool_mode": "schema",
            "max_steps": 6,
            "max_tokens": 1024,
            "timeout_secs": 300,
        });
        let fixture = ModelFixture::new(api, &url, extra).await;
        let prompt = "Write the word hello into the file greeting.txt. Then you are done.";
        let events = fixture.ask(prompt).await;
        println!("{api:?}: {:?}: {}", tools(&events), end(&events));
        let written = fixture.harness.read("greeting.txt");
        if !written.to_lowercase().contains("hello") {
            failures.push((api, written));
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}
