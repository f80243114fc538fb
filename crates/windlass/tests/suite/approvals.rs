//! A person without the dashboard: what agents ask is seen and decided at the terminal.

use serde_json::{Value, json};

use super::cli_world::Run;
use super::real_composite::world;
use super::run::Server;
use super::task_world::TaskWorld;

/// An agent that asks before it writes.
fn careful(server: &Server) -> TaskWorld {
    let world = world(&format!(
        "[agents.careful]\nbackend = \"openai\"\nendpoint = \"{}/v1\"\nmodel = \"m\"\napi_key_env = \"KEY\"\n\
         permissions = \"ask\"\n",
        server.url()
    ));
    world.lease(30);
    world
}

/// A worker for what there is to do, until it is done.
fn work(world: &TaskWorld) -> Run {
    let mut command = world.command();
    Run::of(
        command
            .env("KEY", "not-a-real-key")
            .args(["worker", "--once"]),
    )
}

/// What is asked, as soon as something is.
fn asked(world: &TaskWorld) -> Value {
    loop {
        let list = world.json(&["approvals", "--json"]);
        if list != json!([]) {
            return list;
        }
        std::thread::yield_now();
    }
}

/// The request is there to be read, with nothing in it that commands a terminal.
fn is_shown(world: &TaskWorld) {
    let shown = world.run(&["approvals"]).stdout;
    assert!(
        shown.starts_with("permission request 1 (task 1, attempt 1)\n"),
        "{shown}"
    );
    assert!(
        shown.contains("careful asks whether it may: fs_write\n"),
        "{shown}"
    );
    assert!(
        shown.contains("windlass decide 1 1  yes, once: Allow\n"),
        "{shown}"
    );
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
    let task = world.run(&["task", "show", "1"]).stdout;
    assert!(task.contains("windlass approvals"), "{task}");
}

/// One of its options can be chosen, once.
fn is_decided(world: &TaskWorld) {
    for wrong in ["0", "4", "maybe", "allow"] {
        let refused = world.run(&["decide", "1", wrong]);
        assert_eq!(refused.code, 2, "{wrong}");
        assert!(
            refused.error().contains("does not offer"),
            "{}",
            refused.stderr
        );
    }
    assert_eq!(world.run(&["decide", "7", "1"]).code, 2);
    let decided = world.run(&["decide", "1", "allow_once"]);
    assert_eq!(
        (decided.code, decided.stdout.trim()),
        (0, "Allow: task 1 goes on")
    );
    let again = world.run(&["decide", "1", "3"]);
    assert_eq!(again.code, 2);
    assert!(
        again.error().contains("decided before: allow_once"),
        "{}",
        again.stderr
    );
}

#[test]
fn p24_a_request_is_shown_and_decided_at_the_terminal() {
    let server = Server::saying(json!([
        { "when": { "turn": 1 }, "answer": [{ "write_file": { "path": "done.txt", "content": "done\n\u{1b}[2Jx\u{202e}" } }] },
        { "or_more": true, "answer": [{ "text": "Done." }] },
    ]));
    let world = careful(&server);
    let none = world.run(&["approvals"]);
    assert_eq!(
        (none.code, none.stdout.trim()),
        (0, "no permission requests")
    );
    world.json(&["task", "add", "Do it", "--agent", "careful", "--json"]);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| work(&world));
        let list = asked(&world);
        assert_eq!(list[0]["tool"], "fs_write", "{list}");

        is_shown(&world);
        is_decided(&world);
        let worker = worker.join().unwrap();
        assert!(
            worker.stderr.contains("waits for you: windlass approvals"),
            "{}",
            worker.stderr
        );
    });
    assert_eq!(world.json(&["approvals", "--json"]), json!([]));
    let all = world.json(&["approvals", "--all", "--json"]);
    assert_eq!(all[0]["decision"]["option"], "allow_once", "{all}");
    let log = world.run(&["task", "log", "1"]).stdout;
    assert!(
        log.contains("permission request 1: fs_write, decided: allow_once"),
        "{log}"
    );
    // People know the agent by the name that they gave it, not by its backend's.
    let trace = world.json(&["trace", "task-1-attempt-1", "--json"]);
    assert_eq!(trace["agent"], "careful", "{trace}");
    let steps = trace["children"].as_array().unwrap();
    let prompt = steps.iter().find(|step| step["name"] == "prompt").unwrap();
    assert_eq!(prompt["agent"], "careful", "{trace}");
    let all = world.run(&["approvals", "--all"]).stdout;
    assert!(all.contains("decided: allow_once"), "{all}");
}

#[test]
fn what_another_project_asks_is_not_shown_here() {
    let server = Server::saying(json!([
        { "when": { "turn": 1 }, "or_more": true, "answer": [{ "write_file": { "path": "done.txt", "content": "done\n" } }] },
        { "or_more": true, "answer": [{ "text": "Done." }] },
    ]));
    let world = careful(&server);
    world.json(&["task", "add", "Do it", "--agent", "careful", "--json"]);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| work(&world));
        asked(&world);
        let other = world.path("other/.git");
        std::fs::create_dir_all(other).unwrap();
        let mut elsewhere = world.command();
        let elsewhere = Run::of(elsewhere.current_dir(world.path("other")).arg("approvals"));
        assert_eq!(
            elsewhere.stdout.trim(),
            "no permission requests",
            "{}",
            elsewhere.stderr
        );
        assert_eq!(world.run(&["decide", "1", "3"]).code, 0);
        // Told no, the agent changes nothing, and the task is not done.
        assert_ne!(worker.join().unwrap().code, 0);
    });
}
