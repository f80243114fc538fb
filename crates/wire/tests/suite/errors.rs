//! Failures keep their kind, their message and their waiting time.

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

/// The kind as it comes back: Ollama has no word for a used-up allowance.
fn carried(dialect: Dialect, kind: ErrorKind) -> ErrorKind {
    match (dialect, kind) {
        (Dialect::Ollama, ErrorKind::QuotaExhausted) => ErrorKind::RateLimited,
        (_, kind) => kind,
    }
}

#[test]
fn a_failure_comes_back_from_its_body() {
    for dialect in Dialect::ALL {
        for kind in KINDS {
            let sent = ModelError::new(kind, "so it is").with_retry_after(Duration::from_secs(7));
            let reply = dialect.render_error(&sent);
            let headers: Vec<(&str, &str)> = reply
                .headers
                .iter()
                .map(|(key, value)| (*key, value.as_str()))
                .collect();
            let back = dialect.parse_error(reply.status, &headers, &reply.body);
            assert_eq!(back.kind, carried(dialect, kind), "{dialect}");
            assert_eq!(back.status, reply.status);
            assert_eq!(back.retry_after, Some(Duration::from_secs(7)));
            assert!(
                back.message.ends_with("so it is"),
                "{dialect} {}",
                back.message
            );
        }
    }
}

#[test]
fn a_failure_inside_a_stream_comes_back() {
    for dialect in Dialect::ALL
        .into_iter()
        .filter(|dialect| *dialect != Dialect::Ollama)
    {
        for kind in KINDS {
            let mut writer = StreamEncoder::new(dialect, ResponseStyle::new(dialect, 1));
            let mut bytes = writer.push(&ModelEvent::Start {
                id: "i".into(),
                model: "m".into(),
            });
            bytes.extend(writer.push(&ModelEvent::TextDelta {
                text: "half a sen".into(),
            }));
            bytes.extend(writer.push(&ModelEvent::Error(ModelError::new(kind, "so it is"))));
            assert_eq!(writer.push(&ModelEvent::Done), b"", "nothing follows");
            let events = StreamDecoder::new(dialect).push(&bytes);
            let Some(ModelEvent::Error(error)) = events.last() else {
                panic!("{dialect} hides it: {events:?}");
            };
            // Gemini tells a request that is too large by the status of the reply alone.
            assert_eq!(
                (error.kind, error.status),
                (kind, kind.status()),
                "{dialect}"
            );
        }
    }
}

#[test]
fn a_body_of_somebody_else_is_still_a_failure() {
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
    assert_eq!(Dialect::Messages.render_error(&overload).status, 529);
    assert_eq!(Dialect::Chat.render_error(&overload).status, 503);
}
