//! A person continues the session of the real Codex and of the real Claude Code in the agent's own program, on a
//! terminal, and hands the result back.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use windlass_core::{Clock, SystemClock};

use super::real_best_of::agent;
use super::real_composite::{harness, json_of, run};
use super::real_scenarios::programs;
use super::run::Server;
use super::task_harness::TaskHarness;

/// How long to wait for something on the terminal.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The time between two looks, and between two keys: programs take keys that come faster for a pasted text.
const PAUSE: Duration = Duration::from_millis(500);

/// A program on a terminal of its own, which `script` provides.
struct Terminal {
    child: Child,
    keys: Arc<Mutex<ChildStdin>>,
    shown: Arc<Mutex<String>>,
}

impl Terminal {
    fn open(harness: &TaskHarness, args: &str) -> Self {
        let path = format!(
            "{}:{}",
            programs().display(),
            std::env::var("PATH").unwrap()
        );
        let windlass = assert_cmd::cargo::cargo_bin("windlass");
        let config = harness.path("named.toml");
        let line = format!(
            "stty rows 40 cols 120; exec '{}' --config '{}' {args}",
            windlass.display(),
            config.display()
        );
        #[expect(
            clippy::disallowed_methods,
            reason = "a test that types on a terminal needs the child itself"
        )]
        let mut command = std::process::Command::new("script");
        let mut child = command
            .args(["-q", "-e", "-f", "-c", &line, "/dev/null"])
            .env_clear()
            .env("HOME", harness.home())
            .env("PATH", path)
            .env("ANY_KEY", "canary-of-all")
            .env("USER", "ann")
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm-256color")
            .current_dir(harness.project())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let keys = Arc::new(Mutex::new(child.stdin.take().unwrap()));
        let shown = Arc::new(Mutex::new(String::new()));
        let mut output = child.stdout.take().unwrap();
        let (answers, screen) = (Arc::clone(&keys), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                // Programs ask a terminal where its cursor is and what it can do.
                for (question, answer) in [("\x1b[6n", "\x1b[1;1R"), ("\x1b[c", "\x1b[?62c")] {
                    for _ in text.matches(question) {
                        let _ = answers.lock().write_all(answer.as_bytes());
                    }
                }
                screen.lock().push_str(&text);
            }
        });
        Self { child, keys, shown }
    }

    fn type_keys(&self, keys: &str) {
        // The program may have ended.
        let _ = self.keys.lock().write_all(keys.as_bytes());
        std::thread::sleep(PAUSE);
    }

    /// Returns what was shown, without spaces and escape sequences.
    fn text(&self) -> String {
        let shown = self.shown.lock();
        let escapes =
            regex_lite::Regex::new(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|.)");
        let text = escapes.unwrap().replace_all(&shown, "").into_owned();
        text.chars().filter(|c| !c.is_whitespace()).collect()
    }

    /// Repeats `act` until `is_done`.
    #[track_caller]
    fn until(&mut self, what: &str, is_done: impl Fn(&mut Self) -> bool, act: impl Fn(&Self)) {
        let clock = SystemClock::new();
        while !is_done(self) {
            assert!(clock.elapsed() < TIMEOUT, "{what}: {}", self.text());
            act(self);
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Only a conversation that continues has a third answer.
fn turns() -> Value {
    json!([
        { "when": { "turn": 1 }, "answer": [{ "write_file": { "path": "done.txt", "content": "done\n" } }] },
        { "when": { "turn": 2 }, "answer": [{ "text": "Done." }] },
        {
            "when": { "turn": 3, "contains": "Say third." },
            "answer": [{ "shell": { "command": "echo third >> done.txt" } }],
        },
        { "when": { "turn": 4 }, "answer": [{ "text": "Third it is." }] },
    ])
}

/// Waits until the program writes nothing more. Before that it may take a cursor key for the key Escape.
fn wait_until_quiet(terminal: &mut Terminal) {
    let mut length = 0;
    while terminal.text().len() != length {
        length = terminal.text().len();
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn person_continues_the_session(name: &str, model: &str) {
    let server = Server::with_turns(turns());
    let harness = harness(&agent(name, model, &server));
    harness.lease(60);
    json_of(run(
        &harness,
        &["task", "add", "Write done.txt", "--agent", name, "--json"],
    ));
    let worker = run(&harness, &["worker", "--once"]);
    assert_eq!(worker.code, 0, "{}{}", worker.stdout, worker.stderr);
    // As if the person had allowed the key before.
    let home = harness.home().join(".local/state/windlass/agents/claude");
    if let Ok(text) = std::fs::read_to_string(home.join(".claude.json")) {
        let mut settings: Value = serde_json::from_str(&text).unwrap();
        settings["customApiKeyResponses"] =
            json!({ "approved": ["canary-of-all"], "rejected": [] });
        std::fs::write(home.join(".claude.json"), settings.to_string()).unwrap();
    }

    let mut terminal = Terminal::open(&harness, "task open 1 --agent --hand-back");
    // Both programs ask whether the directory is trusted: Claude Code offers to exit first, Codex to continue.
    let (claude_asks, codex_asks) = ("Yes,Itrustthisfolder", "Trustandcontinue");
    let is_ready = |terminal: &mut Terminal| {
        let text = terminal.text();
        let parts = [claude_asks, codex_asks, "Done."];
        parts.iter().any(|part| text.contains(part))
    };
    terminal.until("the program starts", is_ready, |_| {});
    wait_until_quiet(&mut terminal);
    if terminal.text().contains(claude_asks) {
        terminal.type_keys("\x1b[B");
    }
    if !terminal.text().contains("Done.") {
        terminal.type_keys("\r");
    }
    let is_shown = |terminal: &mut Terminal| terminal.text().contains("Done.");
    terminal.until("the session is shown", is_shown, |it| {
        // Codex may offer another model first; the second choice keeps the model.
        if it.text().contains("Useexistingmodel") {
            it.type_keys("\x1b[B");
            it.type_keys("\r");
        }
    });
    let said = |terminal: &mut Terminal| terminal.text().contains("Saythird.");
    terminal.until("the prompt", said, |it| it.type_keys("Say third."));
    // An answer may be needed for a permission, too.
    let is_answered = |terminal: &mut Terminal| terminal.text().contains("Thirditis.");
    terminal.until("the answer", is_answered, |it| it.type_keys("\r"));
    let has_ended = |terminal: &mut Terminal| terminal.child.try_wait().unwrap().is_some();
    terminal.until("the end", has_ended, |it| {
        it.type_keys("/quit");
        it.type_keys("\r");
    });
    let code = terminal.child.wait().unwrap().code();
    assert_eq!(code, Some(0), "{}", terminal.text());

    let shown = json_of(run(&harness, &["task", "show", "1", "--json"]));
    assert_eq!(shown["task"]["status"], "completed", "{shown:#}");
    assert_eq!(shown["attempts"][1]["worker"], "ann", "{shown:#}");
    assert_eq!(shown["proof"]["exit_code"], 0, "{shown:#}");
    let between = run(&harness, &["task", "diff", "1", "--between", "1..2"]).stdout;
    assert!(between.contains("+third"), "{between}");
    server.finish();
    assert_eq!(harness.processes(), Vec::<String>::new());
}

#[test]
#[ignore = "full: starts the real Codex on a terminal"]
fn person_continues_a_session_of_codex() {
    person_continues_the_session("codex", "model = \"gpt-5.5\"\n");
}

#[test]
#[ignore = "full: starts the real Claude Code on a terminal"]
fn person_continues_a_session_of_claude() {
    person_continues_the_session("claude", "");
}
