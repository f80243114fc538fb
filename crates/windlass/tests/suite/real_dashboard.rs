//! The dashboard in a real Chromium, with a real server and a real worker. Each script in `tests/browser` is one
//! test.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use serde_json::json;

use super::cluster::Cluster;
use super::run::Server;
use super::task_harness::{INSTANT, TaskHarness};
use super::{eval, real_composite};

const GREETER: &str = include_str!("../../src/cli/demo/greet.sh");
const TESTS: &str = include_str!("../../src/cli/demo/test.sh");

const CORRECTED: &str = include_str!("../browser/scripts/corrected.json");
const BLOCKED: &str = include_str!("../browser/scripts/blocked.json");
const HOSTILE: &str = include_str!("../browser/scripts/hostile.json");
const REVIEW: &str = include_str!("../browser/scripts/review.json");
const BOARD: &str = include_str!("../browser/scripts/board.json");

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap().to_owned()
}

/// Creates a repository with this test command.
fn with_test_command(test: &str, script: &str) -> TaskHarness {
    let harness = TaskHarness::new(test, script);
    // The browser slows the machine down, so the lease must be longer.
    harness
}

/// Creates a repository with the demo's program, and an agent that plays this script.
fn harness(script: &str) -> TaskHarness {
    let harness = with_test_command("sh test.sh", script);
    harness.file("greet.sh", GREETER);
    harness.file("test.sh", TESTS);
    harness.git(&["add", "-A"]);
    harness.git(&["commit", "-q", "-m", "Greet people by name"]);
    harness
}

/// Runs a browser script. If it fails, its output is the error message.
#[track_caller]
fn run_browser_script(harness: &TaskHarness, script: &str) {
    run_browser_script_with(harness, script, &[]);
}

/// Runs a browser script with more environment variables, and returns its output.
#[track_caller]
fn run_browser_script_with(
    harness: &TaskHarness,
    script: &str,
    variables: &[(&str, &str)],
) -> String {
    let root = root();
    let modules = root.join(".cache/browser");
    let setup = Command::new(root.join("scripts/setup"))
        .args(["--only", "browser"])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&setup.stderr);
    assert!(setup.status.success(), "{stderr}");
    let screenshots = root.join("target/screenshots");
    std::fs::create_dir_all(&screenshots).unwrap();
    let chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];
    let chromium = chromium.iter().find(|path| Path::new(path).exists());
    // Playwright needs a newer Node than Debian 12 has.
    let output = Command::new(modules.join("node_modules/.bin/node"))
        .arg(root.join("crates/windlass/tests/browser").join(script))
        .env("WINDLASS", assert_cmd::cargo::cargo_bin("windlass"))
        .env("WORLD", harness.path(""))
        .env("MODULES", modules)
        .env("CHROMIUM", chromium.unwrap())
        .env("SHOTS", screenshots)
        .envs(variables.iter().copied())
        .timeout(Duration::from_secs(280))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(harness.processes(), Vec::<String>::new());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn real_browser_adds_task_and_follows_it_to_proof() {
    run_browser_script(&harness(CORRECTED), "proof.mjs");
}

#[test]
fn real_browser_adds_task_by_keyboard() {
    run_browser_script(&harness(CORRECTED), "keyboard.mjs");
}

#[test]
fn real_browser_answers_blocker() {
    run_browser_script(&harness(BLOCKED), "blocker.mjs");
}

#[test]
fn real_browser_decides_approval() {
    let harness = with_test_command("test -f done.txt", INSTANT);
    std::fs::write(harness.path("model.json"), INSTANT).unwrap();
    run_browser_script(&harness, "approval.mjs");
}

#[test]
fn p22_real_browser_disables_what_the_token_does_not_allow() {
    run_browser_script(&harness(BLOCKED), "scopes.mjs");
}

#[test]
fn real_browser_adds_task_to_served_project() {
    run_browser_script(&with_test_command("true", INSTANT), "project.mjs");
}

#[test]
fn real_browser_shows_plan() {
    run_browser_script(&with_test_command("test -f done.txt", INSTANT), "plan.mjs");
}

/// Creates an agent that emits this many text chunks with a delay and then completes the task.
fn streaming(chunks: usize, delay_ms: u64) -> TaskHarness {
    let texts: Vec<_> = (0..chunks)
        .map(|n| format!(r#"{{"text": "word {n} "}}"#))
        .collect();
    let script = format!(
        r#"{{"turns": [
          {{"delay_ms": {delay_ms}, "answer": [{}, {{"write_file": {{"path": "done.txt", "content": "done"}}}}]}},
          {{"or_more": true, "answer": [{{"text": "Done."}}]}}
        ]}}"#,
        texts.join(", ")
    );
    with_test_command("test -f done.txt", &script)
}

#[test]
fn p14_real_browser_has_every_event_once_after_server_restart() {
    run_browser_script(&streaming(240, 50), "restart.mjs");
}

#[test]
fn p14_real_browser_has_every_event_once_after_its_replica_was_killed() {
    let cluster = Cluster::start("replicas");
    let harness = streaming(240, 50);
    harness.configure(&cluster.url(), "test -f done.txt");
    run_browser_script(&harness, "replicas.mjs");
}

#[test]
fn p14_real_browser_recovers_events_lost_by_connection() {
    run_browser_script(&streaming(80, 10), "feed.mjs");
}

#[test]
fn real_browser_opens_task_with_many_events() {
    run_browser_script(&streaming(1_200, 0), "long-log.mjs");
}

#[test]
fn real_browser_shows_what_model_calls_cost_and_how_agents_compare() {
    let model = Server::with_turns(json!([{ "or_more": true, "answer": [{ "text": "Yes." }] }]));
    let harness = harness(CORRECTED);
    let config = harness.path("named.toml");
    let agents = format!(
        "{}{}[prices.m]\ninput = 0\noutput = 1000\nmax_output = 1000\n\
         [agents.idle]\nbackend = \"mock\"\nscript = {:?}\n",
        std::fs::read_to_string(&config).unwrap(),
        real_composite::model("upstream", "openai", "/v1", &model),
        harness.path("idle.json"),
    );
    std::fs::write(&config, agents).unwrap();
    let idle = r#"{"turns": [{"or_more": true, "answer": [{"text": "Done."}]}]}"#;
    std::fs::write(harness.path("idle.json"), idle).unwrap();
    harness.file("eval.toml", &eval::suite("\"idle\"", 2, 2));
    run_browser_script(&harness, "usage.mjs");
}

#[test]
fn p24_real_browser_renders_hostile_text_as_text() {
    let test = "printf '\\033[32mok <img src=x onerror=pwn()>\\033[0m\\n'; test -f done.txt";
    run_browser_script(&with_test_command(test, HOSTILE), "hostile.mjs");
}

#[test]
fn real_browser_renders_every_view_in_both_themes_and_on_phone() {
    run_browser_script(&harness(BOARD), "screenshots.mjs");
}

#[test]
fn real_browser_shows_goals_and_steers_tasks() {
    run_browser_script(&harness(BOARD), "steering.mjs");
}

#[test]
fn real_browser_renders_only_visible_lines_of_large_change() {
    let harness = with_test_command("true", INSTANT);
    let output = run_browser_script_with(&harness, "large-diff.mjs", &[]);
    // The times are for a person: a busy machine makes no test fail.
    print!("{output}");
}

#[test]
fn real_browser_reviews_and_lands_change() {
    run_browser_script_with(&harness(REVIEW), "review.mjs", &[("REVIEW_WIDTH", "1280")]);
}

#[test]
fn real_browser_reviews_and_lands_change_on_phone() {
    run_browser_script_with(&harness(REVIEW), "review.mjs", &[("REVIEW_WIDTH", "390")]);
}
