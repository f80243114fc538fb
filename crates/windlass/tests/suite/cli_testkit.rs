//! The test kit from the shell: scenarios, recordings, the scripted model.

use std::path::{Path, PathBuf};

use expect_test::expect;
use serde_json::{Value, json};

use super::cli_world::{Run, World, text};

fn library() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .join("scenarios")
}

#[test]
fn every_scenario_of_the_library_is_played_by_the_mock() {
    let world = World::new();
    let run = world.run(&[
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
    let junit = std::fs::read_to_string(world.project().join("report.xml")).unwrap();
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
fn p15_every_scenario_is_played_again_from_its_recording() {
    let (here, there) = (World::new(), World::new());
    let library = library();
    let tapes = here.project().join("tapes");
    let run = here.run(&[
        "scenario",
        "run",
        text(&library),
        "-a",
        "mock",
        "--record",
        text(&tapes),
    ]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    let run = there.run(&["scenario", "run", text(&library), "--tapes", text(&tapes)]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert!(
        run.stdout.ends_with("61 passed, 0 failed\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_broken_expectation_reads_well() {
    let world = World::new();
    let scenario = library().join("tools/internal/write.json");
    let broken = std::fs::read_to_string(scenario)
        .unwrap()
        .replace("is created\"}", "is red\"}")
        .replace("\"contains\": \"created\"", "\"contains\": \"painted\"");
    world.file("broken.json", &broken);
    let run = world.run(&["scenario", "run", "broken.json", "-a", "mock"]);
    assert_eq!(run.code, 1);
    let shown = without_places(&run.stdout);
    expect![[r#"
        FAILED  broken.json (n ms)
                expected event 3 was not seen: {"type":"Result","contains":"painted"}
                  expected                                         | seen
                                                                   | {"type":"Text","text":"I will write it."}
                = {"type":"ToolStart","name":"write_file","input_… | {"type":"ToolStart","id":"call-1","name":"Write","input":{"path":"{workspace}/hello.txt","content":"Hello!\n"}}
                = {"type":"ToolEnd","name":"write_file","success"… | {"type":"ToolEnd","id":"call-1","name":"Write","output":"wrote hello.txt","success":true,"duration_ms":0}
                                                                   | {"type":"Text","text":"hello.txt is red"}
                                                                   | {"type":"Result","text":"hello.txt is red","usage":{"input_tokens":200,"output_tokens":20,"cache_read_tokens":0},"metadata":null}
                - {"type":"Result","contains":"painted"}           |
        0 passed, 1 failed
    "#]].assert_eq(&shown);

    let run = world.run(&["scenario", "run", "broken.json", "-a", "mock", "--json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["results"][0]["outcome"], "failed");
}

/// The text without what differs from run to run.
fn without_places(text: &str) -> String {
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

#[test]
fn a_scenario_that_is_none_is_one_sentence() {
    let world = World::new();
    world.file(
        "odd.json",
        r#"{"name": "odd", "prompt": "hi", "expected_events": [{"type": "Smell"}]}"#,
    );
    let run = world.run(&["scenario", "run", "odd.json", "-a", "mock"]);
    assert_eq!(run.code, 2);
    assert!(
        run.error().starts_with("odd.json: expected_events[0]"),
        "{}",
        run.stderr
    );
    let run = world.run(&["scenario", "run", "nowhere", "-a", "mock"]);
    assert_eq!(run.code, 2);
    assert!(run.error().starts_with("nowhere: "), "{}", run.stderr);
}

/// The events alone: when they come is the replay's own affair, unless it is asked for the recorded timing.
fn without_offsets(tape: &str) -> String {
    let offset = regex_lite::Regex::new(r#""at":\d+"#).unwrap();
    offset.replace_all(tape, r#""at":0"#).into_owned()
}

/// A mock that uses a tool in its workspace, and says where it is.
const SCRIPT: &str = r#"{"turns": [
    {"answer": [{"text": "I look. "}, {"shell": {"command": "pwd; echo ahoy > made.txt"}}]},
    {"answer": [{"text": "Done."}]}
]}"#;

const PLAYER: &str =
    "default_agent = \"player\"\n[agents.player]\nbackend = \"mock\"\nscript = \"script.json\"\n";

#[test]
fn p15_a_recording_replays_to_the_last_byte_in_another_place() {
    let here = World::new();
    here.file("script.json", SCRIPT)
        .file("windlass.toml", PLAYER);
    assert_eq!(here.run(&["trust", "-y"]).code, 0);
    let run = here.run(&["record", "--to", "tape.jsonl", "Look around."]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "I look. \nDone.\n"));
    let tape = std::fs::read_to_string(here.project().join("tape.jsonl")).unwrap();
    assert!(!tape.contains(text(&here.project())), "{tape}");
    assert!(tape.contains("{workspace}"), "{tape}");

    let there = World::new();
    there.file("tape.jsonl", &tape);
    there.file("windlass.toml", "default_agent = \"tape\"\n[agents.tape]\nbackend = \"replay\"\ncassette = \"tape.jsonl\"\n");
    assert_eq!(there.run(&["trust", "-y"]).code, 0);
    let run = there.run(&["record", "--to", "again.jsonl", "Look around."]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "I look. \nDone.\n"));
    let again = std::fs::read_to_string(there.project().join("again.jsonl")).unwrap();
    assert_eq!(without_offsets(&again), without_offsets(&tape));

    let run = there.run(&["replay", "tape.jsonl", "-o", "events"]);
    assert!(
        run.stdout.contains(text(&there.project())),
        "places are those of this machine: {}",
        run.stdout
    );
}

#[test]
fn a_prompt_that_is_not_on_the_tape_is_a_loud_miss() {
    let world = World::new();
    assert_eq!(
        world
            .run(&["record", "-a", "mock", "--to", "tape.jsonl", "Haul away."])
            .code,
        0
    );
    let run = world.run(&["replay", "tape.jsonl", "Haul in."]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("- Haul away.") && run.stderr.contains("+ Haul in."),
        "{}",
        run.stderr
    );
}

#[test]
fn p19_no_secret_is_recorded() {
    let world = World::new();
    let mut command = world.windlass();
    command
        .args([
            "record",
            "-a",
            "mock",
            "--to",
            "tape.jsonl",
            "the key is canary-12345",
        ])
        .env("OPENAI_API_KEY", "canary-12345");
    assert_eq!(Run::of(&mut command).code, 0);
    let tape = std::fs::read_to_string(world.project().join("tape.jsonl")).unwrap();
    assert!(!tape.contains("canary"), "{tape}");
    assert!(tape.contains("{secret:OPENAI_API_KEY}"), "{tape}");
}

#[test]
fn a_recording_does_not_replace_another_unasked() {
    let world = World::new();
    world.file("tape.jsonl", "mine");
    let run = world.run(&["record", "-a", "mock", "--to", "tape.jsonl", "hi"]);
    assert_eq!(run.code, 2);
    assert!(run.error().contains("is there already"), "{}", run.stderr);
    assert_eq!(
        std::fs::read_to_string(world.project().join("tape.jsonl")).unwrap(),
        "mine"
    );
}

#[test]
fn a_script_that_is_none_is_one_sentence() {
    let world = World::new();
    world.file(
        "script.json",
        &json!({"turns": [{"anwser": []}]}).to_string(),
    );
    let run = world.run(&["model", "--script", "script.json"]);
    assert_eq!(run.code, 2);
    assert!(run.error().contains("anwser"), "{}", run.stderr);
}
