//! An interrupt cancels the turn, and the program still emits its last event.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::cli_harness::{Harness, text};

const HANGING: &str = r#"
[agents.a]
backend = "mock"
[[agents.a.expectations]]
text = "working"
hang = true
"#;

/// Starts a turn that hangs after its first event, and waits for that event.
fn start_turn(harness: &Harness) -> (Child, BufReader<std::process::ChildStdout>) {
    let config = harness.config(HANGING);
    #[expect(
        clippy::disallowed_methods,
        reason = "a test that signals needs the child itself"
    )]
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("windlass"))
        .args([
            "ask",
            "-a",
            "a",
            "-o",
            "events",
            "--config",
            text(&config),
            "go",
        ])
        .env("HOME", harness.home())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    assert!(first.contains("working"), "{first}");
    (child, stdout)
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[test]
fn interrupt_cancels_turn_and_exits_130() {
    for stop in [Signal::INT, Signal::TERM] {
        let harness = Harness::new();
        let (mut child, mut stdout) = start_turn(&harness);
        signal(&child, stop);
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let last = rest.lines().last().unwrap();
        assert!(last.contains(r#""code":"Cancelled""#), "{last}");
    }
}
