//! Properties that must hold for any bytes as a request, a response or a stream. The tests check them on the
//! corpora.

use windlass_wire::{
    Dialect, ModelEvent, ModelRequest, ModelResponse, Part, ResponseStyle, Route, StreamDecoder,
    StreamEncoder,
};

/// Panics if one of the properties does not hold for these bytes.
pub fn check(dialect: Dialect, bytes: &[u8]) {
    request(dialect, bytes);
    response(dialect, bytes);
    stream(dialect, bytes);
    let error = dialect.parse_error(500, &[], bytes);
    let rendered = dialect.render_error(&error);
    assert_eq!(
        dialect
            .parse_error(500, &[], rendered.body())
            .message
            .is_empty(),
        error.message.is_empty()
    );
}

/// Checks that a parsed request can be rendered in every API, and that each returns what it supports of it.
fn request(dialect: Dialect, bytes: &[u8]) {
    let mut route = Route::for_dialect(dialect);
    route.model = Some("m".to_owned());
    let Ok(request) = route.parse_request(bytes) else {
        return;
    };
    for other in Dialect::ALL {
        let adapted = other.adapt_request(&request);
        assert_eq!(
            other.adapt_request(&adapted),
            adapted,
            "{other} adapts it only once"
        );
        assert_eq!(
            round_trip(other, &request),
            adapted,
            "{other} returns what it supports"
        );
    }
}

fn round_trip(dialect: Dialect, request: &ModelRequest) -> ModelRequest {
    let body = dialect.render_request(request);
    let route = Route {
        model: Some(request.model.clone()),
        stream: Some(request.stream),
        ..Route::for_dialect(dialect)
    };
    let parsed = route.parse_request(&body);
    parsed
        .unwrap_or_else(|error| panic!("{dialect}: {error} in {}", String::from_utf8_lossy(&body)))
}

/// Checks that the meaning of a parsed complete response is preserved.
fn response(dialect: Dialect, bytes: &[u8]) {
    if let Ok(events) = dialect.parse_response(bytes) {
        check_round_trips(dialect, &events);
    }
}

/// Checks that a stream ends exactly once, however it is split, and that its meaning is preserved.
fn stream(dialect: Dialect, bytes: &[u8]) {
    let events = read(dialect, bytes, bytes.len().max(1));
    assert_eq!(events, read(dialect, bytes, 7), "split differently");
    let terminal_events = events.iter().filter(|event| event.is_terminal()).count();
    assert!(terminal_events == 1 && events.last().is_some_and(ModelEvent::is_terminal));
    check_round_trips(dialect, &events);
}

fn read(dialect: Dialect, bytes: &[u8], size: usize) -> Vec<ModelEvent> {
    let mut decoder = StreamDecoder::new(dialect);
    let mut events: Vec<ModelEvent> = Vec::new();
    for chunk in bytes.chunks(size) {
        events.extend(decoder.push(chunk));
    }
    events.extend(decoder.finish());
    events
}

/// Checks that decoded events can be encoded in every API and, unless they contain an error, decoded again
/// with the same meaning.
fn check_round_trips(dialect: Dialect, events: &[ModelEvent]) {
    for other in Dialect::ALL {
        let style = ResponseStyle::new(other, 1);
        let mut encoder = StreamEncoder::new(other, style);
        let bytes: Vec<u8> = events
            .iter()
            .flat_map(|event| encoder.push(event))
            .collect();
        let decoded = read(other, &bytes, 64);
        let Ok(response) = ModelResponse::from_events(events) else {
            assert!(
                matches!(decoded.last(), Some(ModelEvent::Error(_))),
                "{other} hides an error"
            );
            continue;
        };
        let back = ModelResponse::from_events(&decoded);
        let back = back.unwrap_or_else(|e| panic!("{dialect} to {other}: {e}"));
        let (back, response) = (other.adapt_response(&back), other.adapt_response(&response));
        assert_eq!(meaning(&back), meaning(&response), "{dialect} to {other}");
    }
}

/// Returns the meaning of a response, without the order of text and of calls that were still being streamed.
fn meaning(response: &ModelResponse) -> impl PartialEq + std::fmt::Debug {
    let reasoning = response.parts.iter().filter_map(|part| match part {
        Part::Reasoning(reasoning) => Some(reasoning.clone()),
        _ => None,
    });
    (
        response.text(),
        reasoning.collect::<Vec<_>>(),
        response.calls().cloned().collect::<Vec<_>>(),
        (response.stop, response.usage, response.model.clone()),
    )
}
