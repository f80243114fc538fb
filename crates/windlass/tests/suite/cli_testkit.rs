//! The test kit on the command line: scenarios, recordings, the scripted model.

use std::path::{Path, PathBuf};

use expect_test::expect;
use serde_json::{Value, json};

use super::cli_harness::{Harness, Run, text};

fn library() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .join("scenarios")
}

#[test]
fn mock_passes_every_scenario() {
    let harness = Harness::new();
    let run = harness.run(&[
        "scenario",
        "run",
        text(&library()),
        "-a",
        "mock",
        "--junit",
        "report.xml",
    ]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert!(
        run.stdout.ends_with("61 passed, 0 failed\n"),
        "{}",
        run.stdout
    );
    let junit = std::fs::read_to_string(harness.project().join("report.xml")).unwrap();
    assert!(
        junit.contains(r#"<testsuite name="scenarios on mock" tests="61" failures="0""#),
        "{junit}"
    );
    assert!(
        junit.contains(r#"<testcase classname="tools/chained" name="red_then_green""#),
        "{junit}"
    );
}

#[test]
fn p15_every_scenario_is_replayed_from_its_recording() {
    let (here, there) = (Harness::new(), Harness::new());
    let library = library();
    let cassettes = here.project().join("cassettes");
    let run = here.run(&[
        "scenario",
        "run",
        text(&library),
        "-a",
        "mock",
        "--record",
        text(&cassettes),
    ]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    let run = there.run(&[
        "scenario",
        "run",
        text(&library),
        "--cassettes",
        text(&cassettes),
    ]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert!(
        run.stdout.ends_with("61 passed, 0 failed\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn failed_expectation_is_readable() {
    let harness = Harness::new();
    let scenario = library().join("tools/internal/write.json");
    let broken = std::fs::read_to_string(scenario)
        .unwrap()
        .replace("is created\"}", "is red\"}")
        .replace("\"contains\": \"created\"", "\"contains\": \"painted\"");
    harness.file("broken.json", &broken);
    let run = harness.run(&["scenario", "run", "broken.json", "-a", "mock"]);
    assert_eq!(run.code, 1);
    let shown = normalized(&run.stdout);
    expect![[r#"
        FAILED  broken.json (n ms)
                expected event 3 did not occur: {"type":"Result","contains":"painted"}
                  expected                                         | actual
                                                                   | {"type":"Text","text":"I will write it."}
                = {"type":"ToolStart","name":"write_file","input_… | {"type":"ToolStart","id":"call-1","name":"Write","input":{"path":"{workspace}/hello.txt","content":"Hello!\n"}}
                = {"type":"ToolEnd","name":"write_file","success"… | {"type":"ToolEnd","id":"call-1","name":"Write","output":"wrote hello.txt","success":true,"duration_ms":0}
                                                                   | {"type":"Text","text":"hello.txt is red"}
                                                                   | {"type":"Result","text":"hello.txt is red","usage":{"input_tokens":200,"output_tokens":20,"cache_read_tokens":0},"metadata":null}
                - {"type":"Result","contains":"painted"}           |
        0 passed, 1 failed
    "#]].assert_eq(&shown);

    let run = harness.run(&["scenario", "run", "broken.json", "-a", "mock", "--json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["results"][0]["outcome"], "failed");
}

/// Replaces what differs from run to run.
fn normalized(text: &str) -> String {
    let text = regex_lite::Regex::new(r"/[^ ]*/scenario-[A-Za-z0-9]+")
        .unwrap()
        .replace_all(text, "{workspace}");
    let text = regex_lite::Regex::new(r"\(\d+ ms\)")
        .unwrap()
        .replace_all(&text, "(n ms)");
    let text = regex_lite::Regex::new(r#""duration_ms":\d+"#)
        .unwrap()
        .replace_all(&text, r#""duration_ms":0"#);
    text.into_owned()
}

/// The example of the format's first description, unchanged: it has no script.
const WITHOUT_SCRIPT: &str = r#"{
  "name": "read_then_edit_file",
  "description": "Agent reads a file, then edits it",
  "setup": {
    "files": {
      "/tmp/test.txt": "original content"
    }
  },
  "prompt": "Read /tmp/test.txt and add a header",
  "expected_events": [
    {"type": "ToolStart", "name": "Read", "input_contains": {"path": "/tmp/test.txt"}},
    {"type": "ToolEnd", "name": "Read", "success": true},
    {"type": "ToolStart", "name": "Edit"},
    {"type": "ToolEnd", "name": "Edit", "success": true},
    {"type": "Result", "contains": "added header"}
  ],
  "assertions": {
    "files": {
      "/tmp/test.txt": {"contains": "header"}
    }
  }
}"#;

#[test]
fn scenario_without_a_script_plays_the_given_one() {
    let harness = Harness::new();
    let script = |new: &str| {
        json!({ "turns": [
            { "answer": [{ "read_file": { "path": "tmp/test.txt" } }] },
            { "answer": [{ "edit_file": { "path": "tmp/test.txt", "old": "original content", "new": new } }] },
            { "answer": [{ "text": "I added header" }] },
        ] })
        .to_string()
    };
    let files = [
        ("example.json", WITHOUT_SCRIPT.to_owned()),
        ("script.json", script("# header\noriginal content")),
        ("wrong.json", script("other content")),
    ];
    for (name, text) in files {
        std::fs::write(harness.project().join(name), text).unwrap();
    }
    let run = |more: &[&str]| {
        let mut args = vec!["scenario", "run", "example.json", "-a", "mock"];
        args.extend(more);
        harness.run(&args)
    };
    let done = run(&["--script", "script.json"]);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    assert!(
        done.stdout.ends_with("1 passed, 0 failed\n"),
        "{}",
        done.stdout
    );

    let wrong = run(&["--script", "wrong.json"]);
    assert_eq!(wrong.code, 1, "{}", wrong.stdout);
    assert!(wrong.stdout.contains("/tmp/test.txt"), "{}", wrong.stdout);

    let without = run(&[]);
    assert_eq!(without.code, 1, "{}", without.stdout);
    assert!(
        without.stdout.contains("pass --script FILE"),
        "{}",
        without.stdout
    );

    let missing = run(&["--script", "nowhere.json"]);
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    assert!(
        missing.stderr.contains("nowhere.json"),
        "{}",
        missing.stderr
    );
}

#[test]
fn invalid_scenario_is_one_sentence() {
    let harness = Harness::new();
    harness.file(
        "odd.json",
        r#"{"name": "odd", "prompt": "hi", "expected_events": [{"type": "Smell"}]}"#,
    );
    let run = harness.run(&["scenario", "run", "odd.json", "-a", "mock"]);
    assert_eq!(run.code, 2);
    assert!(
        run.error().starts_with("odd.json: expected_events[0]"),
        "{}",
        run.stderr
    );
    let run = harness.run(&["scenario", "run", "nowhere", "-a", "mock"]);
    assert_eq!(run.code, 2);
    assert!(run.error().starts_with("nowhere: "), "{}", run.stderr);
}

/// Removes the times of the events: a replay keeps them only with the recorded timing.
fn without_offsets(cassette: &str) -> String {
    let offset = regex_lite::Regex::new(r#""at":\d+"#).unwrap();
    offset.replace_all(cassette, r#""at":0"#).into_owned()
}

/// A script that uses a tool in the workspace and prints its path.
const SCRIPT: &str = r#"{"turns": [
    {"answer": [{"text": "I look. "}, {"shell": {"command": "pwd; echo ahoy > made.txt"}}]},
    {"answer": [{"text": "Done."}]}
]}"#;

const PLAYER: &str =
    "default_agent = \"player\"\n[agents.player]\nbackend = \"mock\"\nscript = \"script.json\"\n";

#[test]
fn p15_recording_replays_exactly_in_another_directory() {
    let here = Harness::new();
    here.file("script.json", SCRIPT)
        .file("windlass.toml", PLAYER);
    assert_eq!(here.run(&["trust", "-y"]).code, 0);
    let run = here.run(&["record", "--to", "cassette.jsonl", "Look around."]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "I look. \nDone.\n"));
    let cassette = std::fs::read_to_string(here.project().join("cassette.jsonl")).unwrap();
    assert!(!cassette.contains(text(&here.project())), "{cassette}");
    assert!(cassette.contains("{workspace}"), "{cassette}");

    let there = Harness::new();
    there.file("cassette.jsonl", &cassette);
    there.file("windlass.toml", "default_agent = \"cassette\"\n[agents.cassette]\nbackend = \"replay\"\ncassette = \"cassette.jsonl\"\n");
    assert_eq!(there.run(&["trust", "-y"]).code, 0);
    let run = there.run(&["record", "--to", "again.jsonl", "Look around."]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "I look. \nDone.\n"));
    let again = std::fs::read_to_string(there.project().join("again.jsonl")).unwrap();
    assert_eq!(without_offsets(&again), without_offsets(&cassette));

    let run = there.run(&["replay", "cassette.jsonl", "-o", "events"]);
    assert!(
        run.stdout.contains(text(&there.project())),
        "paths are those of this machine: {}",
        run.stdout
    );
}

#[test]
fn prompt_missing_in_cassette_is_an_error() {
    let harness = Harness::new();
    assert_eq!(
        harness
            .run(&[
                "record",
                "-a",
                "mock",
                "--to",
                "cassette.jsonl",
                "Haul away."
            ])
            .code,
        0
    );
    let run = harness.run(&["replay", "cassette.jsonl", "Haul in."]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("- Haul away.") && run.stderr.contains("+ Haul in."),
        "{}",
        run.stderr
    );
}

#[test]
fn p19_no_secret_is_recorded() {
    let harness = Harness::new();
    let mut command = harness.windlass();
    command
        .args([
            "record",
            "-a",
            "mock",
            "--to",
            "cassette.jsonl",
            "the key is canary-12345",
        ])
        .env("OPENAI_API_KEY", "canary-12345");
    assert_eq!(Run::of(&mut command).code, 0);
    let cassette = std::fs::read_to_string(harness.project().join("cassette.jsonl")).unwrap();
    assert!(!cassette.contains("canary"), "{cassette}");
    assert!(cassette.contains("{secret:OPENAI_API_KEY}"), "{cassette}");
}

#[test]
fn record_does_not_overwrite_without_force() {
    let harness = Harness::new();
    harness.file("cassette.jsonl", "mine");
    let run = harness.run(&["record", "-a", "mock", "--to", "cassette.jsonl", "hi"]);
    assert_eq!(run.code, 2);
    assert!(run.error().contains("already exists"), "{}", run.stderr);
    assert_eq!(
        std::fs::read_to_string(harness.project().join("cassette.jsonl")).unwrap(),
        "mine"
    );
}

#[test]
fn invalid_script_is_one_sentence() {
    let harness = Harness::new();
    harness.file(
        "script.json",
        &json!({"turns": [{"anwser": []}]}).to_string(),
    );
    let run = harness.run(&["model", "--script", "script.json"]);
    assert_eq!(run.code, 2);
    assert!(run.error().contains("anwser"), "{}", run.stderr);
}
