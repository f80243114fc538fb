//! No encoding of a secret appears in a recording.

use proptest::prelude::*;
use windlass_core::{SecretString, Usage, mask};

use super::*;

const CANARY: &str = "cAnary+9f/Zk==\"42";

fn substitutions() -> Substitutions {
    Substitutions::new()
        .workspace("/w")
        .secret("API KEY", SecretString::from(CANARY))
}

/// Returns the encodings of the canary.
fn canary_encodings() -> Vec<String> {
    mask::secret_encodings(CANARY)
}

#[track_caller]
fn assert_clean(text: &str) {
    for encoded in canary_encodings() {
        // The file is JSON: text values are escaped once more in it.
        for form in [mask::json_escape(&encoded), encoded] {
            assert!(!text.contains(&form), "{form:?} is in {text}");
        }
    }
}

/// Creates entries that contain the canary in every kind of text.
fn entries_with(canary: &str) -> Vec<Entry> {
    let value = json!({ canary: [canary, {"k": canary}] });
    let events = vec![
        AgentEvent::Text(canary.to_owned()),
        AgentEvent::Thought(canary.to_owned()),
        AgentEvent::ToolStart {
            id: canary.to_owned(),
            name: canary.to_owned(),
            input: value.clone(),
        },
        AgentEvent::ToolEnd {
            id: canary.to_owned(),
            name: canary.to_owned(),
            output: value.clone(),
            success: true,
            duration_ms: 1,
        },
        AgentEvent::custom(canary, value.clone()),
        AgentEvent::SessionChanged {
            new_session_id: canary.to_owned(),
        },
        AgentEvent::SessionInvalid {
            reason: canary.to_owned(),
        },
        AgentEvent::Result {
            text: canary.to_owned(),
            usage: Some(Usage {
                extra: Some(value.clone()),
                ..Usage::default()
            }),
            metadata: value.clone(),
        },
    ];
    let mut turn = turn(canary, events);
    turn.session = canary.into();
    turn.options.model = Some(canary.to_owned());
    turn.options.mcp_servers = vec![canary.to_owned()];
    turn.options.output_schema = Some(value.clone());
    let mut call = exchange();
    call.path = format!("/v1?key={canary}");
    call.body = value;
    call.headers.insert("x".to_owned(), canary.to_owned());
    call.chunks[0].text = canary.to_owned();
    vec![Entry::Interaction(turn), Entry::Exchange(call)]
}

#[test]
fn p19_no_field_of_a_recording_contains_a_secret() {
    for encoded in canary_encodings() {
        let text = normalized(&substitutions(), entries_with(&encoded));
        assert_clean(&text);
        assert!(text.contains("{secret:API_KEY}"), "{text}");
    }
}

#[test]
fn p19_text_that_matches_a_key_pattern_is_redacted() {
    let check = |text: &str, normalized: &str| {
        assert_eq!(
            Normalizer::new(&Substitutions::new()).normalize_text(text),
            normalized
        )
    };
    check("key=sk-ant-api03-0123456789abcdef!", "key={secret}!");
    check(
        "Authorization: Bearer abc.def-123456",
        "Authorization: Bearer {secret}",
    );
    check("\\nghp_0123456789abcdefXYZ", "\\n{secret}");
    check(
        "a task-implementation-of-some-length",
        "a task-implementation-of-some-length",
    );
}

#[test]
fn p19_debug_output_contains_no_secret() {
    let substitutions = substitutions();
    let shown = format!("{substitutions:?} {:?}", Normalizer::new(&substitutions));
    assert_clean(&shown);
}

proptest! {
    #[test]
    fn p19_secret_split_between_chunks_is_found(
        encoded in prop::sample::select(canary_encodings()),
        before in "[a-z /{}]{0,8}",
        after in "[a-z /{}]{0,8}",
        cuts in prop::collection::vec(0..40_usize, 0..4),
    ) {
        let whole = format!("{before}{encoded}{after}");
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| whole.floor_char_boundary(cut)).collect();
        cuts.sort_unstable();
        cuts.push(whole.len());
        let mut from = 0;
        let mut events = Vec::new();
        for cut in cuts {
            events.push(AgentEvent::Text(whole[from..cut].to_owned()));
            events.push(AgentEvent::ToolProgress {
                id: "t".to_owned(),
                update: json!({ "out": &whole[from..cut] }),
            });
            from = cut;
        }
        let mut cassette = Cassette::from(vec![turn("p", events)]);
        Normalizer::new(&substitutions()).normalize_cassette(&mut cassette);
        let mut text_out = String::new();
        let mut progress_out = String::new();
        for timed in &cassette.interactions().next().unwrap().events {
            match &timed.event {
                AgentEvent::Text(text) => text_out.push_str(text),
                AgentEvent::ToolProgress { update, .. } => progress_out.push_str(update["out"].as_str().unwrap()),
                other => panic!("{other:?}"),
            }
        }
        assert_clean(&text_out);
        assert_clean(&progress_out);
    }
}
