//! Recorded tasks of real agents are repeated with the same agents, offline and in another directory.

use super::real_composite::harness;
use super::recording::{corrected, record_task, repeat};
use super::run::Server;

#[track_caller]
fn check(backend: &str, model: &str) {
    let server = Server::with_turns(corrected());
    let harness = harness(&format!(
        "[agents.real]\nbackend = {backend:?}\nmodel = {model:?}\nendpoint = {:?}\napi_key_env = \"ANY_KEY\"\n\
         permissions = \"allow\"\n",
        server.url()
    ));
    let dir = record_task(&harness, "real", 0);
    server.finish();
    let (code, report) = repeat(&harness, dir.path(), "real");
    assert_eq!(code, 0, "{report}");
    assert_eq!(report["results"][0]["outcome"], "passed", "{report}");
}

#[test]
fn task_of_codex_is_repeated() {
    check("codex", "gpt-5");
}

#[test]
fn task_of_claude_is_repeated() {
    check("claude", "claude-sonnet-4-5");
}
