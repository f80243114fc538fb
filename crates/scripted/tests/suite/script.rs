//! Parsing of scripts, and error messages for invalid ones.

use expect_test::{Expect, expect};
use windlass_scripted::script::{IntentKind, RequestFeatures, Script, ScriptCursor};

use super::models::script;

#[track_caller]
fn check_error(json: &str, expected: Expect) {
    expected.assert_eq(&Script::parse(json, "demo.json").unwrap_err().to_string());
}

#[test]
fn script_round_trips() {
    let text = r#"{"about":"everything","workspace":"/w","turns":[{"when":{"contains":"go","tool":"shell","turn":1},"answer":[{"reasoning":"r"},{"text":"t"},{"wait_ms":5},{"shell":{"command":"ls"}},{"write_file":{"path":"a","content":"b"}},{"edit_file":{"path":"a","old":"b","new":"c"}},{"read_file":{"path":"a"}},{"mcp":{"server":"s","tool":"t","arguments":{"x":1}}},{"call":{"name":"n","arguments":"text"}},{"json":{"k":[1]}}],"times":2,"or_more":true,"delay_ms":10,"usage":{"input":1,"output":2,"cached":0,"reasoning":0}},{"fault":{"status":{"code":429,"retry_after_secs":7}}},{"answer":[{"text":"half"}],"fault":"cut"}]}"#;
    assert_eq!(serde_json::to_string(&script(text)).unwrap(), text);
}

#[test]
fn errors_name_the_position() {
    let unknown = "{\"turns\": [\n  {\"answer\": [{\"shel\": {}}]}\n]}";
    let unknown = Script::parse(unknown, "demo.json").unwrap_err().to_string();
    let expected =
        "demo.json:2:21: turns[0].answer[0]: unknown variant `shel`, expected one of `text`, ";
    assert!(unknown.starts_with(expected), "{unknown}");
    check_error(
        "{\"turns\": [{\"answer\": [],\n\"whem\": {}}]}",
        expect![
            "demo.json:2:6: turns[0].whem: unknown field `whem`, expected one of `when`, `answer`, `fault`, `times`, `or_more`, `delay_ms`, `usage`"
        ],
    );
    check_error(
        r#"{"turns": [{"answer": [{"shell": {"cmd": "ls"}}]}]}"#,
        expect![
            "demo.json:1:39: turns[0].answer[0].shell.cmd: unknown field `cmd`, expected `command`"
        ],
    );
    check_error(
        r#"{"turns": [{"answer": [{"text": "hi"}],}]}"#,
        expect!["demo.json:1:40: turns[0]: trailing comma"],
    );
    check_error("", expect!["demo.json:1:0: EOF while parsing a value"]);
    check_error(
        r#"{"turns": []}"#,
        expect!["demo.json: turns: empty: write at least one turn"],
    );
    check_error(
        r#"{"turns": [{"answer": [{"wait_ms": 1}]}]}"#,
        expect!["demo.json: turns[0].answer: has neither parts nor a fault: add one"],
    );
    check_error(
        r#"{"turns": [{"answer": [{"text": "x"}], "fault": "hang"}]}"#,
        expect![
            "demo.json: turns[0].fault: replaces the answer: remove the answer, or use hang_mid_stream, cut or malformed"
        ],
    );
    check_error(
        r#"{"turns": [{"fault": {"status": {"code": 200}}}]}"#,
        expect!["demo.json: turns[0].fault.status.code: not a status from 400 to 599"],
    );
    let missing = Script::read(std::path::Path::new("no-such-script.json")).unwrap_err();
    assert!(
        missing.to_string().starts_with("no-such-script.json: "),
        "{missing}"
    );
}

fn features(text: &str, turn: usize) -> RequestFeatures {
    RequestFeatures {
        new_text: text.to_owned(),
        tools: vec!["Bash".to_owned()],
        intents: vec![IntentKind::Shell],
        turn,
    }
}

#[test]
fn first_unused_matching_turn_answers() {
    let mut cursor = ScriptCursor::new(script(
        r#"{"turns": [
            {"when": {"contains": "red"}, "answer": [{"text": "1"}]},
            {"when": {"tool": "Write"}, "answer": [{"text": "2"}]},
            {"when": {"tool": "shell", "turn": 2}, "answer": [{"text": "3"}], "times": 2},
            {"answer": [{"text": "4"}], "or_more": true}
        ]}"#,
    ));
    let mut turn_number = |text: &str, turn| {
        let index = cursor.find(&features(text, turn))?;
        cursor.mark_used(index);
        Ok::<_, String>(index + 1)
    };
    assert_eq!(turn_number("blue", 1), Ok(4));
    assert_eq!(turn_number("red", 2), Ok(1));
    assert_eq!(turn_number("red", 2), Ok(3));
    assert_eq!(turn_number("red", 1), Ok(4));
    let unused: Vec<String> = cursor.unused().iter().map(ToString::to_string).collect();
    assert_eq!(
        unused,
        [
            "turn 2 was used 0 of 1 times",
            "turn 3 was used 1 of 2 times"
        ]
    );
}

#[test]
fn mismatch_is_explained_for_each_turn() {
    let cursor = ScriptCursor::new(script(
        r#"{"turns": [{"when": {"tool": "Write"}, "answer": [{"text": "1"}]},
                      {"when": {"turn": 3}, "answer": [{"text": "2"}]}]}"#,
    ));
    let why = cursor.find(&features("x", 1)).unwrap_err();
    assert_eq!(
        why,
        r#"turn 1: no tool "Write" is offered; turn 2: it is turn 1 of the conversation, not 3"#
    );
    let mut cursor = ScriptCursor::new(script(r#"{"turns": [{"answer": [{"text": "1"}]}]}"#));
    cursor.mark_used(cursor.find(&features("x", 1)).unwrap());
    assert_eq!(
        cursor.find(&features("x", 2)).unwrap_err(),
        "every turn of the script has been used"
    );
}

#[test]
fn documentation_examples_are_valid() {
    let page = super::tools::root().join("docs/testing-with-scripts.md");
    let page = std::fs::read_to_string(page).unwrap();
    let examples: Vec<&str> = page.split("```json\n").skip(1).collect();
    assert_eq!(examples.len(), 3);
    for example in examples {
        script(example.split("```").next().unwrap());
    }
}
