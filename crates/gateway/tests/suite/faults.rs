//! Everything that goes wrong on purpose, in every dialect.

use windlass_wire::{Dialect, ErrorKind, ModelEvent, StreamDecoder};

use super::curl::{Seen, ask};
use super::models::serve;

/// Asks a model whose only turn is this.
async fn fails(turn: &str, dialect: Dialect, stream: bool) -> Seen {
    let model = serve(&format!(r#"{{"turns": [{turn}]}}"#)).await;
    let seen = ask(&model, dialect, stream, "ping").await;
    let report = model.stop().await;
    assert!(report.is_clean(), "{report}");
    seen
}

#[tokio::test]
async fn statuses_come_in_the_form_of_the_dialect() {
    use ErrorKind::{Authentication, Overloaded, Permission, RateLimited, Server};
    let statuses = [
        (401, Authentication),
        (403, Permission),
        (429, RateLimited),
        (500, Server),
        (503, Overloaded),
        (529, Overloaded),
    ];
    for dialect in Dialect::ALL {
        for (code, kind) in statuses {
            let turn =
                format!(r#"{{"fault": {{"status": {{"code": {code}, "message": "because"}}}}}}"#);
            let seen = fails(&turn, dialect, code % 2 == 0).await;
            let error = dialect.parse_error(seen.status, &[], seen.body.as_bytes());
            assert_eq!(
                (error.kind, error.retry_after),
                (kind, None),
                "{dialect} {seen:?}"
            );
            assert!(error.message.contains("because"), "{dialect} {seen:?}");
            assert!(!seen.headers.contains("retry-after"));
            // Anthropic's clients know overload as 529.
            if !(dialect == Dialect::Messages && code == 503) {
                assert_eq!(seen.status, code, "{dialect}");
            }
        }
    }
}

#[tokio::test]
async fn a_refusal_may_say_how_long_to_wait() {
    for dialect in Dialect::ALL {
        let turn = r#"{"fault": {"status": {"code": 429, "retry_after_secs": 7}}}"#;
        let seen = fails(turn, dialect, true).await;
        assert_eq!(seen.status, 429);
        assert!(seen.headers.contains("\nretry-after: 7"), "{seen:?}");
    }
}

#[tokio::test]
async fn a_conversation_can_be_too_long() {
    for dialect in Dialect::ALL {
        let seen = fails(r#"{"fault": "context_overflow"}"#, dialect, true).await;
        let error = dialect.parse_error(seen.status, &[], seen.body.as_bytes());
        assert_eq!(error.kind, ErrorKind::ContextOverflow, "{dialect} {seen:?}");
    }
}

#[tokio::test]
async fn a_hang_sends_nothing_at_all() {
    let seen = fails(r#"{"fault": "hang"}"#, Dialect::Chat, true).await;
    assert_eq!((seen.exit, seen.status), (28, 0), "{seen:?}");
}

#[tokio::test]
async fn a_hang_in_mid_stream_comes_after_the_parts() {
    let turn = r#"{"answer": [{"text": "so far"}], "fault": "hang_mid_stream"}"#;
    for (dialect, stream) in [
        (Dialect::Messages, true),
        (Dialect::Responses, true),
        (Dialect::Chat, false),
    ] {
        let seen = fails(turn, dialect, stream).await;
        assert_eq!((seen.exit, seen.status), (28, 200), "{seen:?}");
        assert_eq!(seen.body.contains("so far"), stream, "{seen:?}");
    }
}

#[tokio::test]
async fn a_cut_takes_the_connection_away() {
    let turn = r#"{"answer": [{"text": "so far"}], "fault": "cut"}"#;
    for dialect in Dialect::ALL {
        for stream in [false, true] {
            let seen = fails(turn, dialect, stream).await;
            assert_eq!((seen.exit, seen.status), (18, 200), "{dialect} {seen:?}");
        }
        let seen = fails(turn, dialect, true).await;
        assert_eq!(
            last_kind(dialect, &seen),
            Some(ErrorKind::Interrupted),
            "{dialect} {seen:?}"
        );
    }
}

#[tokio::test]
async fn a_malformed_chunk_cannot_be_read() {
    let turn = r#"{"answer": [{"text": "so far"}], "fault": "malformed"}"#;
    for dialect in Dialect::ALL {
        let seen = fails(turn, dialect, true).await;
        assert_eq!((seen.exit, seen.status), (0, 200), "{dialect} {seen:?}");
        assert_eq!(
            last_kind(dialect, &seen),
            Some(ErrorKind::Protocol),
            "{dialect} {seen:?}"
        );
        let seen = fails(turn, dialect, false).await;
        assert!(
            dialect.parse_response(seen.body.as_bytes()).is_err(),
            "{dialect} {seen:?}"
        );
    }
}

fn last_kind(dialect: Dialect, seen: &Seen) -> Option<ErrorKind> {
    let mut reader = StreamDecoder::new(dialect);
    let mut events = reader.push(seen.body.as_bytes());
    events.extend(reader.finish());
    match events.last() {
        Some(ModelEvent::Error(error)) => Some(error.kind),
        _ => None,
    }
}

#[tokio::test]
async fn a_turn_may_fail_several_times_before_the_next() {
    let model = serve(
        r#"{"turns": [{"fault": {"status": {"code": 503}}, "times": 2}, {"answer": [{"text": "ok"}]}]}"#,
    )
    .await;
    for status in [503, 503, 200] {
        assert_eq!(
            ask(&model, Dialect::Chat, false, "ping").await.status,
            status
        );
    }
    assert!(model.stop().await.is_clean());
}

#[tokio::test]
async fn p11_a_stop_ends_what_hangs() {
    let model = serve(r#"{"turns": [{"fault": "hang"}]}"#).await;
    let url = model.url();
    let asking = tokio::spawn(async move {
        let (path, body) = super::curl::question(Dialect::Chat, true, "ping");
        super::curl::curl(&format!("{url}{path}"), Some(&body), &[]).await
    });
    while model.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    let report = model.stop().await;
    assert!(report.is_clean(), "{report}");
    assert_eq!(asking.await.unwrap().status, 503);
}
