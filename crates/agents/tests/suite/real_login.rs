//! Real agents that need an account: without one, they say how to log in.

use serde_json::json;
use windlass_agents::acp;
use windlass_core::{ErrorCode, SessionOptions};

use super::harness::{Harness, programs};
use super::real_acp::tier;

/// Checks the message. Nothing else can be tested offline.
async fn says_how_to_log_in(agent: &'static str, command: &str) {
    let harness = Harness::new();
    let context = harness.context(&[programs(tier(agent))]).await;
    let found = acp::probe(acp::preset(agent), &context, &json!({})).await;
    let hint = found.unwrap().login.hint().unwrap_or_default();
    assert!(hint.contains(command), "{hint}");
    let handle = acp::factory(acp::preset(agent), context)(&json!({})).unwrap();
    let options = SessionOptions::in_dir(harness.work());
    let error = handle.new_session(options).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::AuthFailed, "{error}");
    assert!(error.to_string().contains(command), "{error}");
}

#[tokio::test]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn real_auggie_says_how_to_log_in() {
    says_how_to_log_in("auggie", "auggie login").await;
}

#[tokio::test]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn real_cline_says_how_to_log_in() {
    says_how_to_log_in("cline", "cline auth").await;
}
