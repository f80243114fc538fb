//! Servers that would like to have somebody else's key.

use serde_json::json;

use super::super::world::KEY;
use super::world::{Api, Canned, Desk, end, http};

#[tokio::test]
async fn p23_a_redirect_never_carries_the_key_away() {
    for status in [
        "301 Moved",
        "302 Found",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        for api in Api::ALL {
            let thief = Canned::start(vec![http("200 OK", "", "{}")]).await;
            let to = format!("location: {}/v1/chat/completions\r\n", thief.url());
            let server = Canned::start(vec![http(status, &to, "")]).await;
            let desk = Desk::new(api, server.url(), json!({})).await;
            let said = end(&desk.ask("Go.").await);
            assert!(
                said.starts_with("BackendError (lasting)") && said.contains("redirects to"),
                "{said}"
            );
            assert!(
                server.seen()[0].contains(KEY),
                "the right server gets the key"
            );
            assert_eq!(thief.seen(), Vec::<String>::new(), "{status} {api:?}");
        }
    }
}

#[tokio::test]
async fn p23_a_server_that_no_key_was_named_for_gets_none() {
    for api in Api::ALL {
        let server = Canned::start(vec![http("500 No", "", "{}"); 3]).await;
        let more = json!({ "api_key_env": null, "max_retries": 0 });
        let desk = Desk::new(api, server.url(), more).await;
        desk.ask("Go.").await;
        let seen = server.seen()[0].to_ascii_lowercase();
        assert!(
            !seen.contains("authorization:") && !seen.contains("x-api-key:"),
            "{seen}"
        );
    }
}

#[tokio::test]
async fn a_key_that_is_not_set_is_missed_before_anybody_is_asked() {
    let server = Canned::start(vec![]).await;
    let desk = Desk::new(
        Api::Chat,
        server.url(),
        json!({ "api_key_env": "NO_SUCH_KEY" }),
    )
    .await;
    let error = desk.handle().new_session(desk.options()).await.unwrap_err();
    assert_eq!(error.code(), windlass_core::ErrorCode::AuthFailed);
    assert!(error.to_string().contains("NO_SUCH_KEY"), "{error}");
}
