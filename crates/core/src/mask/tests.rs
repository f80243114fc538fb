//! Every form of a secret is masked, wherever the text is cut.

use proptest::prelude::*;
use serde_json::json;

use super::{MaskedStream, Masker, secret_encodings};
use crate::{AgentEvent, BackendEvent, Error, ErrorCode, SecretString};

const SECRET: &str = "canary/\"7f3a+d9=é";

fn masker() -> Masker {
    Masker::new([
        ("CANARY".to_owned(), SecretString::from(SECRET)),
        (
            "LONGER".to_owned(),
            SecretString::from(format!("{SECRET}-and-more")),
        ),
        ("SHORT".to_owned(), SecretString::from("short")),
    ])
}

#[test]
fn p19_every_form_is_masked_in_text() {
    for form in secret_encodings(SECRET) {
        let text = format!("before {form} after");
        let masked = masker().text(&text).into_owned();
        assert!(!masked.contains(&form), "{masked}");
        assert!(masked.starts_with("before "), "{masked}");
        assert!(masked.contains("[masked:CANARY]"), "{masked}");
    }
    assert_eq!(masker().text("a short text"), "a short text");
    assert_eq!(
        masker().text(&format!("{SECRET}-and-more")),
        "[masked:LONGER]"
    );
    assert!(Masker::default().is_empty());
    assert_eq!(format!("{:?}", Masker::default()), "Masker(0 forms)");
}

#[test]
fn p19_values_errors_and_field_names_are_masked() {
    let mut value = json!({ "a": [SECRET, 1], SECRET: { "b": format!("x{SECRET}") } });
    masker().value(&mut value);
    assert_eq!(
        value,
        json!({ "a": ["[masked:CANARY]", 1], "[masked:CANARY]": { "b": "x[masked:CANARY]" } })
    );
    let error = Error::agent(ErrorCode::AuthFailed, format!("bad key {SECRET}"));
    assert_eq!(masker().error(error).to_string(), "bad key [masked:CANARY]");
}

fn send(stream: &mut MaskedStream, event: AgentEvent, raw: Option<&str>) -> Vec<BackendEvent> {
    let raw = raw.map(str::to_owned);
    let mut sent = Vec::new();
    stream.push(BackendEvent { event, raw }, |event| sent.push(event));
    sent
}

/// Returns the text of all events.
fn text_of(events: &[BackendEvent]) -> String {
    let text = events.iter().map(|event| match &event.event {
        AgentEvent::Text(text) => text.as_str(),
        _ => "",
    });
    text.collect()
}

#[test]
fn text_without_secrets_is_sent_at_once_with_its_source() {
    let mut stream = MaskedStream::new(masker());
    let sent = send(
        &mut stream,
        AgentEvent::Text("hello".to_owned()),
        Some("{}"),
    );
    assert_eq!(text_of(&sent), "hello");
    assert_eq!(sent[0].raw.as_deref(), Some("{}"));
    let sent = send(&mut stream, AgentEvent::Text(String::new()), None);
    assert_eq!(sent.len(), 1, "an empty chunk is an event too");
}

#[test]
fn held_text_is_sent_before_the_next_event() {
    let mut stream = MaskedStream::new(masker());
    let sent = send(
        &mut stream,
        AgentEvent::Text("a can".to_owned()),
        Some("a can"),
    );
    assert_eq!(text_of(&sent), "a ");
    assert_eq!(sent[0].raw, None, "it contains the rest");
    let sent = send(&mut stream, AgentEvent::result("done"), None);
    assert_eq!(text_of(&sent), "can");
    assert!(sent[1].event.is_terminal());
    let sent = send(&mut stream, AgentEvent::Thought("can".to_owned()), None);
    assert_eq!(sent.len(), 0);
    let sent = send(&mut stream, AgentEvent::Text("of tea".to_owned()), None);
    assert_eq!(sent[0].event, AgentEvent::Thought("can".to_owned()));
    assert_eq!(text_of(&sent), "of tea");
}

proptest! {
    #[test]
    fn p19_secret_is_masked_wherever_the_stream_is_cut(
        form in 0..64_usize,
        before in "[a-c ]{0,6}",
        after in "[a-c ]{0,6}",
        cuts in proptest::collection::vec(0..64_usize, 0..8),
    ) {
        let forms = secret_encodings(SECRET);
        let form = &forms[form % forms.len()];
        let text = format!("{before}{form}{after}");
        let mut borders: Vec<usize> = cuts
            .into_iter()
            .map(|cut| text.floor_char_boundary(cut))
            .collect();
        borders.extend([0, text.len()]);
        borders.sort_unstable();
        let mut stream = MaskedStream::new(masker());
        let mut sent = Vec::new();
        for border in borders.windows(2) {
            let chunk = text[border[0]..border[1]].to_owned();
            sent.extend(send(&mut stream, AgentEvent::Text(chunk), None));
        }
        sent.extend(stream.flush());
        prop_assert_eq!(text_of(&sent), masker().text(&text).into_owned());
        prop_assert!(!text_of(&sent).contains(form));
    }
}
