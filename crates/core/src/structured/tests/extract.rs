//! Table tests of JSON extraction.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::extract::extract;

/// Checks the value in a text whose schema requires an object.
#[track_caller]
fn found(text: &str, value: Value) {
    assert_eq!(extract(text, false).unwrap(), value, "{text}");
}

/// Checks the value in a text whose schema also accepts an array.
#[track_caller]
fn found_array(text: &str, value: Value) {
    assert_eq!(extract(text, true).unwrap(), value, "{text}");
}

#[track_caller]
fn rejected(text: &str, expected: Expect) {
    expected.assert_eq(&extract(text, true).unwrap_err().to_string());
}

#[test]
fn answer_alone_is_parsed() {
    found(r#"{"a": 1}"#, json!({ "a": 1 }));
    found(" \n{}\n ", json!({}));
    found("\u{feff}{\"a\": 1}", json!({ "a": 1 }));
    found("{\r\n  \"a\": 1\r\n}\r\n", json!({ "a": 1 }));
    found(
        r#"{"a": {"b": [{"c": null}]}}"#,
        json!({ "a": { "b": [{ "c": null }] } }),
    );
    found(
        r#"{"name": "Zoë 🦀", "q": "\u00e9"}"#,
        json!({ "name": "Zoë 🦀", "q": "é" }),
    );
    found(r#"{"say": "\"hi\" \\"}"#, json!({ "say": "\"hi\" \\" }));
    found(
        r#"{"big": 18446744073709551615, "small": -1.5e-3}"#,
        json!({ "big": u64::MAX, "small": -0.0015 }),
    );
    found("42", json!(42));
    // The array is extracted. Validation then reports that the schema requires an object.
    found(r#"[{"a": 1}]"#, json!([{ "a": 1 }]));
}

#[test]
fn answer_in_code_fence_is_found() {
    found("```json\n{\"a\": 1}\n```", json!({ "a": 1 }));
    found("```\n{\"a\": 1}\n```", json!({ "a": 1 }));
    found("~~~json\n{\"a\": 1}\n~~~", json!({ "a": 1 }));
    found("```json\r\n{\"a\": 1}\r\n```\r\n", json!({ "a": 1 }));
    found(
        "Here you are:\n\n```json\n{\"a\": 1}\n```\n\nAnything else?",
        json!({ "a": 1 }),
    );
    found("```json\n{\"a\": 1}", json!({ "a": 1 }));
    found("```json\n\"just text\"\n```", json!("just text"));
    found(
        "```json\n{\"code\": \"```sh\\nls\\n```\"}\n```",
        json!({ "code": "```sh\nls\n```" }),
    );
}

#[test]
fn answer_in_prose_is_found() {
    found(r#"The answer is {"a": 1}."#, json!({ "a": 1 }));
    found(r#"{"a": 1} I hope that helps."#, json!({ "a": 1 }));
    found(
        r#"As [1] and [the docs](x) say: {"a": [1]}"#,
        json!({ "a": [1] }),
    );
    found(r#"Open it with { and then: {"a": 1}"#, json!({ "a": 1 }));
    found(r#"Put {name} in: {"a": "}{"}"#, json!({ "a": "}{" }));
    found(r#"fn main() { run() } gives {"a": 1}"#, json!({ "a": 1 }));
}

#[test]
fn array_is_found_if_allowed() {
    found_array("[1, 2]", json!([1, 2]));
    found_array("Sure: [\"a\", \"b\"].", json!(["a", "b"]));
    found_array(
        "See [the list]: [{\"a\": 1}, {\"a\": 2},]",
        json!([{ "a": 1 }, { "a": 2 }]),
    );
    found_array("```\n[]\n```", json!([]));
}

#[test]
fn trailing_commas_are_removed() {
    found(r#"{"a": 1,}"#, json!({ "a": 1 }));
    found("{\"a\": [1, 2,\n],\n}", json!({ "a": [1, 2] }));
    found(
        r#"{"a": ",}", "b": ",]",}"#,
        json!({ "a": ",}", "b": ",]" }),
    );
    found(
        "Here:\n```json\n{\"a\": {\"b\": 1,},}\n```",
        json!({ "a": { "b": 1 } }),
    );
}

#[test]
fn text_without_json_is_rejected() {
    rejected("", expect![[r#"the answer contains no JSON: """#]]);
    rejected(
        "I cannot do that.",
        expect![[r#"the answer contains no JSON: "I cannot do that.""#]],
    );
    rejected(
        "{'a': {\"b\": 1}}",
        expect![[r#"the answer contains no JSON: "{'a': {\"b\": 1}}""#]],
    );
    rejected(
        "{a: 1}",
        expect![[r#"the answer contains no JSON: "{a: 1}""#]],
    );
    rejected(
        "{ // the part {\"b\": 1}\n \"a\": {\"b\": 1} }",
        expect![[
            r#"the answer contains no JSON: "{ // the part {\"b\": 1}\n \"a\": {\"b\": 1} }""#
        ]],
    );
    let long = extract(&"no ".repeat(1000), false).unwrap_err().to_string();
    assert!(long.len() < 300 && long.contains('…'), "{long}");
}

#[test]
fn invalid_json_is_not_repaired() {
    // Truncated at the token limit: it is neither completed nor searched for a complete part.
    rejected(
        r#"{"a": {"b": 1}, "c": [1, 2"#,
        expect![[
            r#"the answer is not valid JSON (EOF while parsing a list at line 1 column 26): "{\"a\": {\"b\": 1}, \"c\": [1, 2""#
        ]],
    );
    rejected(
        r#"[{"a": 1}, {"a": 2"#,
        expect![[
            r#"the answer is not valid JSON (EOF while parsing an object at line 1 column 18): "[{\"a\": 1}, {\"a\": 2""#
        ]],
    );
    rejected(
        "{\"a\": 1 /* one */}",
        expect![[
            r#"the answer is not valid JSON (expected `,` or `}` at line 1 column 9): "{\"a\": 1 /* one */}""#
        ]],
    );
    rejected(
        r#"{"a": NaN}"#,
        expect![[
            r#"the answer is not valid JSON (expected value at line 1 column 7): "{\"a\": NaN}""#
        ]],
    );
    rejected(
        r#"{"a": 1e999}"#,
        expect![[
            r#"the answer is not valid JSON (number out of range at line 1 column 11): "{\"a\": 1e999}""#
        ]],
    );
    rejected(
        r#"{"a": 1, "b": 2, "a": 3}"#,
        expect![[
            r#"the answer is not valid JSON (duplicate key "a" at line 1 column 20): "{\"a\": 1, \"b\": 2, \"a\": 3}""#
        ]],
    );
    rejected(
        "{\"a\": [1}, 2]",
        expect![[
            r#"the answer is not valid JSON (expected `,` or `]` at line 1 column 9): "{\"a\": [1}, 2]""#
        ]],
    );
    rejected(
        r#"{"a": [1,,]}"#,
        expect![[
            r#"the answer is not valid JSON (trailing comma at line 1 column 10): "{\"a\": [1,,]}""#
        ]],
    );
    rejected(
        "{\"a\": \"two\nlines\"}",
        expect![[
            r#"the answer is not valid JSON (control character (\u0000-\u001F) found while parsing a string at line 2 column 0): "{\"a\": \"two\nlines\"}""#
        ]],
    );
    rejected(
        r#"{"a": "\ud800"}"#,
        expect![[
            r#"the answer is not valid JSON (unexpected end of hex escape at line 1 column 14): "{\"a\": \"\\ud800\"}""#
        ]],
    );
}

#[test]
fn two_values_are_rejected() {
    rejected(
        "{\"a\": 1}\n{\"a\": 2}",
        expect![[r#"the answer contains two JSON values: "{\"a\": 1}" and "{\"a\": 2}""#]],
    );
    rejected(
        "Not {\"a\": 1} but\n```json\n{\"a\": 2}\n```",
        expect![[r#"the answer contains two JSON values: "{\"a\": 1}" and "{\"a\": 2}""#]],
    );
    // One value is invalid, but the other one may be an example.
    rejected(
        r#"{"a": 1 // no
        } as in {"a": 2}"#,
        expect![[
            r#"the answer contains two JSON values: "{\"a\": 1 // no\n        }" and "{\"a\": 2}""#
        ]],
    );
    rejected(
        r#"{"a": 1} {"a": "#,
        expect![[r#"the answer contains two JSON values: "{\"a\": 1}" and "{\"a\":""#]],
    );
}

fn any_object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(6, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    prop::collection::btree_map(any::<String>(), value, 0..5)
        .prop_map(|fields| Value::Object(Map::from_iter(fields)))
}

proptest! {
    #[test]
    fn object_is_extracted_from_any_surrounding_text(
        object in any_object(),
        before in r"[^{}\[\]`~]{0,40}",
        after in r"[^{}\[\]`~]{0,40}",
        fenced in any::<bool>(),
        pretty in any::<bool>(),
    ) {
        let json = if pretty { format!("{object:#}") } else { object.to_string() };
        let text = if fenced {
            format!("{before}\n```json\n{json}\n```\n{after}")
        } else {
            format!("{before}{json}{after}")
        };
        // In quotes, the whole answer may be one JSON string.
        prop_assume!(!serde_json::from_str::<Value>(&text).is_ok_and(|value| value.is_string()));
        prop_assert_eq!(extract(&text, false).unwrap(), object.clone());
        prop_assert_eq!(extract(&text, true).unwrap(), object);
    }
}
