//! Servers that reject requests, hang, disconnect or send invalid responses.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass_agents::http::{ApiKey, BaseUrl, Client, HttpLimits};
use windlass_core::SystemClock;
use windlass_wire::{Dialect, ErrorKind};

use super::harness::{Api, CannedServer, ModelFixture, RecordingClock, end, http, scripted};
use super::tools::TestTools;

async fn run(api: Api, turns: serde_json::Value, extra: serde_json::Value) -> String {
    let model = scripted(turns).await;
    let fixture = ModelFixture::new(api, &model.url(), extra).await;
    end(&fixture.ask("Go.").await)
}

#[tokio::test]
async fn rejected_key_is_auth_failure_without_retry() {
    for api in Api::ALL {
        let error = run(
            api,
            json!([{ "fault": { "status": { "code": 401 } } }]),
            json!({}),
        )
        .await;
        let expected = "AuthFailed (permanent): the key is not valid (scripted) (HTTP 401): check the key in the variable that api_key_env names";
        assert_eq!(error, expected, "{api:?}");
    }
}

#[tokio::test]
async fn busy_provider_is_retried_after_retry_after() {
    for api in Api::ALL {
        let turns = json!([
            { "fault": { "status": { "code": 429, "retry_after_secs": 7 } } },
            { "fault": { "status": { "code": 503 } } },
            { "answer": [{ "text": "Now." }] },
        ]);
        let model = scripted(turns).await;
        let clock = RecordingClock::at(0);
        let fixture = ModelFixture::with(
            api,
            &model.url(),
            json!({}),
            TestTools::default(),
            clock.clone(),
        )
        .await;
        assert_eq!(end(&fixture.ask("Go.").await), "Now.", "{api:?}");
        let waits = clock.waits();
        assert_eq!(waits.len(), 2, "{api:?}");
        assert!(waits[0] >= Duration::from_secs(7), "{api:?}: {waits:?}");
    }
}

#[tokio::test]
async fn retry_after_date_is_honored() {
    let busy = http(
        "429 Too Many Requests",
        "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
        "busy",
    );
    let good = http(
        "200 OK",
        "",
        "{\"message\":{\"content\":\"Now.\"},\"done\":true}\n",
    );
    let server = CannedServer::start(vec![busy, good]).await;
    let clock = RecordingClock::at(784_111_777_000 - 30_000);
    let fixture = ModelFixture::with(
        Api::Ollama,
        server.url(),
        json!({}),
        TestTools::default(),
        clock.clone(),
    )
    .await;
    assert_eq!(end(&fixture.ask("Go.").await), "Now.");
    assert_eq!(clock.waits().len(), 1);
    assert!(clock.waits()[0] >= Duration::from_secs(30));
}

#[tokio::test]
async fn busy_provider_fails_with_its_message_after_retries() {
    let turns =
        json!([{ "fault": { "status": { "code": 429, "retry_after_secs": 1 } }, "times": 3 }]);
    let model = scripted(turns).await;
    let fixture = ModelFixture::with(
        Api::Chat,
        &model.url(),
        json!({}),
        TestTools::default(),
        RecordingClock::at(0),
    )
    .await;
    let error = end(&fixture.ask("Go.").await);
    assert!(
        error.starts_with("RateLimited (transient): too many requests (scripted)"),
        "{error}"
    );
    assert!(model.report().is_clean(), "{}", model.report());
    let error = run(
        Api::Chat,
        json!([{ "fault": { "status": { "code": 429, "retry_after_secs": 9999 } } }]),
        json!({}),
    )
    .await;
    assert!(error.contains("asked to wait 9999 s"), "{error}");
}

#[tokio::test]
async fn silent_model_hits_the_idle_timeout() {
    let turns = [
        json!([{ "fault": "hang" }]),
        json!([{ "answer": [{ "text": "I begin." }], "fault": "hang_mid_stream" }]),
    ];
    for turns in turns {
        let error = run(Api::Ollama, turns, json!({ "request_timeout_secs": 1 })).await;
        assert!(
            error.starts_with("Timeout (transient): no data from the model for 1 s"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn truncated_stream_is_an_error() {
    for api in Api::ALL {
        let truncated = json!([{ "answer": [{ "text": "I begin." }], "fault": "cut" }]);
        let error = run(api, truncated, json!({})).await;
        assert!(
            error.starts_with("BackendError (transient): the connection closed"),
            "{api:?}: {error}"
        );
        let malformed = json!([{ "answer": [{ "text": "I begin." }], "fault": "malformed" }]);
        let error = run(api, malformed, json!({})).await;
        assert!(
            error.starts_with("BackendError (transient): invalid response from the provider"),
            "{api:?}: {error}"
        );
    }
}

#[tokio::test]
async fn stream_without_terminator_is_an_error() {
    let partial = "{\"message\":{\"content\":\"I begin.\"},\"done\":false}\n";
    let server = CannedServer::start(vec![http("200 OK", "", partial)]).await;
    let fixture = ModelFixture::new(Api::Ollama, server.url(), json!({})).await;
    let error = end(&fixture.ask("Go.").await);
    assert!(
        error.starts_with("BackendError (transient): the stream ended before"),
        "{error}"
    );
}

#[tokio::test]
async fn error_inside_a_stream_is_not_retried() {
    let table = [
        (
            Api::Messages,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
            "RateLimited (transient): Overloaded",
        ),
        (
            Api::Ollama,
            "{\"error\":\"model runner has stopped\"}\n",
            "BackendError (transient): model runner has stopped",
        ),
        (
            Api::Chat,
            "data: {\"error\":{\"message\":\"upstream died\",\"type\":\"server_error\",\"code\":500}}\n\n",
            "BackendError (transient): upstream died",
        ),
        (
            Api::Responses,
            "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"upstream died\"}}}\n\n",
            "BackendError (transient): upstream died",
        ),
    ];
    for (api, body, expected) in table {
        let server = CannedServer::start(vec![http(
            "200 OK",
            "content-type: text/event-stream\r\n",
            body,
        )])
        .await;
        let fixture = ModelFixture::new(api, server.url(), json!({})).await;
        assert_eq!(end(&fixture.ask("Go.").await), expected, "{api:?}");
        assert_eq!(
            server.seen().len(),
            1,
            "{api:?}: a response that has started is not requested again"
        );
    }
}

#[tokio::test]
async fn html_page_instead_of_response_is_an_error() {
    let page = http(
        "200 OK",
        "content-type: text/html\r\n",
        "<html>Log in to the network</html>",
    );
    for api in Api::ALL {
        let server = CannedServer::start(vec![page.clone()]).await;
        let fixture = ModelFixture::new(api, server.url(), json!({})).await;
        let error = end(&fixture.ask("Go.").await);
        assert!(
            error.starts_with("BackendError (transient)"),
            "{api:?}: {error}"
        );
    }
}

#[tokio::test]
async fn unreachable_server_error_contains_the_url() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let clock = RecordingClock::at(0);
    let fixture = ModelFixture::with(
        Api::Ollama,
        &url,
        json!({}),
        TestTools::default(),
        clock.clone(),
    )
    .await;
    let error = end(&fixture.ask("Go.").await);
    assert!(
        error.contains(&url) && error.contains("cannot be reached"),
        "{error}"
    );
    assert_eq!(clock.waits().len(), 2, "two retries");
}

#[tokio::test]
async fn p12_oversized_response_is_an_error() {
    let server = CannedServer::start(vec![http("200 OK", "", &"x".repeat(10_000))]).await;
    let limits = HttpLimits {
        max_response_bytes: 9_999,
        ..HttpLimits::default()
    };
    let address = BaseUrl::parse(server.url()).unwrap();
    let client = Client::new(
        address,
        ApiKey::default(),
        limits,
        Arc::new(SystemClock::new()),
    );
    let response = client
        .unwrap()
        .post(Dialect::Ollama, "/api/chat", "{}")
        .await;
    let error = response.unwrap().read_all().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooLarge, "{error}");
}

#[tokio::test]
async fn error_of_a_body_follows_the_bytes_before_it() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunks = "2\r\nab\r\n2\r\ncd\r\n2\r\nef\r\n";
    for (end, is_complete) in [("0\r\n\r\n", true), ("", false)] {
        let server = CannedServer::start(vec![format!("{head}{chunks}{end}")]).await;
        let client = Client::new(
            BaseUrl::parse(server.url()).unwrap(),
            ApiKey::default(),
            HttpLimits::default(),
            Arc::new(SystemClock::new()),
        );
        let response = client.unwrap().post(Dialect::Chat, "/v1/chat", "{}").await;
        let mut body = response.unwrap();
        let mut received = Vec::new();
        let last = loop {
            match body.chunk().await {
                Ok(Some(bytes)) => received.extend_from_slice(&bytes),
                last => break last,
            }
        };
        assert_eq!(received, b"abcdef");
        match last {
            Ok(None) => assert!(is_complete, "an interrupted body has ended"),
            Ok(Some(_)) => unreachable!(),
            Err(error) => {
                assert_eq!(error.kind, ErrorKind::Interrupted);
                assert!(!is_complete, "{error}");
            }
        }
    }
}
