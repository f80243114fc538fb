//! Every dialect, streaming and not: what comes over the wire means what the script says.

use windlass_wire::{Dialect, ModelEvent, ModelResponse, Part, StopReason, StreamDecoder};

use super::curl::{Seen, ask, curl, question};
use super::models::serve;

const SCRIPT: &str = r#"{"turns": [
    {"answer": [{"reasoning": "Think first."}, {"text": "I will look around, one step after the other."},
                {"shell": {"command": "ls -la"}}],
     "usage": {"input": 30, "output": 20, "cached": 10}},
    {"answer": [{"text": "Done."}]}
]}"#;

/// What the bytes say, by the same crate that agents' answers are read with.
#[track_caller]
fn understood(dialect: Dialect, stream: bool, seen: &Seen) -> ModelResponse {
    assert_eq!((seen.exit, seen.status), (0, 200), "{seen:?}");
    let events = if stream {
        let mut reader = StreamDecoder::new(dialect);
        let mut events = reader.push(seen.body.as_bytes());
        events.extend(reader.finish());
        assert_eq!(events.last(), Some(&ModelEvent::Done), "{seen:?}");
        events
    } else {
        dialect.parse_response(seen.body.as_bytes()).unwrap()
    };
    ModelResponse::from_events(&events).unwrap()
}

#[tokio::test]
async fn all_dialects_say_what_the_script_says() {
    for dialect in Dialect::ALL {
        for stream in [false, true] {
            let model = serve(SCRIPT).await;
            let answer = understood(dialect, stream, &ask(&model, dialect, stream, "look").await);
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
            // Chat completions streams its usage only to those who ask for it.
            if !(dialect == Dialect::Chat && stream) {
                assert_eq!(
                    (usage.input_tokens, usage.output_tokens),
                    (30, 20),
                    "{case}"
                );
            }
            let thought = answer.parts.iter().any(
                |part| matches!(part, Part::Reasoning(thought) if thought.text == "Think first."),
            );
            assert!(thought, "{case}");

            let answer = understood(dialect, stream, &ask(&model, dialect, stream, "and?").await);
            assert_eq!(answer.text(), "Done.");
            assert_eq!(answer.stop_or_implied(), StopReason::EndTurn);
            let report = model.stop().await;
            assert!(report.is_clean(), "{report}");
            assert_eq!(report.turns, 2);
        }
    }
}

#[tokio::test]
async fn any_base_path_will_do() {
    let script = r#"{"turns": [{"answer": [{"text": "pong"}], "times": 4}]}"#;
    let model = serve(script).await;
    for base in ["", "/v1", "/openai/v1", "/some/proxy"] {
        let (_, body) = question(Dialect::Chat, false, "ping");
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
    let (_, body) = question(Dialect::Gemini, true, "ping");
    let url = format!("{}/v1beta/models/m:streamGenerateContent", model.url());
    let answer = curl(&url, Some(&body), &[]).await;
    assert!(answer.json().as_array().unwrap().len() > 1, "{answer:?}");
}

#[tokio::test]
async fn several_models_live_in_one_process() {
    let answer = |word: &str| format!(r#"{{"turns": [{{"answer": [{{"text": "{word}"}}]}}]}}"#);
    let (one, two) = (serve(&answer("one")).await, serve(&answer("two")).await);
    for (model, word) in [(&two, "two"), (&one, "one")] {
        let seen = ask(model, Dialect::Ollama, false, "who").await;
        assert_eq!(seen.json()["message"]["content"], word);
    }
}

#[tokio::test]
async fn delays_lie_between_the_pieces() {
    let model = serve(
        r#"{"turns": [{"delay_ms": 60, "answer": [{"text": "a sentence that is long enough for four pieces or so, I think"}]}]}"#,
    )
    .await;
    let (path, body) = question(Dialect::Chat, true, "ping");
    let url = format!("{}{path}", model.url());
    let seen = curl(
        &url,
        Some(&body),
        &["-w", "\n%{time_starttransfer} %{time_total}"],
    )
    .await;
    let times = seen.body.lines().last().unwrap();
    let (first, all) = times.split_once(' ').unwrap();
    let (first, all): (f64, f64) = (first.parse().unwrap(), all.parse().unwrap());
    assert!(all - first >= 0.15, "{times}");
}
