//! A real server on this machine, where there is one: `LOCAL_MODEL_URL=http://127.0.0.1:8080`.
//!
//! `LOCAL_MODEL` names the model. Small ones follow a schema where they make no calls of their own.

use serde_json::json;

use super::world::{Api, Desk, end, tools};

#[tokio::test]
#[ignore = "needs a model server at LOCAL_MODEL_URL"]
async fn a_real_small_model_changes_a_file() {
    let url = std::env::var("LOCAL_MODEL_URL").unwrap();
    let model = std::env::var("LOCAL_MODEL").unwrap_or_else(|_| "local".to_owned());
    let mut wrong = Vec::new();
    for api in [Api::Chat, Api::Responses, Api::Messages] {
        let more = json!({
            "model": model,
            "tool_mode": "schema",
            "max_steps": 6,
            "max_tokens": 1024,
            "timeout_secs": 300,
        });
        let desk = Desk::new(api, &url, more).await;
        let prompt = "Write the word hello into the file greeting.txt. Then you are done.";
        let events = desk.ask(prompt).await;
        println!("{api:?}: {:?}: {}", tools(&events), end(&events));
        let written = desk.world.read("greeting.txt");
        if !written.to_lowercase().contains("hello") {
            wrong.push((api, written));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
