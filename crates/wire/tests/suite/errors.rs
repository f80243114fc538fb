//! Errors keep their kind, their message and their wait time.

use std::time::Duration;

use windlass_wire::*;

const KINDS: [ErrorKind; 11] = [
    ErrorKind::InvalidRequest,
    ErrorKind::Authentication,
    ErrorKind::Permission,
    ErrorKind::NotFound,
    ErrorKind::TooLarge,
    ErrorKind::ContextOverflow,
    ErrorKind::RateLimited,
    ErrorKind::QuotaExhausted,
    ErrorKind::Overloaded,
    ErrorKind::Server,
    ErrorKind::Timeout,
];

/// Returns the kind after a round trip: Ollama has no name for an exhausted quota.
fn expected_kind(dialect: Dialect, kind: ErrorKind) -> ErrorKind {
    match (dialect, kind) {
        (Dialect::Ollama, ErrorKind::QuotaExhausted) => ErrorKind::RateLimited,
        (_, kind) => kind,
    }
}

#[test]
fn error_body_round_trips() {
    for dialect in Dialect::ALL {
        for kind in KINDS {
            let sent =
                ModelError::new(kind, "test message").with_retry_after(Duration::from_secs(7));
            let response = dialect.render_error(&sent);
            let headers = response.headers().iter();
            let headers: Vec<(&str, &str)> = headers
                .map(|(key, value)| (key.as_str(), value.to_str().unwrap()))
                .collect();
            let status = response.status().as_u16();
            let back = dialect.parse_error(status, &headers, response.body());
            assert_eq!(back.kind, expected_kind(dialect, kind), "{dialect}");
            assert_eq!(back.status, status);
            assert_eq!(back.retry_after, Some(Duration::from_secs(7)));
            assert!(
                back.message.ends_with("test message"),
                "{dialect} {}",
                back.message
            );
        }
    }
}

#[test]
fn error_in_stream_round_trips() {
    for dialect in Dialect::ALL
        .into_iter()
        .filter(|dialect| *dialect != Dialect::Ollama)
    {
        for kind in KINDS {
            let mut encoder = StreamEncoder::new(dialect, ResponseStyle::new(dialect, 1));
            let mut bytes = encoder.push(&ModelEvent::Start {
                id: "i".into(),
                model: "m".into(),
            });
            bytes.extend(encoder.push(&ModelEvent::TextDelta {
                text: "half a sen".into(),
            }));
            bytes.extend(encoder.push(&ModelEvent::Error(ModelError::new(kind, "test message"))));
            assert_eq!(
                encoder.push(&ModelEvent::Done),
                b"",
                "events after the error are ignored"
            );
            let events = StreamDecoder::new(dialect).push(&bytes);
            let Some(ModelEvent::Error(error)) = events.last() else {
                panic!("{dialect} hides the error: {events:?}");
            };
            // Gemini reports a request that is too large only by the status of the response.
            assert_eq!(
                (error.kind, error.status),
                (kind, kind.status()),
                "{dialect}"
            );
        }
    }
}

#[test]
fn foreign_error_body_is_parsed_as_error() {
    for dialect in Dialect::ALL {
        let page = dialect.parse_error(502, &[], b"<html>Bad Gateway</html>");
        assert_eq!(
            (page.kind, page.message.as_str()),
            (ErrorKind::Server, "<html>Bad Gateway</html>")
        );
        let empty = dialect.parse_error(401, &[("Retry-After", "nonsense")], b"");
        assert_eq!(
            (empty.kind, empty.retry_after),
            (ErrorKind::Authentication, None)
        );
        let wait = dialect.parse_error(429, &[("retry-after-ms", "1500")], b"{}");
        assert_eq!(wait.retry_after, Some(Duration::from_millis(1500)));
    }
}

#[test]
fn anthropic_overload_has_its_own_status() {
    let overload = ModelError::new(ErrorKind::Overloaded, "busy");
    assert_eq!(Dialect::Messages.render_error(&overload).status(), 529);
    assert_eq!(Dialect::Chat.render_error(&overload).status(), 503);
}
