//! Every dialect, streaming and not: the decoded response is what the script defines.

use windlass_wire::{Dialect, ModelEvent, ModelResponse, Part, StopReason, StreamDecoder};

use super::curl::{CurlResponse, curl};
use super::models::{ask, request_body, serve};

const SCRIPT: &str = r#"{"turns": [
    {"answer": [{"reasoning": "Think first."}, {"text": "I will look around, one step after the other."},
                {"shell": {"command": "ls -la"}}],
     "usage": {"input": 30, "output": 20, "cached": 10}},
    {"answer": [{"text": "Done."}]}
]}"#;

/// Decodes a response with the crate that also decodes agents' responses.
#[track_caller]
fn decode(dialect: Dialect, stream: bool, received: &CurlResponse) -> ModelResponse {
    assert_eq!((received.exit, received.status), (0, 200), "{received:?}");
    let events = if stream {
        let mut decoder = StreamDecoder::new(dialect);
        let mut events = decoder.push(received.body.as_bytes());
        events.extend(decoder.finish());
        assert_eq!(events.last(), Some(&ModelEvent::Done), "{received:?}");
        events
    } else {
        dialect.parse_response(received.body.as_bytes()).unwrap()
    };
    ModelResponse::from_events(&events).unwrap()
}

#[tokio::test]
async fn all_dialects_send_the_scripted_response() {
    for dialect in Dialect::ALL {
        for stream in [false, true] {
            let model = serve(SCRIPT).await;
            let answer = decode(dialect, stream, &ask(&model, dialect, stream, "look").await);
            let case = format!("{dialect} stream={stream}: {answer:?}");
            assert_eq!(
                answer.text(),
                "I will look around, one step after the other.",
                "{case}"
            );
            let call = answer.calls().next().unwrap();
            assert_eq!(call.name, "bash", "{case}");
            assert_eq!(call.input_object()["command"], "ls -la", "{case}");
            assert_eq!(answer.stop_or_implied(), StopReason::ToolUse, "{case}");
            let usage = answer.usage.unwrap_or_default();
            // Chat completions streams its usage only on request.
            if !(dialect == Dialect::Chat && stream) {
                assert_eq!(
                    (usage.input_tokens, usage.output_tokens),
                    (30, 20),
                    "{case}"
                );
            }
            let has_reasoning = answer.parts.iter().any(
                |part| matches!(part, Part::Reasoning(reasoning) if reasoning.text == "Think first."),
            );
            assert!(has_reasoning, "{case}");

            let answer = decode(dialect, stream, &ask(&model, dialect, stream, "and?").await);
            assert_eq!(answer.text(), "Done.");
            assert_eq!(answer.stop_or_implied(), StopReason::EndTurn);
            let report = model.stop().await;
            assert!(report.is_clean(), "{report}");
            assert_eq!(report.turns, 2);
        }
    }
}

#[tokio::test]
async fn any_base_path_is_accepted() {
    let script = r#"{"turns": [{"answer": [{"text": "pong"}], "times": 4}]}"#;
    let model = serve(script).await;
    for base in ["", "/v1", "/openai/v1", "/some/proxy"] {
        let (_, body) = request_body(Dialect::Chat, false, "ping");
        let url = format!("{}{base}/chat/completions", model.url());
        let answer = curl(&url, Some(&body), &[]).await;
        assert_eq!(answer.json()["choices"][0]["message"]["content"], "pong");
    }
    assert!(model.stop().await.is_clean());
}

#[tokio::test]
async fn gemini_without_alt_sse_streams_a_list() {
    let model =
        serve(r#"{"turns": [{"answer": [{"text": "one two three four five six seven"}]}]}"#).await;
    let (_, body) = request_body(Dialect::Gemini, true, "ping");
    let url = format!("{}/v1beta/models/m:streamGenerateContent", model.url());
    let answer = curl(&url, Some(&body), &[]).await;
    assert!(answer.json().as_array().unwrap().len() > 1, "{answer:?}");
}

#[tokio::test]
async fn several_models_run_in_one_process() {
    let answer = |text: &str| format!(r#"{{"turns": [{{"answer": [{{"text": "{text}"}}]}}]}}"#);
    let (one, two) = (serve(&answer("one")).await, serve(&answer("two")).await);
    for (model, text) in [(&two, "two"), (&one, "one")] {
        let received = ask(model, Dialect::Ollama, false, "who").await;
        assert_eq!(received.json()["message"]["content"], text);
    }
}

#[tokio::test]
async fn delay_is_applied_between_chunks() {
    let model = serve(
        r#"{"turns": [{"delay_ms": 60, "answer": [{"text": "a sentence that is long enough for about four chunks of this text"}]}]}"#,
    )
    .await;
    let (path, body) = request_body(Dialect::Chat, true, "ping");
    let url = format!("{}{path}", model.url());
    let received = curl(
        &url,
        Some(&body),
        &["-w", "\n%{time_starttransfer} %{time_total}"],
    )
    .await;
    let times = received.body.lines().last().unwrap();
    let (first, all) = times.split_once(' ').unwrap();
    let (first, all): (f64, f64) = (first.parse().unwrap(), all.parse().unwrap());
    assert!(all - first >= 0.15, "{times}");
}
