//! Servers that refuse, hang, break off or lie.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass_agents::http::{ApiKey, BaseUrl, Client, HttpLimits};
use windlass_core::SystemClock;
use windlass_wire::{Dialect, ErrorKind};

use super::tools::Box3;
use super::world::{Api, Canned, Desk, Hurry, end, http, scripted};

async fn ended(api: Api, turns: serde_json::Value, more: serde_json::Value) -> String {
    let model = scripted(turns).await;
    let desk = Desk::new(api, &model.url(), more).await;
    end(&desk.ask("Go.").await)
}

#[tokio::test]
async fn a_refused_key_is_an_auth_failure_and_not_tried_again() {
    for api in Api::ALL {
        let said = ended(
            api,
            json!([{ "fault": { "status": { "code": 401 } } }]),
            json!({}),
        )
        .await;
        let expected = "AuthFailed (lasting): the key is not valid (scripted): check the key that api_key_env names";
        assert_eq!(said, expected, "{api:?}");
    }
}

#[tokio::test]
async fn a_busy_provider_is_asked_again_when_it_says() {
    for api in Api::ALL {
        let turns = json!([
            { "fault": { "status": { "code": 429, "retry_after_secs": 7 } } },
            { "fault": { "status": { "code": 503 } } },
            { "answer": [{ "text": "Now." }] },
        ]);
        let model = scripted(turns).await;
        let clock = Hurry::at(0);
        let desk = Desk::with(api, &model.url(), json!({}), Box3::default(), clock.clone()).await;
        assert_eq!(end(&desk.ask("Go.").await), "Now.", "{api:?}");
        let waits = clock.waits();
        assert_eq!(waits.len(), 2, "{api:?}");
        assert!(waits[0] >= Duration::from_secs(7), "{api:?}: {waits:?}");
    }
}

#[tokio::test]
async fn a_date_to_wait_for_is_understood() {
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
    let server = Canned::start(vec![busy, good]).await;
    let clock = Hurry::at(784_111_777_000 - 30_000);
    let desk = Desk::with(
        Api::Ollama,
        server.url(),
        json!({}),
        Box3::default(),
        clock.clone(),
    )
    .await;
    assert_eq!(end(&desk.ask("Go.").await), "Now.");
    assert_eq!(clock.waits().len(), 1);
    assert!(clock.waits()[0] >= Duration::from_secs(30));
}

#[tokio::test]
async fn a_provider_that_stays_busy_is_given_up_with_its_own_words() {
    let turns =
        json!([{ "fault": { "status": { "code": 429, "retry_after_secs": 1 } }, "times": 3 }]);
    let model = scripted(turns).await;
    let desk = Desk::with(
        Api::Chat,
        &model.url(),
        json!({}),
        Box3::default(),
        Hurry::at(0),
    )
    .await;
    let said = end(&desk.ask("Go.").await);
    assert!(
        said.starts_with("RateLimited (again): too many requests (scripted)"),
        "{said}"
    );
    assert!(model.report().is_clean(), "{}", model.report());
    let said = ended(
        Api::Chat,
        json!([{ "fault": { "status": { "code": 429, "retry_after_secs": 9999 } } }]),
        json!({}),
    )
    .await;
    assert!(said.contains("asked to wait 9999 s"), "{said}");
}

#[tokio::test]
async fn a_model_that_says_nothing_is_not_waited_for_long() {
    let turns = [
        json!([{ "fault": "hang" }]),
        json!([{ "answer": [{ "text": "I begin." }], "fault": "hang_mid_stream" }]),
    ];
    for turns in turns {
        let said = ended(Api::Ollama, turns, json!({ "request_timeout_secs": 1 })).await;
        assert!(
            said.starts_with("Timeout (again): the model was silent for 1 s"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_torn_stream_is_an_error_and_never_half_an_answer() {
    for api in Api::ALL {
        let torn = json!([{ "answer": [{ "text": "I begin." }], "fault": "cut" }]);
        let said = ended(api, torn, json!({})).await;
        assert!(
            said.starts_with("BackendError (again): the connection broke"),
            "{api:?}: {said}"
        );
        let nonsense = json!([{ "answer": [{ "text": "I begin." }], "fault": "malformed" }]);
        let said = ended(api, nonsense, json!({})).await;
        assert!(
            said.starts_with("BackendError (again): the provider's answer makes no sense"),
            "{api:?}: {said}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_just_ends_is_torn_too() {
    let begun = "{\"message\":{\"content\":\"I begin.\"},\"done\":false}\n";
    let server = Canned::start(vec![http("200 OK", "", begun)]).await;
    let desk = Desk::new(Api::Ollama, server.url(), json!({})).await;
    let said = end(&desk.ask("Go.").await);
    assert!(
        said.starts_with("BackendError (again): the stream ended before"),
        "{said}"
    );
}

#[tokio::test]
async fn an_error_inside_a_good_answer_is_an_error() {
    let table = [
        (
            Api::Messages,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
            "RateLimited (again): Overloaded",
        ),
        (
            Api::Ollama,
            "{\"error\":\"model runner has stopped\"}\n",
            "BackendError (again): model runner has stopped",
        ),
        (
            Api::Chat,
            "data: {\"error\":{\"message\":\"upstream died\",\"type\":\"server_error\",\"code\":500}}\n\n",
            "BackendError (again): upstream died",
        ),
        (
            Api::Responses,
            "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"upstream died\"}}}\n\n",
            "BackendError (again): upstream died",
        ),
    ];
    for (api, body, expected) in table {
        let server = Canned::start(vec![http(
            "200 OK",
            "content-type: text/event-stream\r\n",
            body,
        )])
        .await;
        let desk = Desk::new(api, server.url(), json!({})).await;
        assert_eq!(end(&desk.ask("Go.").await), expected, "{api:?}");
        assert_eq!(
            server.seen().len(),
            1,
            "{api:?}: an answer that has begun is not asked for again"
        );
    }
}

#[tokio::test]
async fn a_page_in_place_of_an_answer_is_an_error() {
    let page = http(
        "200 OK",
        "content-type: text/html\r\n",
        "<html>Log in to the network</html>",
    );
    for api in Api::ALL {
        let server = Canned::start(vec![page.clone()]).await;
        let desk = Desk::new(api, server.url(), json!({})).await;
        let said = end(&desk.ask("Go.").await);
        assert!(said.starts_with("BackendError (again)"), "{api:?}: {said}");
    }
}

#[tokio::test]
async fn nobody_there_is_said_with_the_address() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let clock = Hurry::at(0);
    let desk = Desk::with(Api::Ollama, &url, json!({}), Box3::default(), clock.clone()).await;
    let said = end(&desk.ask("Go.").await);
    assert!(
        said.contains(&url) && said.contains("cannot be reached"),
        "{said}"
    );
    assert_eq!(clock.waits().len(), 2, "tried again, twice");
}

#[tokio::test]
async fn p12_an_answer_without_end_is_cut_off() {
    let server = Canned::start(vec![http("200 OK", "", &"x".repeat(10_000))]).await;
    let limits = HttpLimits {
        answer_bytes: 9_999,
        ..HttpLimits::default()
    };
    let address = BaseUrl::parse(server.url()).unwrap();
    let client = Client::new(
        address,
        ApiKey::default(),
        limits,
        Arc::new(SystemClock::new()),
    );
    let reply = client
        .unwrap()
        .post(Dialect::Ollama, "/api/chat", "{}")
        .await;
    let error = reply.unwrap().read_all().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooLarge, "{error}");
}
