//! Servers that must not receive the API key.

use serde_json::json;

use super::super::harness::KEY;
use super::harness::{Api, CannedServer, ModelFixture, end, http};

#[tokio::test]
async fn p23_redirect_is_not_followed_with_the_key() {
    for status in [
        "301 Moved",
        "302 Found",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        for api in Api::ALL {
            let attacker = CannedServer::start(vec![http("200 OK", "", "{}")]).await;
            let location = format!("location: {}/v1/chat/completions\r\n", attacker.url());
            let server = CannedServer::start(vec![http(status, &location, "")]).await;
            let fixture = ModelFixture::new(api, server.url(), json!({})).await;
            let error = end(&fixture.ask("Go.").await);
            assert!(
                error.starts_with("BackendError (permanent)") && error.contains("redirects to"),
                "{error}"
            );
            assert!(
                server.seen()[0].contains(KEY),
                "the configured server gets the key"
            );
            assert_eq!(attacker.seen(), Vec::<String>::new(), "{status} {api:?}");
        }
    }
}

#[tokio::test]
async fn p23_custom_endpoint_without_key_setting_gets_no_key() {
    for api in Api::ALL {
        let server = CannedServer::start(vec![http("500 No", "", "{}"); 3]).await;
        let extra = json!({ "api_key_env": null, "max_retries": 0 });
        let fixture = ModelFixture::new(api, server.url(), extra).await;
        fixture.ask("Go.").await;
        let seen = server.seen()[0].to_ascii_lowercase();
        assert!(
            !seen.contains("authorization:") && !seen.contains("x-api-key:"),
            "{seen}"
        );
    }
}

#[tokio::test]
async fn missing_key_is_reported_before_any_request() {
    let server = CannedServer::start(vec![]).await;
    let fixture = ModelFixture::new(
        Api::Chat,
        server.url(),
        json!({ "api_key_env": "NO_SUCH_KEY" }),
    )
    .await;
    let error = fixture
        .handle()
        .new_session(fixture.options())
        .await
        .unwrap_err();
    assert_eq!(error.code(), windlass_core::ErrorCode::AuthFailed);
    assert!(error.to_string().contains("NO_SUCH_KEY"), "{error}");
}
