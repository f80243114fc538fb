//! Responses keep their meaning, whole and streamed, wherever the network splits the stream.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use windlass_wire::*;

use super::arbitrary;

const CREATED: u64 = 1_700_000_000;

/// Returns the bytes of a stream.
pub(super) fn write(dialect: Dialect, style: ResponseStyle, events: &[ModelEvent]) -> Vec<u8> {
    let mut encoder = StreamEncoder::new(dialect, style);
    events
        .iter()
        .flat_map(|event| encoder.push(event))
        .collect()
}

/// Returns the events of a stream that arrives in chunks of the given sizes, repeated.
pub(super) fn read(dialect: Dialect, mut bytes: &[u8], sizes: &[usize]) -> Vec<ModelEvent> {
    let mut decoder = StreamDecoder::new(dialect);
    let mut events = Vec::new();
    for size in sizes.iter().cycle() {
        if bytes.is_empty() {
            break;
        }
        let (chunk, rest) = bytes.split_at((*size).clamp(1, bytes.len()));
        events.extend(decoder.push(chunk));
        bytes = rest;
    }
    events.extend(decoder.finish());
    events
}

/// Splits every delta of a stream in two.
fn split_deltas(events: Vec<ModelEvent>) -> Vec<ModelEvent> {
    let halve = |text: &str| {
        let middle = text
            .char_indices()
            .nth(text.chars().count() / 2)
            .map_or(0, |(at, _)| at);
        [text[..middle].to_owned(), text[middle..].to_owned()]
    };
    let halves = |event| match event {
        ModelEvent::TextDelta { text } => halve(&text)
            .map(|text| ModelEvent::TextDelta { text })
            .to_vec(),
        ModelEvent::ReasoningDelta { text } => halve(&text)
            .map(|text| ModelEvent::ReasoningDelta { text })
            .to_vec(),
        ModelEvent::ToolCallDelta { index, input } => halve(&input)
            .map(|input| ModelEvent::ToolCallDelta { index, input })
            .to_vec(),
        other => vec![other],
    };
    events.into_iter().flat_map(halves).collect()
}

/// Returns `true` if a stream has its calls in order and ends exactly once.
pub(super) fn is_well_formed(events: &[ModelEvent]) -> bool {
    let terminal_events = events.iter().filter(|event| event.is_terminal()).count();
    let mut open = Vec::new();
    let mut started = 0;
    let calls = events.iter().all(|event| match event {
        ModelEvent::ToolCallStart { index, .. } => {
            open.push(*index);
            started += 1;
            *index == started - 1
        }
        ModelEvent::ToolCallDelta { index, .. } => open.contains(index),
        ModelEvent::ToolCallEnd { index } => {
            let known = open.contains(index);
            open.retain(|call| call != index);
            known
        }
        ModelEvent::Done => open.is_empty(),
        _ => true,
    });
    terminal_events == 1 && events.last().is_some_and(ModelEvent::is_terminal) && calls
}

fn styles(dialect: Dialect) -> Vec<ResponseStyle> {
    let usual = ResponseStyle::new(dialect, CREATED);
    let mut styles = vec![usual];
    if dialect == Dialect::Gemini {
        styles.push(ResponseStyle {
            framing: Framing::Array,
            ..usual
        });
    }
    styles
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn response_round_trips_through_events(response in arbitrary::response()) {
        let events = response.to_events();
        prop_assert!(is_well_formed(&events));
        let built = ModelResponse::from_events(&events).unwrap();
        for dialect in Dialect::ALL {
            prop_assert_eq!(dialect.adapt_response(&built), dialect.adapt_response(&response));
        }
    }

    #[test]
    fn whole_response_round_trips(dialect in arbitrary::dialect(), response in arbitrary::response()) {
        let body = dialect.render_response(&response, ResponseStyle::new(dialect, CREATED));
        let events = dialect.parse_response(&body).unwrap();
        prop_assert!(is_well_formed(&events), "{:?}", events);
        let back = ModelResponse::from_events(&events).unwrap();
        prop_assert_eq!(back, dialect.adapt_response(&response), "{}", dialect);
    }

    #[test]
    fn streamed_response_round_trips_however_it_is_split(
        dialect in arbitrary::dialect(),
        response in arbitrary::response(),
        sizes in proptest::collection::vec(1..40_usize, 1..6),
    ) {
        for style in styles(dialect) {
            let bytes = write(dialect, style, &split_deltas(response.to_events()));
            let events = read(dialect, &bytes, &sizes);
            prop_assert!(is_well_formed(&events), "{:?}", events);
            prop_assert_eq!(&events, &read(dialect, &bytes, &[bytes.len()]));
            let back = ModelResponse::from_events(&events).unwrap();
            // If an API has one field for all text, a stream still has the texts in order.
            prop_assert_eq!(
                dialect.adapt_response(&back),
                dialect.adapt_response(&response),
                "{}", dialect
            );
        }
    }

    #[test]
    fn truncated_stream_reports_interruption(
        dialect in arbitrary::dialect(),
        response in arbitrary::response(),
        part in 0.0..1.0_f64,
    ) {
        let bytes = write(dialect, ResponseStyle::new(dialect, CREATED), &response.to_events());
        let length = (bytes.len() as f64 * part) as usize;
        let events = read(dialect, &bytes[..length], &[64]);
        prop_assert!(is_well_formed(&events));
        match events.last() {
            Some(ModelEvent::Error(error)) => prop_assert_eq!(error.kind, ErrorKind::Interrupted),
            // The end of a response may be encoded before the last byte.
            last => {
                prop_assert_eq!(last, Some(&ModelEvent::Done));
                let back = ModelResponse::from_events(&events).unwrap();
                prop_assert_eq!(dialect.adapt_response(&back).parts, dialect.adapt_response(&response).parts);
            }
        }
    }
}
