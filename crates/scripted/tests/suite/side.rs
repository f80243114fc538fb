//! Side calls, and unexpected requests.

use serde_json::json;
use windlass_scripted::ExchangeOutcome;
use windlass_wire::Dialect;

use super::curl::curl;
use super::models::{ask, get, post, serve};

const PONG: &str = r#"{"turns": [{"answer": [{"text": "pong"}]}]}"#;

#[tokio::test]
async fn lists_counts_and_health_checks_use_no_turn() {
    let model = serve(PONG).await;
    for path in ["/", "/api/hello"] {
        let received = curl(&format!("{}{path}", model.url()), None, &["--head"]).await;
        assert_eq!(received.status, 200);
    }
    assert_eq!(get(&model, "/").await.body, "Ollama is running");
    assert_eq!(
        get(&model, "/v1/models").await.json()["data"][0]["id"],
        "scripted"
    );
    assert_eq!(
        get(&model, "/v1/models/scripted").await.json()["type"],
        "model"
    );
    assert_eq!(
        get(&model, "/v1beta/models").await.json()["models"][0]["name"],
        "models/scripted"
    );
    assert_eq!(
        get(&model, "/api/tags").await.json()["models"][0]["name"],
        "scripted:latest"
    );
    assert!(get(&model, "/api/version").await.json()["version"].is_string());
    let show = post(&model, "/api/show", &json!({ "model": "scripted" })).await;
    assert_eq!(show.json()["capabilities"][1], "tools");
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "how many" }] });
    let count = post(&model, "/v1/messages/count_tokens?beta=true", &body).await;
    assert!(count.json()["input_tokens"].as_u64().unwrap() > 10);
    let count = post(
        &model,
        "/v1beta/models/m:countTokens",
        &json!({ "contents": [] }),
    )
    .await;
    assert!(count.json()["totalTokens"].is_number());

    assert_eq!(ask(&model, Dialect::Chat, false, "ping").await.status, 200);
    let report = model.stop().await;
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.turns, report.side_calls), (1, 11));
}

#[tokio::test]
async fn titles_and_routers_use_no_turn() {
    let model = serve(PONG).await;
    let title = json!({ "model": "m", "stream": false, "messages": [
        { "role": "system", "content": "You are a title generator. You output ONLY a thread title." },
        { "role": "user", "content": "Say pong" },
    ]});
    let received = post(&model, "/v1/chat/completions", &title).await;
    assert_eq!(
        received.json()["choices"][0]["message"]["content"],
        "Scripted session"
    );

    let router = json!({
        "contents": [{ "role": "user", "parts": [{ "text": "Say pong" }] }],
        "generationConfig": { "responseMimeType": "application/json", "responseJsonSchema": {
            "type": "OBJECT", "properties": {
                "complexity_reasoning": { "type": "STRING" }, "complexity_score": { "type": "INTEGER" },
            },
        }},
    });
    let received = post(&model, "/v1beta/models/m:generateContent", &router).await;
    let text = &received.json()["candidates"][0]["content"]["parts"][0]["text"];
    let score: serde_json::Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
    assert_eq!(score["complexity_score"], 50);

    let quota = json!({ "model": "m", "max_tokens": 1, "messages": [{ "role": "user", "content": "quota" }] });
    assert_eq!(post(&model, "/v1/messages", &quota).await.status, 200);

    let names: Vec<ExchangeOutcome> = model
        .requests()
        .into_iter()
        .map(|received| received.outcome)
        .collect();
    let side = |name: &str| ExchangeOutcome::SideCall(name.to_owned());
    assert_eq!(
        names,
        [
            side("opencode: title"),
            side("gemini: model router"),
            side("claude: quota probe")
        ]
    );
    assert_eq!(model.unused_turns().len(), 1);
}

#[tokio::test]
async fn unexpected_request_is_rejected_and_counted() {
    let script = r#"{"turns": [{"when": {"contains": "needle"}, "answer": [{"text": "found"}]}]}"#;
    for dialect in Dialect::ALL {
        let model = serve(script).await;
        let received = ask(&model, dialect, true, "hay").await;
        assert_eq!(received.status, 400, "{received:?}");
        let error = dialect.parse_error(received.status, &[], received.body.as_bytes());
        assert!(
            error
                .message
                .contains("the script does not expect this request"),
            "{error}"
        );
        assert!(
            error
                .message
                .contains(r#"turn 1: it does not contain "needle""#),
            "{error}"
        );
        let report = model.stop().await;
        assert_eq!((report.unexpected, report.unused_turns.len()), (1, 1));
        assert!(
            report.to_string().contains("the prompt ends with: hay"),
            "{report}"
        );
    }
}

#[tokio::test]
async fn malformed_requests_are_rejected_and_counted() {
    let model = serve(PONG).await;
    assert_eq!(get(&model, "/favicon.ico").await.status, 404);
    assert_eq!(
        post(&model, "/v1/audio/speech", &json!({})).await.status,
        404
    );
    assert_eq!(
        post(&model, "/v1/messages", &json!({ "messages": 7 }))
            .await
            .status,
        400
    );
    assert_eq!(model.unexpected().len(), 3);
    assert_eq!(ask(&model, Dialect::Chat, false, "ping").await.status, 200);
}

#[tokio::test]
async fn p12_request_size_is_limited() {
    let model = serve(PONG).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("big.json");
    std::fs::write(&file, vec![b' '; windlass_scripted::BODY_BYTES + 1]).unwrap();
    let data = format!("@{}", file.display());
    let url = format!("{}/v1/messages", model.url());
    let received = curl(&url, None, &["-H", "expect:", "--data-binary", &data]).await;
    assert_eq!(received.status, 413, "{received:?}");
}

#[tokio::test]
async fn p22_only_loopback_is_served() {
    let script = super::models::script(PONG);
    let listen = "0.0.0.0:0".parse().unwrap();
    let rejected = windlass_scripted::ScriptedModel::start(script, listen).await;
    assert!(
        rejected
            .unwrap_err()
            .to_string()
            .contains("is not a loopback address")
    );
}
