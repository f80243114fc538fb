//! Byte streams with the splits and deviations of networks and servers.

use windlass_wire::*;

use super::streams::{is_well_formed, read};

fn text(events: &[ModelEvent]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        ModelEvent::TextDelta { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

const CHUNK: &str = r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"grüße"},"finish_reason":"stop"}]}"#;

#[test]
fn stream_with_any_line_end_and_split_decodes_the_same() {
    let plain = format!("data: {CHUNK}\n\ndata: [DONE]\n\n");
    let expected = read(Dialect::Chat, plain.as_bytes(), &[1 << 20]);
    assert_eq!(text(&expected), "grüße");
    for end in ["\n", "\r\n", "\r"] {
        let stream = format!(
            "\u{feff}: hello{end}{end}id: 4{end}data:{CHUNK}{end}{end}data: [DONE]{end}{end}"
        );
        for size in 1..9 {
            assert_eq!(
                read(Dialect::Chat, stream.as_bytes(), &[size]),
                expected,
                "{end:?} {size}"
            );
        }
    }
}

#[test]
fn sse_data_on_several_lines_is_one_event() {
    let (head, tail) = CHUNK.split_once(',').unwrap();
    let stream = format!("data: {head},\ndata: {tail}\n\ndata: [DONE]\n\n");
    assert_eq!(text(&read(Dialect::Chat, stream.as_bytes(), &[5])), "grüße");
}

#[test]
fn missing_end_marker_is_accepted() {
    let stream = format!("data: {CHUNK}");
    let events = read(Dialect::Chat, stream.as_bytes(), &[5]);
    assert_eq!(events.last(), Some(&ModelEvent::Done));
    let line = br#"{"model":"m","message":{"content":"hi"},"done":true}"#;
    assert_eq!(
        read(Dialect::Ollama, line, &[9]).last(),
        Some(&ModelEvent::Done)
    );
}

#[test]
fn p12_endless_event_ends_the_stream() {
    for dialect in Dialect::ALL {
        let mut decoder = StreamDecoder::new(dialect);
        let mut events = decoder.push(b"data: {\"a\":\"");
        let chunk = vec![b'x'; 1 << 20];
        for _ in 0..17 {
            events.extend(decoder.push(&chunk));
        }
        events.extend(decoder.finish());
        assert!(is_well_formed(&events));
        let Some(ModelEvent::Error(error)) = events.last() else {
            panic!("{dialect} continues reading");
        };
        assert_eq!(error.kind, ErrorKind::Protocol, "{dialect}");
    }
}

#[test]
fn garbage_is_one_protocol_error() {
    for dialect in Dialect::ALL {
        let events = read(dialect, b"data: <html>\n\ndata: {}\n\n", &[4]);
        assert!(is_well_formed(&events), "{events:?}");
        assert!(
            matches!(events.last(), Some(ModelEvent::Error(_))),
            "{dialect}"
        );
    }
}

#[test]
fn interleaved_calls_are_assembled_in_every_api() {
    let stream = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/chat/stream.txt");
    let events = read(Dialect::Chat, &std::fs::read(stream).unwrap(), &[11]);
    for dialect in Dialect::ALL {
        let mut encoder = StreamEncoder::new(dialect, ResponseStyle::new(dialect, 1));
        let bytes: Vec<u8> = events
            .iter()
            .flat_map(|event| encoder.push(event))
            .collect();
        let back = ModelResponse::from_events(&read(dialect, &bytes, &[13])).unwrap();
        let inputs: Vec<String> = back
            .calls()
            .map(|call| call.input_object().to_string())
            .collect();
        assert_eq!(inputs, [r#"{"x":1}"#, "{}"], "{dialect}");
    }
}

#[test]
fn p12_endless_response_does_not_grow_memory() {
    let call = |n: usize| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{n},\"id\":\"c\",\"function\":{{}}}}]}}}}]}}\n\n"
        )
    };
    let block = |n: usize| {
        format!(
            "data: {{\"type\":\"content_block_start\",\"index\":{n},\"content_block\":{{\"type\":\"text\"}}}}\n\n"
        )
    };
    let item = |n: usize| {
        format!(
            "data: {{\"type\":\"response.output_text.delta\",\"output_index\":{n},\"delta\":\"x\"}}\n\n"
        )
    };
    let endless: [(Dialect, &dyn Fn(usize) -> String); 3] = [
        (Dialect::Chat, &call),
        (Dialect::Messages, &block),
        (Dialect::Responses, &item),
    ];
    for (dialect, frame) in endless {
        let stream: String = (0..2_000).map(frame).collect();
        let events = read(dialect, stream.as_bytes(), &[1 << 20]);
        let Some(ModelEvent::Error(error)) = events.last() else {
            panic!("{dialect} continues reading");
        };
        assert_eq!(error.kind, ErrorKind::Protocol, "{dialect}");
    }
}
