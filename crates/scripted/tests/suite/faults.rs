//! All injected faults, in every dialect.

use windlass_wire::{Dialect, ErrorKind, ModelEvent, StreamDecoder};

use super::curl::{CurlResponse, curl};
use super::models::{ask, request_body, serve};

/// Sends a request to a model with this turn only.
async fn respond(turn: &str, dialect: Dialect, stream: bool) -> CurlResponse {
    let model = serve(&format!(r#"{{"turns": [{turn}]}}"#)).await;
    let received = ask(&model, dialect, stream, "ping").await;
    let report = model.stop().await;
    assert!(report.is_clean(), "{report}");
    received
}

#[tokio::test]
async fn error_status_has_the_format_of_the_dialect() {
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
            let turn = format!(
                r#"{{"fault": {{"status": {{"code": {code}, "message": "test message"}}}}}}"#
            );
            let received = respond(&turn, dialect, code % 2 == 0).await;
            let error = dialect.parse_error(received.status, &[], received.body.as_bytes());
            assert_eq!(
                (error.kind, error.retry_after),
                (kind, None),
                "{dialect} {received:?}"
            );
            assert!(
                error.message.contains("test message"),
                "{dialect} {received:?}"
            );
            assert!(!received.headers.contains("retry-after"));
            // Anthropic's clients expect 529 for overload.
            if !(dialect == Dialect::Messages && code == 503) {
                assert_eq!(received.status, code, "{dialect}");
            }
        }
    }
}

#[tokio::test]
async fn error_status_may_have_retry_after() {
    for dialect in Dialect::ALL {
        let turn = r#"{"fault": {"status": {"code": 429, "retry_after_secs": 7}}}"#;
        let received = respond(turn, dialect, true).await;
        assert_eq!(received.status, 429);
        assert!(
            received.headers.contains("\nretry-after: 7"),
            "{received:?}"
        );
    }
}

#[tokio::test]
async fn context_overflow_is_reported_in_every_dialect() {
    for dialect in Dialect::ALL {
        let received = respond(r#"{"fault": "context_overflow"}"#, dialect, true).await;
        let error = dialect.parse_error(received.status, &[], received.body.as_bytes());
        assert_eq!(
            error.kind,
            ErrorKind::ContextOverflow,
            "{dialect} {received:?}"
        );
    }
}

#[tokio::test]
async fn hang_sends_nothing() {
    let received = respond(r#"{"fault": "hang"}"#, Dialect::Chat, true).await;
    assert_eq!((received.exit, received.status), (28, 0), "{received:?}");
}

#[tokio::test]
async fn hang_mid_stream_follows_the_parts() {
    let turn = r#"{"answer": [{"text": "so far"}], "fault": "hang_mid_stream"}"#;
    let check = async |dialect, stream| {
        let received = respond(turn, dialect, stream).await;
        assert_eq!((received.exit, received.status), (28, 200), "{received:?}");
        assert_eq!(received.body.contains("so far"), stream, "{received:?}");
    };
    // Each waits until its client gives up.
    tokio::join!(
        check(Dialect::Messages, true),
        check(Dialect::Responses, true),
        check(Dialect::Chat, false),
    );
}

#[tokio::test]
async fn cut_closes_the_connection() {
    let turn = r#"{"answer": [{"text": "so far"}], "fault": "cut"}"#;
    for dialect in Dialect::ALL {
        for stream in [false, true] {
            let received = respond(turn, dialect, stream).await;
            assert_eq!(
                (received.exit, received.status),
                (18, 200),
                "{dialect} {received:?}"
            );
        }
        let received = respond(turn, dialect, true).await;
        assert_eq!(
            error_kind(dialect, &received),
            Some(ErrorKind::Interrupted),
            "{dialect} {received:?}"
        );
    }
}

#[tokio::test]
async fn malformed_chunk_cannot_be_decoded() {
    let turn = r#"{"answer": [{"text": "so far"}], "fault": "malformed"}"#;
    for dialect in Dialect::ALL {
        let received = respond(turn, dialect, true).await;
        assert_eq!(
            (received.exit, received.status),
            (0, 200),
            "{dialect} {received:?}"
        );
        assert_eq!(
            error_kind(dialect, &received),
            Some(ErrorKind::Protocol),
            "{dialect} {received:?}"
        );
        let received = respond(turn, dialect, false).await;
        assert!(
            dialect.parse_response(received.body.as_bytes()).is_err(),
            "{dialect} {received:?}"
        );
    }
}

fn error_kind(dialect: Dialect, received: &CurlResponse) -> Option<ErrorKind> {
    let mut decoder = StreamDecoder::new(dialect);
    let mut events = decoder.push(received.body.as_bytes());
    events.extend(decoder.finish());
    match events.last() {
        Some(ModelEvent::Error(error)) => Some(error.kind),
        _ => None,
    }
}

#[tokio::test]
async fn turn_may_fail_several_times_before_the_next() {
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
async fn p11_stop_ends_hanging_requests() {
    let model = serve(r#"{"turns": [{"fault": "hang"}]}"#).await;
    let url = model.url();
    let request = tokio::spawn(async move {
        let (path, body) = request_body(Dialect::Chat, true, "ping");
        curl(&format!("{url}{path}"), Some(&body), &[]).await
    });
    while model.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    let report = model.stop().await;
    assert!(report.is_clean(), "{report}");
    assert_eq!(request.await.unwrap().status, 503);
}
