//! The dashboard in a real Chromium, on a real server with a real worker: each script in `tests/browser` is one test.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;

use super::task_world::TaskWorld;

const GREETER: &str = include_str!("../../src/cli/demo/greet.sh");
const TESTS: &str = include_str!("../../src/cli/demo/test.sh");

/// First in capitals, then right, as in the demo.
const CORRECTED: &str = r#"{"turns": [
  {"delay_ms": 150, "answer": [
    {"reasoning": "The name is missing, so its place needs a default."},
    {"text": "A default for the missing name will do. "}, {"text": "In a shell that is `${1:-World}`."},
    {"edit_file": {"path": "greet.sh", "old": "echo \"Hello, $1!\"", "new": "echo \"Hello, ${1:-World}!\""}}]},
  {"answer": [{"text": "greet.sh now greets the World where no name is given."}], "usage": {"input": 4200, "output": 180}},
  {"delay_ms": 150, "answer": [
    {"text": "The test wants the world in small letters."},
    {"edit_file": {"path": "greet.sh", "old": "echo \"Hello, ${1:-World}!\"", "new": "echo \"Hello, ${1:-world}!\""}}]},
  {"answer": [{"text": "The default is now `world`, as the test expects."}], "usage": {"input": 5100, "output": 90}}
]}"#;

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap().to_owned()
}

/// A repository that is tested by this command.
fn tested_by(test: &str, script: &str) -> TaskWorld {
    let world = TaskWorld::new(test, script);
    // A browser beside it takes its share of the machine: a lease must outlast that.
    let config = std::fs::read_to_string(world.path("named.toml")).unwrap();
    std::fs::write(
        world.path("named.toml"),
        config.replace("lease_secs = 2", "lease_secs = 30"),
    )
    .unwrap();
    world
}

/// A repository with the demo's program in it, and an agent that plays this script.
fn world(script: &str) -> TaskWorld {
    let world = tested_by("sh test.sh", script);
    world.file("greet.sh", GREETER);
    world.file("test.sh", TESTS);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "-m", "Greet people by name"]);
    world
}

/// Lets a script drive the browser. What it prints is the failure.
#[track_caller]
fn browse(world: &TaskWorld, script: &str) {
    let root = root();
    let modules = root.join(".cache/browser");
    assert!(
        modules.join("node_modules").is_dir(),
        "playwright-core is not there: run scripts/setup"
    );
    let pictures = root.join("target/screenshots");
    std::fs::create_dir_all(&pictures).unwrap();
    let chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];
    let chromium = chromium.iter().find(|path| Path::new(path).exists());
    let chromium = chromium.expect("chromium is not there: run scripts/setup");
    let output = Command::new("node")
        .arg(root.join("crates/windlass/tests/browser").join(script))
        .env("WINDLASS", assert_cmd::cargo::cargo_bin("windlass"))
        .env("WORLD", world.path(""))
        .env("MODULES", modules)
        .env("CHROMIUM", chromium)
        .env("SHOTS", pictures)
        .timeout(Duration::from_secs(280))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(world.processes(), Vec::<String>::new());
}

#[test]
fn real_browser_adds_a_task_and_watches_it_to_proof() {
    browse(&world(CORRECTED), "proof.mjs");
}

#[test]
fn real_browser_adds_a_task_by_keyboard_alone() {
    browse(&world(CORRECTED), "keyboard.mjs");
}

#[test]
fn real_browser_answers_a_blocker() {
    let wrong = |word: &str| {
        let text = GREETER.replace("$1", &format!("${{1:-{word}}}"));
        serde_json::json!({"answer": [{"write_file": {"path": "greet.sh", "content": text}}]})
    };
    let said = serde_json::json!({"answer": [{"text": "Done, I think."}]});
    let mut turns = vec![serde_json::json!({
        "when": {"contains": "small letters"},
        "answer": [{"write_file": {"path": "greet.sh", "content": GREETER.replace("$1", "${1:-world}")}}],
    })];
    for word in ["World", "WORLD", "Worlds", "WoRlD"] {
        turns.push(wrong(word));
        turns.push(said.clone());
    }
    turns.push(serde_json::json!({"or_more": true, "answer": [{"text": "Done."}]}));
    let script = serde_json::json!({ "turns": turns }).to_string();
    browse(&world(&script), "blocker.mjs");
}

#[test]
fn real_browser_decides_an_approval() {
    let world = tested_by("test -f done.txt", super::task_world::INSTANT);
    std::fs::write(world.path("model.json"), super::task_world::INSTANT).unwrap();
    browse(&world, "approval.mjs");
}

#[test]
fn p14_real_browser_loses_and_doubles_nothing_when_the_server_restarts() {
    let words: Vec<_> = (0..240)
        .map(|n| serde_json::json!({"text": format!("word {n} ")}))
        .collect();
    let script = serde_json::json!({"turns": [
        {"delay_ms": 50, "answer": words.iter().chain([&serde_json::json!({"write_file": {"path": "done.txt", "content": "done\n"}})]).collect::<Vec<_>>()},
        {"or_more": true, "answer": [{"text": "Done."}]},
    ]});
    let world = tested_by("test -f done.txt", &script.to_string());
    browse(&world, "restart.mjs");
}

#[test]
fn p24_real_browser_shows_hostile_text_as_text() {
    let script = serde_json::json!({"turns": [
        {"answer": [
            {"reasoning": "\u{1b}[2J\u{202e}thinking <i>backwards</i>"},
            {"text": "<b>bold?</b> <img src=x onerror=pwn()> ![x](http://elsewhere.invalid/x.png) [click](javascript:pwn())\n\n```html\n<script>pwn()</script>\n```\n"},
            {"text": "\u{1b}]52;c;aGk=\u{7} \u{9b}31m pass\u{200b}word \u{2066}isolated"},
            {"shell": {"command": "printf '\\033[31mred\\033[0m <script>pwn()</script>\\n'"}},
            {"write_file": {"path": "evil\u{202e}txt.html", "content": "<script>pwn()</script>\u{1b}[0m\u{202e}\n"}},
            {"write_file": {"path": "done.txt", "content": "done\n"}}]},
        {"or_more": true, "answer": [{"text": "Done."}]},
    ]});
    let test = "printf '\\033[32mok <img src=x onerror=pwn()>\\033[0m\\n'; test -f done.txt";
    let world = tested_by(test, &script.to_string());
    browse(&world, "hostile.mjs");
}

#[test]
fn real_browser_shows_every_view_in_both_themes_and_on_a_phone() {
    let slow = serde_json::json!({"shell": {"command": "sleep 600 # read the old address book"}});
    let edit = |from: &str, to: &str| {
        let line = |name: &str| format!("echo \"Hello, {name}!\"");
        serde_json::json!({"edit_file": {"path": "greet.sh", "old": line(from), "new": line(to)}})
    };
    let script = serde_json::json!({"turns": [
        {"when": {"contains": "SLOW"}, "answer": [{"reasoning": "First I look at what there is."}, {"text": "The address book is a list of names, one on each line."}, slow]},
        {"when": {"contains": "STOP"}, "or_more": true, "answer": [{"wait_ms": 600_000}]},
        {"when": {"contains": "ASK"}, "or_more": true, "answer": [{"text": "I cannot know that."}]},
        {"when": {"contains": "goodbye"}, "answer": [edit("$1", "${1:-world}"), {"write_file": {"path": "goodbye.sh", "content": "#!/bin/sh\n# Says goodbye to somebody by name.\necho \"Goodbye, ${1:-world}!\"\n"}}]},
        {"when": {"contains": "without a name"}, "answer": [
            {"reasoning": "The name is missing, so its place needs a default."},
            {"text": "A default for the missing name will do. In a shell that is `${1:-World}`:\n\n- nothing new to install\n- the **other** greetings stay as they are"},
            {"read_file": {"path": "test.sh"}}, edit("$1", "${1:-World}"), {"shell": {"command": "sh -n greet.sh && echo fine"}}], "usage": {"input": 12_400, "output": 380}},
        {"when": {"contains": "got 'Hello, World!'"}, "answer": [{"text": "The test wants the world in small letters."}, edit("${1:-World}", "${1:-world}")], "usage": {"input": 14_800, "output": 210}},
        {"or_more": true, "answer": [{"text": "`greet.sh` now greets the world where no name is given."}], "usage": {"input": 15_100, "output": 60}},
    ]});
    browse(&world(&script.to_string()), "looks.mjs");
}
