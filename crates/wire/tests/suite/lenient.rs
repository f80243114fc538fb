//! Requests as clients send them: unknown fields are kept, errors name the field, paths are recognized.

use serde_json::{Value, json};
use windlass_wire::*;

/// Returns the hand-written request in the fuzzer's corpus, with one of everything that the API has.
fn full(dialect: Dialect) -> Value {
    let path = format!(
        "{}/fuzz/corpus/{dialect}/request.json",
        env!("CARGO_MANIFEST_DIR")
    );
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn parse(dialect: Dialect, body: &Value) -> Result<ModelRequest, WireError> {
    let path = dialect.path(&ModelRequest {
        stream: true,
        ..ModelRequest::new("m")
    });
    Route::parse(&path)
        .unwrap()
        .parse_request(body.to_string().as_bytes())
}

/// Collects every value at a key starting with `x_`, at any depth.
fn unknown(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if key.starts_with("x_") {
                    found.push(value.clone());
                }
                unknown(value, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| unknown(value, found)),
        _ => {}
    }
}

/// Adds a numbered unknown field to every object, also inside schemas and other free-form values, where it is
/// ordinary content.
fn add_unknown_fields(value: &mut Value, count: &mut u64) {
    match value {
        Value::Object(map) => {
            map.values_mut()
                .for_each(|value| add_unknown_fields(value, count));
            *count += 1;
            map.insert(format!("x_{count}"), json!(*count));
        }
        Value::Array(list) => list
            .iter_mut()
            .for_each(|value| add_unknown_fields(value, count)),
        _ => {}
    }
}

#[test]
fn unknown_fields_round_trip_at_any_depth() {
    for dialect in Dialect::ALL {
        let mut body = full(dialect);
        let mut count = 0;
        add_unknown_fields(&mut body, &mut count);
        let request = parse(dialect, &body).unwrap();
        let rendered: Value = serde_json::from_slice(&dialect.render_request(&request)).unwrap();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        unknown(&body, &mut before);
        unknown(&rendered, &mut after);
        before.sort_by_key(Value::as_u64);
        after.sort_by_key(Value::as_u64);
        let lost: Vec<&Value> = before.iter().filter(|v| !after.contains(v)).collect();
        assert_eq!(
            lost,
            Vec::<&Value>::new(),
            "{dialect} lost fields of {body:#}"
        );
    }
}

#[test]
fn unknown_fields_are_not_sent_to_other_apis() {
    for dialect in Dialect::ALL {
        let mut body = full(dialect);
        body["x_secret"] = "private value".into();
        let request = parse(dialect, &body).unwrap();
        for other in Dialect::ALL.into_iter().filter(|other| *other != dialect) {
            let sent = String::from_utf8(other.render_request(&request)).unwrap();
            assert!(!sent.contains("private value"), "{dialect} to {other}");
        }
    }
}

#[track_caller]
fn check_error(dialect: Dialect, body: Value, expected: &str) {
    assert_eq!(parse(dialect, &body).unwrap_err().to_string(), expected);
}

#[test]
fn error_names_the_field() {
    let hi = json!({ "role": "user", "content": "hi" });
    check_error(
        Dialect::Chat,
        json!([]),
        ": expected an object, found a list",
    );
    check_error(Dialect::Chat, json!({ "messages": [] }), "model: missing");
    check_error(Dialect::Chat, json!({ "model": "m" }), "messages: missing");
    check_error(
        Dialect::Chat,
        json!({ "model": "m", "messages": [hi, { "role": "user", "content": 5 }] }),
        "messages[1].content: expected a string or a list of parts, found a number",
    );
    check_error(
        Dialect::Messages,
        json!({ "model": "m", "messages": [{ "role": "user", "content": [{ "type": "tool_result" }] }] }),
        "messages[0].content[0].tool_use_id: missing",
    );
    check_error(
        Dialect::Responses,
        json!({ "model": "m", "input": [{ "type": "message", "role": "robot" }] }),
        "input[0].role: unknown role `robot`",
    );
    check_error(
        Dialect::Gemini,
        json!({ "contents": [{ "parts": [{ "text": 7 }] }] }),
        "contents[0].parts[0].text: expected a string, found a number",
    );
    check_error(
        Dialect::Ollama,
        json!({ "model": "m", "options": { "temperature": "hot" } }),
        "options.temperature: expected a number, found a string",
    );
}

#[test]
fn hostile_json_is_rejected() {
    let parse_error = |body: &str| {
        Route::for_dialect(Dialect::Chat)
            .parse_request(body.as_bytes())
            .unwrap_err()
    };
    let deep = |n: usize| {
        format!(
            r#"{{"model":"m","messages":[],"x":{}{}}}"#,
            "[".repeat(n),
            "]".repeat(n)
        )
    };
    assert_eq!(
        parse_error(&deep(MAX_DEPTH)),
        WireError::TooDeep { limit: MAX_DEPTH }
    );
    assert_eq!(
        parse_error(&deep(10_000)),
        WireError::TooDeep { limit: MAX_DEPTH }
    );
    assert!(
        Route::for_dialect(Dialect::Chat)
            .parse_request(deep(MAX_DEPTH - 1).as_bytes())
            .is_ok()
    );
    // Brackets inside a string are not nesting.
    let text = format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"{}\"["}}]}}"#,
        "[".repeat(500)
    );
    assert!(
        Route::for_dialect(Dialect::Chat)
            .parse_request(text.as_bytes())
            .is_ok()
    );
    for body in [
        "",
        "{",
        r#"{"model":"m","messages":[],"t":1e999}"#,
        r#"{"model":"\ud800","messages":[]}"#,
    ] {
        assert!(matches!(parse_error(body), WireError::NotJson(_)), "{body}");
    }
}

#[test]
fn path_selects_the_api() {
    let found = |path: &str| Route::parse(path).map(|r| (r.dialect, r.model, r.stream, r.framing));
    let plain = |dialect, framing| Some((dialect, None, None, framing));
    assert_eq!(
        found("/v1/chat/completions"),
        plain(Dialect::Chat, Framing::Sse)
    );
    assert_eq!(
        found("/any/base/chat/completions?x=1"),
        plain(Dialect::Chat, Framing::Sse)
    );
    assert_eq!(
        found("/v1/responses/"),
        plain(Dialect::Responses, Framing::Sse)
    );
    assert_eq!(
        found("/v1/messages?beta=true"),
        plain(Dialect::Messages, Framing::Sse)
    );
    assert_eq!(found("/api/chat"), plain(Dialect::Ollama, Framing::Lines));
    let gemini = |stream, framing| {
        Some((
            Dialect::Gemini,
            Some("g-2".to_owned()),
            Some(stream),
            framing,
        ))
    };
    assert_eq!(
        found("/v1beta/models/g-2:generateContent"),
        gemini(false, Framing::Array)
    );
    assert_eq!(
        found("/v1beta/models/g-2:streamGenerateContent"),
        gemini(true, Framing::Array)
    );
    assert_eq!(
        found("/v1beta/models/g-2:streamGenerateContent?alt=sse&key=k"),
        gemini(true, Framing::Sse)
    );
    for other in [
        "/",
        "/v1/models",
        "/v1/messages/count_tokens",
        "/v1beta/models/g:countTokens",
        "/api/tags",
    ] {
        assert_eq!(found(other), None, "{other}");
    }
}
