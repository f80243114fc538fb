//! A real server on this machine, where there is one: `LOCAL_MODEL_URL=http://127.0.0.1:8080`.
//!
//! `LOCAL_MODEL` names the model. Small ones follow a schema where they make no calls of their own.

use serde_json::json;
use windlass_core::AgentEvent;

use super::world::{Api, Desk, end, tools};

#[tokio::test]
async fn a_real_small_model_changes_a_file() {
    let Ok(url) = std::env::var("LOCAL_MODEL_URL") else {
        println!("left out: LOCAL_MODEL_URL is not set");
        return;
    };
    let model = std::env::var("LOCAL_MODEL").unwrap_or_else(|_| "local".to_owned());
    for api in [Api::Chat, Api::Responses, Api::Messages] {
        let more = json!({ "model": model, "tool_mode": "schema", "max_steps": 6, "temperature": 0.0, "max_tokens": 512, "timeout_secs": 300 });
        let desk = Desk::new(api, &url, more).await;
        let events = desk
            .ask("Write the word hello into the file greeting.txt. Then you are done.")
            .await;
        println!("{api:?}: {}\n{:?}", end(&events), tools(&events));
        assert!(
            matches!(events.last(), Some(AgentEvent::Result { .. })),
            "{api:?}: {}",
            end(&events)
        );
        assert!(
            desk.world
                .read("greeting.txt")
                .to_lowercase()
                .contains("hello"),
            "{api:?}: {events:?}"
        );
    }
}
