//! No secret is in a recording, however it was written.

use proptest::prelude::*;
use secrecy::SecretString;

use super::*;
use crate::Usage;

const CANARY: &str = "cAnary+9f/Zk==\"42";

fn places() -> Substitutions {
    Substitutions::new()
        .workspace("/w")
        .secret("API KEY", SecretString::from(CANARY))
}

/// The canary in the spellings that a text may have.
fn spellings() -> Vec<String> {
    encodings::secret_encodings(CANARY)
}

#[track_caller]
fn is_clean(text: &str) {
    for spelling in spellings() {
        // The file is JSON: what was in a text is escaped once more in it.
        for form in [encodings::json(&spelling), spelling] {
            assert!(!text.contains(&form), "{form:?} is in {text}");
        }
    }
}

/// Every kind of text that an entry has, each holding the canary.
fn full_of(canary: &str) -> Vec<Entry> {
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
fn p19_no_field_of_a_recording_keeps_a_secret() {
    for spelling in spellings() {
        let text = normalised(&places(), full_of(&spelling));
        is_clean(&text);
        assert!(text.contains("{secret:API_KEY}"), "{text}");
    }
}

#[test]
fn p19_what_looks_like_a_key_is_left_out_unasked() {
    let check = |text: &str, normal: &str| {
        assert_eq!(
            Normalizer::new(&Substitutions::new()).normalize_text(text),
            normal
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
fn p19_debug_shows_no_secret() {
    let places = places();
    let shown = format!("{places:?} {:?}", Normalizer::new(&places));
    is_clean(&shown);
}

proptest! {
    #[test]
    fn p19_a_torn_secret_is_found(
        spelling in prop::sample::select(spellings()),
        before in "[a-z /{}]{0,8}",
        after in "[a-z /{}]{0,8}",
        cuts in prop::collection::vec(0..40_usize, 0..4),
    ) {
        let whole = format!("{before}{spelling}{after}");
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| whole.floor_char_boundary(cut)).collect();
        cuts.sort_unstable();
        cuts.push(whole.len());
        let mut from = 0;
        let mut pieces = Vec::new();
        for cut in cuts {
            pieces.push(AgentEvent::Text(whole[from..cut].to_owned()));
            pieces.push(AgentEvent::ToolProgress {
                id: "t".to_owned(),
                update: json!({ "out": &whole[from..cut] }),
            });
            from = cut;
        }
        let mut cassette = Cassette::from(vec![turn("p", pieces)]);
        Normalizer::new(&places()).normalize_cassette(&mut cassette);
        let mut said = String::new();
        let mut shown = String::new();
        for timed in &cassette.interactions().next().unwrap().events {
            match &timed.event {
                AgentEvent::Text(text) => said.push_str(text),
                AgentEvent::ToolProgress { update, .. } => shown.push_str(update["out"].as_str().unwrap()),
                other => panic!("{other:?}"),
            }
        }
        is_clean(&said);
        is_clean(&shown);
    }
}
