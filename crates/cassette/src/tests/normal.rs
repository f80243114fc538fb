//! Tests of normalizing and restoring.

use proptest::prelude::*;

use super::*;

fn substitutions() -> Substitutions {
    Substitutions::new()
        .workspace("/home/me/shop")
        .home("/home/me")
        .path(LocalPath::Tmp, "/tmp")
}

#[track_caller]
fn check(substitutions: &Substitutions, text: &str, normalized: &str) {
    assert_eq!(
        Normalizer::new(substitutions).normalize_text(text),
        normalized
    );
    let mut restored = normalized.to_owned();
    substitutions.restore_text(&mut restored);
    assert_eq!(
        Normalizer::new(substitutions).normalize_text(&restored),
        normalized,
        "restored as {restored:?}"
    );
}

#[test]
fn paths_are_found_in_every_encoding() {
    let here = substitutions();
    check(
        &here,
        "in /home/me/shop/a.rs, not ~",
        "in {workspace}/a.rs, not ~",
    );
    check(
        &here,
        "/home/me/shops /home/me/shop.bak",
        "{home}/shops {home}/shop.bak",
    );
    check(&here, "/home/meredith", "/home/meredith");
    check(&here, "See /home/me/shop.", "See {workspace}.");
    check(&here, "-I/home/me/include", "-I{home}/include");
    check(
        &here,
        r#"{"text":"a\n/home/me/shop"}"#,
        r#"{"text":"a\n{workspace}"}"#,
    );
    check(&here, "file:///home/me/shop/a", "file://{workspace}/a");
    check(
        &here,
        "?cwd=%2Fhome%2Fme%2Fshop%2Fa",
        "?cwd={workspace:percent}%2Fa",
    );
    check(
        &here,
        "projects/-home-me-shop/x",
        "projects/{workspace:dashed}/x",
    );
    check(&here, "-home-me-shop-sub", "{workspace:dashed}-sub");
    check(&here, r"\/home\/me\/shop\/a", r"{workspace:slashed}\/a");
    check(&here, "/tmp/x and /home/me", "{tmp}/x and {home}");
    check(
        &here,
        "/home/me/tmp/x a\\n/tmp \u{1b}[0m/tmp -I/tmp",
        "{home}/tmp/x a\\n{tmp} \u{1b}[0m{tmp} -I{tmp}",
    );
    check(&here, "--- a/home/me/shop/a.rs", "--- a{workspace}/a.rs");
}

#[test]
fn nested_and_equal_paths_are_unambiguous() {
    let inside = Substitutions::new().workspace("/w").home("/w/home/");
    check(&inside, "/w/home/.rc /w/src", "{home}/.rc {workspace}/src");
    let same = Substitutions::new().workspace("/w").home("/w");
    check(&same, "/w/.rc", "{workspace}/.rc");
    let linked = Substitutions::new()
        .workspace("/real/w")
        .workspace("/link/w");
    check(&linked, "/link/w /real/w", "{workspace} {workspace}");
    let ignored = Substitutions::new()
        .home("/")
        .workspace("")
        .path(LocalPath::Tmp, "tmp");
    check(&ignored, "/ a tmp /usr", "/ a tmp /usr");
}

#[test]
fn escaped_paths_are_found() {
    let odd = Substitutions::new().workspace("/tmp/my \"wörk\"");
    check(
        &odd,
        "file:///tmp/my%20%22w%C3%B6rk%22/a",
        "file://{workspace}/a",
    );
    check(
        &odd,
        r#"{"p":"/tmp/my \"wörk\"/a"}"#,
        r#"{"p":"{workspace}/a"}"#,
    );
    check(
        &odd,
        r#"{"p":"/tmp/my \"w\u00f6rk\"/a"}"#,
        r#"{"p":"{workspace}/a"}"#,
    );
    let windows = Substitutions::new().workspace(r"C:\Users\me\w");
    check(&windows, r"C:\Users\me\w\a.rs", r"{workspace}\a.rs");
    check(
        &windows,
        r#"{"p":"C:\\Users\\me\\w\\a"}"#,
        r#"{"p":"{workspace}\\a"}"#,
    );
    check(&windows, "file:///C:/Users/me/w/a", "file:///{workspace}/a");
}

#[test]
fn restored_path_is_encoded_for_its_context() {
    let odd = Substitutions::new().workspace("/tmp/my \"w\"");
    let check = |normalized: &str, expected: &str| {
        let mut text = normalized.to_owned();
        odd.restore_text(&mut text);
        assert_eq!(text, expected);
    };
    check("cd {workspace}; ls {home}", "cd /tmp/my \"w\"; ls {home}");
    check("file://{workspace}/a", "file:///tmp/my%20%22w%22/a");
    check(
        r#"{"path":"{workspace}/a"}"#,
        r#"{"path":"/tmp/my \"w\"/a"}"#,
    );
    check("{workspace:percent}", "%2Ftmp%2Fmy%20%22w%22");
}

#[test]
fn ids_and_ports_are_numbered_in_order() {
    let none = Substitutions::new();
    let uuid = "7b0e1f9a-0c3d-4f7a-9a44-0123456789ab";
    check(
        &none,
        &format!(
            "http://127.0.0.1:4100/{uuid} localhost:5200 127.0.0.1%3A4100 call_0123456789ab {uuid}"
        ),
        "http://127.0.0.1:{port:1}/{id:1} localhost:{port:2} 127.0.0.1%3A{port:1} {id:2} {id:1}",
    );
    check(
        &none,
        "example.org:443 127.0.0.1 msg_short",
        "example.org:443 127.0.0.1 msg_short",
    );

    let start = |id: &str, note: &str| AgentEvent::ToolStart {
        id: id.to_owned(),
        name: "shell".to_owned(),
        input: json!({ "note": note }),
    };
    let events = vec![
        start("1", "1 of session-77"),
        start("session-77", ""),
        start("1", ""),
    ];
    let text = normalized(&none, vec![Entry::Interaction(turn("1", events))]);
    let ids: Vec<&str> = text.split("\"id\":\"").skip(1).map(|s| &s[..6]).collect();
    assert_eq!(ids, ["{id:2}", "{id:3}", "{id:2}"], "{text}");
    assert!(
        text.contains("\"session\":\"{id:1}\"") && text.contains("1 of {id:3}"),
        "{text}"
    );
}

#[test]
fn object_keys_are_normalized() {
    let event = AgentEvent::custom("changes", json!({ "/home/me/shop/a.rs": {"/tmp/x": 1} }));
    let mut entry = turn("p", vec![event]);
    let text = normalized(&substitutions(), vec![Entry::Interaction(entry.clone())]);
    assert!(
        text.contains(r#"{"{workspace}/a.rs":{"{tmp}/x":1}}"#),
        "{text}"
    );

    entry.events = Cassette::parse(&text)
        .unwrap()
        .interactions()
        .next()
        .unwrap()
        .events
        .clone();
    Substitutions::new().workspace("/new").restore(&mut entry);
    let AgentEvent::Custom { payload, .. } = &entry.events[0].event else {
        panic!("{entry:?}")
    };
    assert_eq!(payload, &json!({ "/new/a.rs": {"{tmp}/x": 1} }));
}

/// Normalizes the text chunks of one turn, and compares them with the expected chunks.
#[track_caller]
fn check_chunks(chunks: &[&str], expected: &[&str]) {
    let events = chunks
        .iter()
        .map(|chunk| AgentEvent::Text((*chunk).to_owned()))
        .collect();
    let mut cassette = Cassette::from(vec![turn("p", events)]);
    Normalizer::new(&substitutions()).normalize_cassette(&mut cassette);
    let Some(Entry::Interaction(turn)) = cassette.entries.first() else {
        panic!("{cassette:?}")
    };
    let texts: Vec<&str> = turn
        .events
        .iter()
        .filter_map(|timed| match &timed.event {
            AgentEvent::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, expected);
}

#[test]
fn values_split_between_chunks_are_found() {
    check_chunks(
        &[
            "see /home/",
            "me/sh",
            "op/a.rs and 7b0e1f9a-0c3d-4f7a",
            "-9a44-0123456789ab",
            "Done",
        ],
        &["see {workspace}", "", "/a.rs and {id:2}", "", "Done"],
    );
}

#[test]
fn values_at_the_start_of_a_chunk_are_found() {
    check_chunks(&["/home/me", "call_a0123456789"], &["{home}", "{id:2}"]);
    check_chunks(&["key", "sk-0123456789abcdefgh"], &["key", "{secret}"]);
}

proptest! {
    #[test]
    fn normalizing_twice_changes_nothing(text in text()) {
        let once = Normalizer::new(&substitutions()).normalize_text(&text);
        let twice = Normalizer::new(&substitutions()).normalize_text(&once);
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn normalizing_chunks_twice_changes_nothing(texts in prop::collection::vec(text(), 0..5)) {
        let events = texts.into_iter().map(AgentEvent::Text).collect();
        let mut once = Cassette::from(vec![turn("p", events)]);
        Normalizer::new(&substitutions()).normalize_cassette(&mut once);
        let mut twice = once.clone();
        Normalizer::new(&substitutions()).normalize_cassette(&mut twice);
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn two_machines_record_the_same(text in text()) {
        prop_assume!(!text.contains("{home}"));
        let there = Substitutions::new().workspace("/srv/w").home("/var/root").path(LocalPath::Tmp, "/run/tmp");
        let normalized = Normalizer::new(&substitutions()).normalize_text(&text);
        let mut restored = normalized.clone();
        there.restore_text(&mut restored);
        prop_assert_eq!(Normalizer::new(&there).normalize_text(&restored), normalized);
    }
}

/// Generates texts with many values that are replaced.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        prop::sample::select(vec![
            "/home/me",
            "/shop",
            "/tmp",
            "a",
            "1",
            "-",
            ".",
            "/",
            "\\",
            "\"",
            "%2F",
            " ",
            "{",
            "}",
            "{home}",
            "{id:2}",
            "{port:1}",
            "127.0.0.1:",
            "8080",
            "call_",
            "0123456789",
            "é",
            "7b0e1f9a-0c3d-4f7a-9a44-0123456789ab",
            "file://",
            "-home-me",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,4}",
    ];
    prop::collection::vec(word, 0..12).prop_map(|words| words.concat())
}
