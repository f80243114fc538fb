//! Streams pass through a relay unchanged, and their usage and their end are read on the way.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use windlass_wire::*;

use super::arbitrary;
use super::streams::{read, write};

fn relay(dialect: Dialect, stream_usage: bool, mut bytes: &[u8], sizes: &[usize]) -> RelayedFrames {
    let mut relay = StreamRelay::new(dialect, stream_usage).unwrap();
    let mut all = RelayedFrames::default();
    let mut add = |mut part: RelayedFrames, ended: Result<(), ModelError>| {
        all.bytes.append(&mut part.bytes);
        all.events.append(&mut part.events);
        all.events.extend(ended.err().map(ModelEvent::Error));
    };
    for size in sizes.iter().cycle() {
        if bytes.is_empty() {
            break;
        }
        let (chunk, rest) = bytes.split_at((*size).clamp(1, bytes.len()));
        match relay.push(chunk) {
            Ok(part) => add(part, Ok(())),
            Err(error) => add(RelayedFrames::default(), Err(error)),
        }
        bytes = rest;
    }
    let (part, ended) = relay.finish();
    add(part, ended);
    all
}

/// Returns the last usage and the terminal event.
fn outcome(events: &[ModelEvent]) -> (Option<TokenUsage>, Option<ModelEvent>) {
    let usage = events.iter().rev().find_map(|event| match event {
        ModelEvent::Usage(usage) => Some(*usage),
        _ => None,
    });
    let end = events.last().filter(|event| event.is_terminal()).cloned();
    (usage, end)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn stream_is_relayed_unchanged_however_it_is_split(
        dialect in arbitrary::dialect(),
        response in arbitrary::response(),
        sizes in proptest::collection::vec(1..400_usize, 1..6),
        part in 0.0..2.0_f64,
    ) {
        prop_assume!(dialect != Dialect::Gemini);
        let style = ResponseStyle::new(dialect, 1_700_000_000);
        let mut bytes = write(dialect, style, &response.to_events());
        // Half of the streams are interrupted.
        bytes.truncate((bytes.len() as f64 * part) as usize);
        let relayed = relay(dialect, true, &bytes, &sizes);
        let (usage, end) = outcome(&relayed.events);
        let complete = end == Some(ModelEvent::Done);
        let expected = &bytes[..if complete { bytes.len() } else { relayed.bytes.len() }];
        prop_assert_eq!(
            String::from_utf8_lossy(&relayed.bytes),
            String::from_utf8_lossy(expected),
            "{}", dialect
        );
        let expected = outcome(&read(dialect, &bytes, &[bytes.len().max(1)]));
        prop_assert_eq!((usage, end), expected, "{}", dialect);
    }
}

#[test]
fn usage_that_the_client_does_not_want_is_dropped() {
    let text = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\\"usage\\\": 1\"},\"finish_reason\":null}],\"usage\":null}\n\n";
    let stop =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\n";
    let usage =
        "data: {\"choices\": [], \"usage\": {\"prompt_tokens\":7,\"completion_tokens\":2}}\n\n";
    let done = "data: [DONE]\n\n";
    let bytes = [": ping\n\n", text, stop, usage, done].concat();
    let without = [": ping\n\n", text, stop, done].concat();
    for (wanted, expected) in [(true, &bytes), (false, &without)] {
        let relayed = relay(Dialect::Chat, wanted, bytes.as_bytes(), &[10]);
        assert_eq!(String::from_utf8(relayed.bytes).unwrap(), *expected);
        let [ModelEvent::Usage(found), ModelEvent::Done] = &relayed.events[..] else {
            panic!("{:?}", relayed.events);
        };
        assert_eq!((found.input_tokens, found.output_tokens), (7, 2));
    }
}

#[test]
fn error_in_a_stream_is_relayed_and_reported() {
    let bytes = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
    let relayed = relay(Dialect::Messages, true, bytes.as_bytes(), &[7]);
    assert_eq!(String::from_utf8(relayed.bytes).unwrap(), bytes);
    let [ModelEvent::Error(error)] = &relayed.events[..] else {
        panic!("{:?}", relayed.events);
    };
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Overloaded, "busy")
    );
}
