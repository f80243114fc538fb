//! What must hold for any bytes whatever, as a request, as an answer and as a stream. The plain tests run it over the corpora.

use windlass_wire::{
    Dialect, ModelEvent, ModelRequest, ModelResponse, Part, ResponseStyle, Route, StreamDecoder,
    StreamEncoder,
};

/// Panics if any promise about these bytes is broken.
pub fn check(dialect: Dialect, bytes: &[u8]) {
    request(dialect, bytes);
    answer(dialect, bytes);
    stream(dialect, bytes);
    let error = dialect.parse_error(500, &[], bytes);
    let again = dialect.render_error(&error);
    assert_eq!(
        dialect
            .parse_error(500, &[], &again.body)
            .message
            .is_empty(),
        error.message.is_empty()
    );
}

/// Whatever parses as a request can be said in every API, and each gives back what it can carry.
fn request(dialect: Dialect, bytes: &[u8]) {
    let mut route = Route::for_dialect(dialect);
    route.model = Some("m".to_owned());
    let Ok(request) = route.parse_request(bytes) else {
        return;
    };
    for other in Dialect::ALL {
        let carried = other.adapt_request(&request);
        assert_eq!(
            other.adapt_request(&carried),
            carried,
            "{other} carries it once"
        );
        assert_eq!(
            again(other, &request),
            carried,
            "{other} gives back what it carries"
        );
    }
}

fn again(dialect: Dialect, request: &ModelRequest) -> ModelRequest {
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

/// Whatever parses as a whole answer keeps its meaning.
fn answer(dialect: Dialect, bytes: &[u8]) {
    if let Ok(events) = dialect.parse_response(bytes) {
        kept(dialect, &events);
    }
}

/// A stream ends exactly once, however it is split, and keeps its meaning.
fn stream(dialect: Dialect, bytes: &[u8]) {
    let events = read(dialect, bytes, bytes.len().max(1));
    assert_eq!(events, read(dialect, bytes, 7), "split differently");
    let lasts = events.iter().filter(|event| event.is_terminal()).count();
    assert!(lasts == 1 && events.last().is_some_and(ModelEvent::is_terminal));
    kept(dialect, &events);
}

fn read(dialect: Dialect, bytes: &[u8], size: usize) -> Vec<ModelEvent> {
    let mut reader = StreamDecoder::new(dialect);
    let mut events: Vec<ModelEvent> = Vec::new();
    for piece in bytes.chunks(size) {
        events.extend(reader.push(piece));
    }
    events.extend(reader.finish());
    events
}

/// Events that were read can be written in every API and, where nothing failed, read again with the same meaning.
fn kept(dialect: Dialect, events: &[ModelEvent]) {
    for other in Dialect::ALL {
        let style = ResponseStyle::new(other, 1);
        let mut writer = StreamEncoder::new(other, style);
        let bytes: Vec<u8> = events.iter().flat_map(|event| writer.push(event)).collect();
        let again = read(other, &bytes, 64);
        let Ok(response) = ModelResponse::from_events(events) else {
            assert!(
                matches!(again.last(), Some(ModelEvent::Error(_))),
                "{other} hides a failure"
            );
            continue;
        };
        let back = ModelResponse::from_events(&again);
        let back = back.unwrap_or_else(|e| panic!("{dialect} to {other}: {e}"));
        let (back, response) = (other.adapt_response(&back), other.adapt_response(&response));
        assert_eq!(meaning(&back), meaning(&response), "{dialect} to {other}");
    }
}

/// What an answer says, apart from whether words stand before or after a call that was still coming.
fn meaning(response: &ModelResponse) -> impl PartialEq + std::fmt::Debug {
    let thoughts = response.parts.iter().filter_map(|part| match part {
        Part::Reasoning(reasoning) => Some(reasoning.clone()),
        _ => None,
    });
    (
        response.text(),
        thoughts.collect::<Vec<_>>(),
        response.calls().cloned().collect::<Vec<_>>(),
        (response.stop, response.usage, response.model.clone()),
    )
}
