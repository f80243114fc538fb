//! The text format of cassettes, and invalid texts.

use expect_test::expect;
use proptest::prelude::*;

use super::*;
use windlass_core::{ErrorCode, Usage};

#[test]
fn text_format_is_stable() {
    let mut first = turn("List.", vec![AgentEvent::Text("a".into())]);
    first.options.cwd = Some("{workspace}".to_owned());
    first.cut = Some(Duration::from_millis(900));
    let mut resumed = turn("Go on.", vec![AgentEvent::result("b")]);
    resumed.resumed = true;
    let cassette = Cassette {
        entries: vec![
            Entry::Interaction(first),
            Entry::Exchange(exchange()),
            Entry::Interaction(resumed),
        ],
    };
    let text = cassette.to_jsonl().unwrap();
    expect![[r#"
        {"cassette":1}
        {"type":"turn","session":"s","options":{"cwd":"{workspace}"},"prompt":"List."}
        {"type":"event","at":0,"event":{"type":"Text","text":"a"}}
        {"type":"cut","at":900}
        {"type":"request","dialect":"chat","method":"POST","path":"/v1/chat/completions","body":{"model":"m"}}
        {"type":"response","status":200,"headers":{"content-type":"text/event-stream"}}
        {"type":"chunk","at":3,"text":"data: [DONE]\n\n"}
        {"type":"turn","session":"s","resumed":true,"options":{},"prompt":"Go on."}
        {"type":"event","at":0,"event":{"type":"Result","text":"b","usage":null,"metadata":null}}
    "#]]
    .assert_eq(&text);
    assert_eq!(Cassette::parse(&text).unwrap(), cassette);
}

#[test]
fn invalid_cassette_is_rejected_with_line_number() {
    let check = |text: &str, problem: &str| {
        let error = Cassette::parse(text).unwrap_err().to_string();
        assert!(
            error.contains(problem),
            "{error:?} does not contain {problem:?}"
        );
    };
    check("", "line 1: a cassette must start with {\"cassette\":1}");
    check("{}", "line 1: a cassette must start");
    check(
        "{\"cassette\":2}\n",
        "line 1: unsupported cassette version 2 (expected 1)",
    );
    check("{\"cassette\":1}\n\nnope", "line 3: expected");
    check(
        "{\"cassette\":1}\n{\"type\":\"dance\"}",
        "line 2: unknown variant `dance`",
    );
    check(
        "{\"cassette\":1}\n{\"type\":\"cut\",\"at\":1}",
        "line 2: a cut must be",
    );
    check(
        "{\"cassette\":1}\n{\"type\":\"chunk\",\"at\":1,\"text\":\"\"}",
        "line 2: a chunk must follow",
    );
    check(
        "{\"cassette\":1}\n{\"type\":\"event\",\"at\":0,\"event\":{\"type\":\"Text\",\"text\":\"\"}}",
        "line 2: an event must follow a turn",
    );
    let long = format!("{{\"cassette\":1}}\n{}", " ".repeat(LINE_BYTES + 1));
    check(&long, "line 2: longer than");
    check(&"x".repeat(FILE_BYTES + 1), "longer than 67108864 bytes");
}

#[test]
fn unknown_fields_are_ignored() {
    let text = concat!(
        "{\"cassette\":1,\"by\":\"later\"}\n",
        "{\"type\":\"turn\",\"session\":\"s\",\"prompt\":\"p\",\"mood\":1,\"options\":{\"mood\":2}}\n",
        "{\"type\":\"event\",\"at\":1,\"mood\":3,\"event\":{\"type\":\"Text\",\"text\":\"t\",\"mood\":4}}\n",
    );
    let cassette = Cassette::parse(text).unwrap();
    let read = cassette.interactions().next().unwrap();
    assert_eq!(read.events[0].event, AgentEvent::Text("t".into()));
}

#[test]
fn p12_too_long_line_is_not_written() {
    let cassette = Cassette::from(vec![turn(&"x".repeat(LINE_BYTES), vec![])]);
    let error = cassette.to_jsonl().unwrap_err();
    assert_eq!(error, CassetteError::LongLine { line: 2 });
}

fn any_event() -> impl Strategy<Value = AgentEvent> {
    let text = || ".{0,20}";
    prop_oneof![
        text().prop_map(AgentEvent::Text),
        text().prop_map(AgentEvent::Thought),
        (text(), text(), text()).prop_map(|(id, name, key)| AgentEvent::ToolStart {
            id,
            name,
            input: json!({ key: [1, null, true, -2.5] }),
        }),
        (text(), any::<u64>(), 0..10_000_u32).prop_map(|(text, tokens, cost)| AgentEvent::Result {
            text,
            usage: Some(Usage {
                input_tokens: tokens,
                cost_usd: Some(f64::from(cost) / 1000.0),
                ..Usage::default()
            }),
            metadata: json!({ "n": tokens }),
        }),
        text().prop_map(|message| AgentEvent::Error {
            code: ErrorCode::ToolFailed,
            message,
            recoverable: false,
        }),
    ]
}

fn any_cassette() -> impl Strategy<Value = Cassette> {
    let events = prop::collection::vec(any_event(), 0..6);
    let turns =
        (any::<String>(), events, any::<Option<u32>>()).prop_map(|(prompt, events, cut)| {
            let mut turn = turn(&prompt, events);
            turn.cut = cut.map(|ms| Duration::from_millis(ms.into()));
            Entry::Interaction(turn)
        });
    let exchanges =
        (any::<String>(), prop::collection::vec(".{0,20}", 0..4)).prop_map(|(body, texts)| {
            let mut call = exchange();
            call.body = json!(body);
            call.chunks = texts
                .into_iter()
                .map(|text| Chunk {
                    at: Duration::ZERO,
                    text,
                })
                .collect();
            Entry::Exchange(call)
        });
    let entries = prop::collection::vec(prop_oneof![turns, exchanges], 0..4);
    entries.prop_map(|entries| Cassette { entries })
}

proptest! {
    #[test]
    fn written_cassette_is_read_back(cassette in any_cassette()) {
        let text = cassette.to_jsonl().unwrap();
        prop_assert_eq!(Cassette::parse(&text).unwrap(), cassette);
    }

    #[test]
    fn parsing_any_text_does_not_panic(text in "(\\{\"cassette\":1\\}\n)?\\PC{0,200}") {
        let _ = Cassette::parse(&text);
    }
}
