//! `ask --schema`: a JSON value that matches the schema, or an error of one sentence.

use expect_test::expect;
use serde_json::{Value, json};

use super::cli_harness::{Harness, Run};

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": { "age": { "type": "integer" } },
    "required": ["age"]
}"#;

/// An agent whose first answer is invalid and whose second is valid; each expectation requires part of the prompt.
const LEARNS: &str = r#"
default_agent = "demo"
[agents.demo]
backend = "mock"
[[agents.demo.expectations]]
prompt = '"required":["age"]'
text = '{"age": "36"}'
tools = [{ name = "search" }]
[[agents.demo.expectations]]
prompt = 'at /age: value is not of type "integer"'
text = "Sorry:\n```json\n{\"age\": 36,}\n```"
"#;

const STUBBORN: &str = r#"
default_agent = "demo"
[agents.demo]
backend = "mock"
expectations = [{ text = "thirty-six" }, { text = "{}" }, { text = "{} {}" }]
"#;

fn ask(config: &str, args: &[&str]) -> Run {
    let harness = Harness::new();
    harness.file("age.json", SCHEMA);
    let mut all = vec!["--schema", "age.json"];
    all.extend(args);
    all.push("How old is Ada?");
    harness.ask_with(config, &all)
}

#[test]
fn stdout_contains_only_the_value() {
    let run = ask(LEARNS, &[]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "{\"age\":36}\n"),
        "{run:?}"
    );
    assert_eq!(run.stderr, "→ search \n");
}

#[test]
fn report_contains_value_and_all_rounds() {
    let run = ask(LEARNS, &["-o", "json"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["structured"], json!({ "age": 36 }));
    assert_eq!(report["rounds"], 2);
    assert_eq!(report["status"], "result");
    assert_eq!(report["events"], 6);
    assert_eq!(report["tools"][0]["name"], "search");
    assert!(report["text"].as_str().unwrap().starts_with("Sorry"));
}

#[test]
fn events_of_all_rounds_are_printed() {
    let run = ask(LEARNS, &["-o", "events"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let events: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let positions: Vec<(u64, u64, &str)> = events
        .iter()
        .map(|e| {
            let kind = e["event"]["type"].as_str().unwrap();
            (
                e["turn"].as_u64().unwrap(),
                e["seq"].as_u64().unwrap(),
                kind,
            )
        })
        .collect();
    let expected = [
        (1, 1, "ToolStart"),
        (1, 2, "ToolEnd"),
        (1, 3, "Text"),
        (1, 4, "Result"),
        (2, 1, "Text"),
        (2, 2, "Result"),
    ];
    assert_eq!(positions, expected);
}

#[test]
fn invalid_answers_are_one_sentence_and_code_1() {
    let run = ask(STUBBORN, &[]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    expect![[r#"age.json: the answer contains two JSON values: "{}" and "{}" (asked 3 times)"#]]
        .assert_eq(run.error());

    let run = ask(STUBBORN, &["-o", "json"]);
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&report["status"], &report["rounds"]),
        (&json!("error"), &json!(3))
    );
    assert_eq!(report["error"]["code"], "BackendError");
    assert_eq!(report.get("structured"), None);
}

#[test]
fn agent_error_keeps_its_message_and_code() {
    let agent = |answer: &str| {
        format!("default_agent = 'a'\n[agents.a]\nbackend = 'mock'\nexpectations = [{answer}]\n")
    };
    let run = ask(
        &agent("{ error = { code = 'AuthFailed', message = 'log in' } }"),
        &[],
    );
    assert_eq!((run.code, run.error()), (4, "log in"));
    let run = ask(&agent("{ hang = true }"), &["--timeout", "0.2"]);
    assert_eq!((run.code, run.stdout.as_str()), (124, ""));
    assert!(
        run.error().starts_with("the turn took longer than"),
        "{run:?}"
    );
}

#[test]
fn schema_mode_decides_whether_prompt_contains_schema() {
    let harness = Harness::new();
    harness.file("any.json", "{}");
    let prompt_sent = |mode: &[&str]| {
        let mut args = vec!["ask", "-a", "mock", "-o", "json", "--schema", "any.json"];
        args.extend(mode);
        args.push(r#"{"a": 1}"#);
        let report: Value = serde_json::from_str(&harness.run(&args).stdout).unwrap();
        report["text"].as_str().unwrap().to_owned()
    };
    // The mock echoes the prompt, and does not enforce schemas.
    for mode in [
        &["--schema-mode", "prompt"][..],
        &["--schema-mode", "auto"],
        &[],
    ] {
        assert!(prompt_sent(mode).contains("JSON schema"), "{mode:?}");
    }
    assert_eq!(prompt_sent(&["--schema-mode", "none"]), r#"{"a": 1}"#);

    // The agent's own setting is used as it is, unless the command says otherwise.
    let configured = Harness::new();
    configured.file("any.json", "{}");
    configured.file(
        "c.toml",
        "[agents.a]\nbackend = 'mock'\nschema_mode = 'none'\n",
    );
    let text = |mode: &[&str]| {
        let args = ["--config", "c.toml", "ask", "-a", "a", "-o", "json"];
        let args = [&args, &["--schema", "any.json"][..], mode, &[r#"{"a": 1}"#]].concat();
        let report: Value = serde_json::from_str(&configured.run(&args).stdout).unwrap();
        report["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(text(&[]), r#"{"a": 1}"#);
    assert!(text(&["--schema-mode", "prompt"]).contains("JSON schema"));

    let native = ["--schema", "any.json", "--schema-mode", "native", "hi"];
    let run = harness.run(&[&["ask", "-a", "mock"], &native[..]].concat());
    assert_eq!((run.code, run.error()), (1, "mock cannot enforce a schema"));
}

#[test]
fn invalid_schema_is_rejected_with_code_2() {
    let harness = Harness::new();
    let error_for = |schema: &str| {
        harness.file("s.json", schema);
        let run = harness.run(&["ask", "-a", "mock", "--schema", "s.json", "hi"]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{run:?}");
        run.error().to_owned()
    };
    expect!["the schema s.json is not JSON: EOF while parsing an object at line 1 column 1"]
        .assert_eq(&error_for("{"));
    expect!["s.json: the schema is not a JSON object"].assert_eq(&error_for("true"));
    let odd = error_for(r#"{"type": "objekt"}"#);
    assert!(
        odd.starts_with("s.json: the schema is not a JSON schema: at /type"),
        "{odd}"
    );
    let remote = error_for(r#"{"$ref": "https://example.com/s.json"}"#);
    assert!(remote.contains("example.com"), "{remote}");
    assert!(error_for(&" ".repeat(2 << 20)).contains("more than 1048576 bytes"));

    let run = harness.run(&["ask", "-a", "mock", "--schema", "nowhere.json", "hi"]);
    expect!["the schema nowhere.json cannot be read: No such file or directory (os error 2)"]
        .assert_eq(run.error());
    let run = harness.run(&["ask", "-a", "mock", "--schema-mode", "native", "hi"]);
    assert_eq!(run.code, 2, "a mode without a schema: {run:?}");
}
