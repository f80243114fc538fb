//! The dashboard in a real Chromium, on a real server with a real worker: each script in `tests/browser` is one test.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;

use super::task_world::{INSTANT, TaskWorld};

const GREETER: &str = include_str!("../../src/cli/demo/greet.sh");
const TESTS: &str = include_str!("../../src/cli/demo/test.sh");

const CORRECTED: &str = include_str!("../browser/scripts/corrected.json");
const BLOCKED: &str = include_str!("../browser/scripts/blocked.json");
const HOSTILE: &str = include_str!("../browser/scripts/hostile.json");
const BOARD: &str = include_str!("../browser/scripts/board.json");

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap().to_owned()
}

/// A repository that is tested by this command.
fn tested_by(test: &str, script: &str) -> TaskWorld {
    let world = TaskWorld::new(test, script);
    // A browser beside it takes its share of the machine: a lease must outlast that.
    world.lease(30);
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
    let setup = Command::new(root.join("scripts/setup"))
        .args(["--only", "browser"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&setup.stderr);
    assert!(setup.status.success(), "{said}");
    let pictures = root.join("target/screenshots");
    std::fs::create_dir_all(&pictures).unwrap();
    let chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];
    let chromium = chromium.iter().find(|path| Path::new(path).exists());
    // Playwright asks for a younger Node than Debian 12 has.
    let output = Command::new(modules.join("node_modules/.bin/node"))
        .arg(root.join("crates/windlass/tests/browser").join(script))
        .env("WINDLASS", assert_cmd::cargo::cargo_bin("windlass"))
        .env("WORLD", world.path(""))
        .env("MODULES", modules)
        .env("CHROMIUM", chromium.unwrap())
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
    browse(&world(BLOCKED), "blocker.mjs");
}

#[test]
fn real_browser_decides_an_approval() {
    let world = tested_by("test -f done.txt", INSTANT);
    std::fs::write(world.path("model.json"), INSTANT).unwrap();
    browse(&world, "approval.mjs");
}

#[test]
fn real_browser_adds_a_task_to_the_project_that_is_served() {
    browse(&tested_by("true", INSTANT), "project.mjs");
}

#[test]
fn real_browser_shows_a_plan() {
    browse(&tested_by("test -f done.txt", INSTANT), "plan.mjs");
}

/// An agent that says this many words, one at a time, and then does what is wanted.
fn talkative(words: usize, pause_ms: u64) -> TaskWorld {
    let said: Vec<_> = (0..words)
        .map(|n| format!(r#"{{"text": "word {n} "}}"#))
        .collect();
    let script = format!(
        r#"{{"turns": [
          {{"delay_ms": {pause_ms}, "answer": [{}, {{"write_file": {{"path": "done.txt", "content": "done"}}}}]}},
          {{"or_more": true, "answer": [{{"text": "Done."}}]}}
        ]}}"#,
        said.join(", ")
    );
    tested_by("test -f done.txt", &script)
}

#[test]
fn p14_real_browser_loses_and_doubles_nothing_when_the_server_restarts() {
    browse(&talkative(240, 50), "restart.mjs");
}

#[test]
fn p14_real_browser_asks_for_what_a_bad_connection_lost() {
    browse(&talkative(80, 10), "feed.mjs");
}

#[test]
fn p24_real_browser_shows_hostile_text_as_text() {
    let test = "printf '\\033[32mok <img src=x onerror=pwn()>\\033[0m\\n'; test -f done.txt";
    browse(&tested_by(test, HOSTILE), "hostile.mjs");
}

#[test]
fn real_browser_shows_every_view_in_both_themes_and_on_a_phone() {
    browse(&world(BOARD), "screenshots.mjs");
}
