//! `windlass chat` line by line: prompts, commands, resuming, signals and exit codes.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::cli_harness::Run;
use super::task_harness::TaskHarness;

/// Writes a file if the prompt asks for it, and answers everything else.
const SCRIPT: &str = r#"{"turns": [
  {"when": {"contains": "Write one"}, "answer": [{"write_file": {"path": "one.txt", "content": "one\n"}}]},
  {"when": {"contains": "Write two"}, "answer": [{"write_file": {"path": "greet.sh", "content": "two\n"}}]},
  {"or_more": true, "answer": [{"text": "Done **well**."}]}
]}"#;

/// Agents that echo, hang and fail.
const MOCKS: &str = r#"
[agents.echo]
backend = "mock"
[agents.hanging]
backend = "mock"
[[agents.hanging.expectations]]
prompt = "hang"
text = "working"
hang = true
[[agents.hanging.expectations]]
prompt = "again"
text = "still here"
[agents.failing]
backend = "mock"
[[agents.failing.expectations]]
prompt = "fail"
error = { code = "RateLimited", message = "too many requests" }
[[agents.failing.expectations]]
prompt = "ok"
text = "fine"
"#;

fn harness() -> TaskHarness {
    let harness = TaskHarness::new("true", SCRIPT);
    let file = harness.path("named.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, config + MOCKS).unwrap();
    harness
}

fn chat(harness: &TaskHarness, args: &[&str], input: &str) -> Run {
    let mut command = harness.command();
    Run::of(command.arg("chat").args(args).write_stdin(input))
}

#[test]
fn changes_are_shown_and_undone_and_git_is_not_touched() {
    let harness = harness();
    harness.file("mine.txt", "not committed\n");
    let before = harness.git(&["status", "--porcelain=v2", "--branch"]);
    let input = "Write one\nWrite two\n/diff last\n/undo\n/diff\n/undo\n/undo\n/quit\nnever\n";
    let run = chat(&harness, &[], input);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.stdout.matches("Done **well**.").count(), 2, "{run:?}");
    let last = "-echo \"Hello, $1!\"\n+two\n";
    assert_eq!(run.stdout.matches(last).count(), 1, "{run:?}");
    assert_eq!(run.stdout.matches("+one\n").count(), 1, "{run:?}");
    assert!(run.stderr.contains("restored 1 file: greet.sh"), "{run:?}");
    assert!(run.stderr.contains("restored 1 file: one.txt"), "{run:?}");
    assert!(run.stderr.contains("error: nothing to undo"), "{run:?}");
    assert_eq!(harness.read("greet.sh"), "echo \"Hello, $1!\"\n");
    assert!(!harness.project().join("one.txt").exists());
    assert_eq!(
        harness.git(&["status", "--porcelain=v2", "--branch"]),
        before
    );
    assert_eq!(harness.git(&["stash", "list"]), "");
}

#[test]
fn undo_says_that_ignored_files_are_not_seen() {
    let harness = harness();
    harness.file(".gitignore", "build/\none.txt\n");
    harness.git(&["add", ".gitignore"]);
    harness.git(&["commit", "-qm", "Ignore"]);
    let run = chat(&harness, &[], "Write one\n/undo\n");
    assert!(
        run.stderr
            .contains("nothing to undo: no turn of this conversation changed files; changes of files that git ignores are not seen"),
        "{run:?}"
    );

    let build = harness.project().join("build");
    std::fs::create_dir(&build).unwrap();
    let mut command = harness.command();
    command.current_dir(&build).arg("chat");
    let run = Run::of(command.write_stdin("Write one\n/undo\n/diff\n"));
    assert!(build.join("one.txt").exists(), "{run:?}");
    let reason = "build: git ignores it, so changes of files there cannot be seen";
    // When the chat starts, and for both commands.
    assert_eq!(run.stderr.matches(reason).count(), 3, "{run:?}");
}

#[test]
fn later_process_undoes_unless_files_changed_since() {
    let harness = harness();
    chat(&harness, &[], "Write one\n");
    harness.file("one.txt", "edited by hand\n");
    let run = chat(&harness, &["--last"], "/undo\n");
    assert!(
        run.stderr
            .contains("changed again since: one.txt; /diff last"),
        "{run:?}"
    );
    assert_eq!(harness.read("one.txt"), "edited by hand\n");
    harness.file("one.txt", "one\n");
    let run = chat(&harness, &["--last"], "/undo\n");
    assert!(run.stderr.contains("restored 1 file"), "{run:?}");
    assert!(!harness.project().join("one.txt").exists());
}

#[test]
fn conversation_is_listed_and_resumed_with_a_recap() {
    let harness = harness();
    let run = chat(&harness, &["-a", "echo"], "What is\\\nthis?\n");
    assert_eq!(run.stdout, "What is\nthis?\n", "{run:?}");
    let listed = harness.json(&["chat", "--list", "--json"]);
    assert_eq!(listed[0]["title"], "What is", "{listed}");
    assert_eq!(listed[0]["agent"], "echo");
    let id = listed[0]["id"].as_str().unwrap();
    let resume = format!("resume with: windlass chat --session {id}");
    assert!(run.stderr.contains(&resume), "{run:?}");
    let table = harness.run(&["chat", "--list"]);
    assert!(table.stdout.contains("What is"), "{table:?}");

    // Another agent has not seen the conversation.
    let run = chat(
        &harness,
        &["--session", &id[..6]],
        "/agent player\n/agent echo\nAnd?\n",
    );
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stdout.contains("User: What is\nthis?\necho: What is"),
        "{run:?}"
    );
    assert!(run.stdout.contains("The user now says:\n\nAnd?"), "{run:?}");
    // The scripted agent knows no session of another process.
    let run = chat(&harness, &["-a", "player"], "Hello\n");
    assert_eq!(run.code, 0, "{run:?}");
    let run = chat(&harness, &["--last"], "Once more\n");
    assert!(
        run.stderr.contains("could not resume its session"),
        "{run:?}"
    );
    assert!(run.stdout.contains("Done **well**."), "{run:?}");
    let listed = harness.json(&["chat", "--list", "--json"]);
    assert_eq!(listed[0]["turns"].as_array().unwrap().len(), 2, "{listed}");
}

#[test]
fn task_has_the_conversation() {
    let harness = harness();
    let run = chat(
        &harness,
        &["-a", "echo"],
        "Why red?\n/task Make it green\n/task\n",
    );
    assert!(run.stderr.contains("added task 1: "), "{run:?}");
    let task = harness.json(&["task", "show", "1", "--json"]);
    let task = task.get("task").unwrap_or(&task);
    assert_eq!(task["title"], "Make it green", "{task}");
    assert_eq!(task["agent"], "echo");
    let description = task["description"].as_str().unwrap();
    assert!(description.contains("User: Why red?"), "{description}");
    let tasks = harness.json(&["task", "list", "--json"]);
    assert!(tasks.to_string().contains("\"Why red?\""), "{tasks}");
}

#[test]
fn exit_code_is_that_of_the_last_turn() {
    let harness = harness();
    let run = chat(&harness, &["-a", "failing"], "ok\nfail\n");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("too many requests"), "{run:?}");
    let run = chat(&harness, &["-a", "failing"], "fail\n/nonsense\nok\n");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stderr.contains("error: no command /nonsense"),
        "{run:?}"
    );
    for (args, problem) in [
        (&["--resume"][..], "needs a terminal"),
        (&["--last"], "no conversation in this directory"),
        (&["--cwd", "missing"], "does not exist"),
        (&["-a", "missing"], "missing"),
    ] {
        let empty = TaskHarness::new("true", SCRIPT);
        let run = chat(&empty, args, "");
        assert_eq!(run.code, 2, "{args:?}: {run:?}");
        assert!(run.stderr.contains(problem), "{args:?}: {run:?}");
    }
}

#[test]
fn events_and_reports_are_json() {
    let harness = harness();
    let run = chat(&harness, &["-a", "echo", "-o", "events"], "One\nTwo\n");
    let events: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ends = events
        .iter()
        .filter(|event| event["event"]["type"] == "Result");
    assert_eq!(ends.count(), 2, "{run:?}");
    let run = chat(&harness, &["-a", "echo", "-o", "json"], "One\nTwo\n");
    let reports: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(reports.len(), 2, "{run:?}");
    assert_eq!(reports[1]["text"], "Two");
    assert_eq!(reports[0]["session"], reports[1]["session"]);
}

/// A chat with pipes.
struct Piped {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Piped {
    fn start(harness: &TaskHarness) -> Self {
        let mut child = harness
            .child(&["chat", "-a", "hanging"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            stdin,
            stdout,
        }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    /// Reads until the text has come.
    fn wait_for(&mut self, text: &str) {
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains(text) {
            let bytes = self.stdout.fill_buf().unwrap().to_vec();
            assert!(!bytes.is_empty(), "{}", String::from_utf8_lossy(&seen));
            self.stdout.consume(bytes.len());
            seen.extend(bytes);
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    fn finish(mut self) -> (Option<i32>, String) {
        drop(self.stdin);
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

#[test]
fn interrupt_stops_the_turn_and_not_the_chat() {
    let harness = harness();
    let mut chat = Piped::start(&harness);
    chat.send("hang");
    chat.wait_for("working");
    chat.signal(Signal::INT);
    chat.send("again");
    chat.wait_for("still here");
    assert_eq!(chat.finish().0, Some(0));
}

#[test]
fn termination_ends_the_chat() {
    let harness = harness();
    let mut chat = Piped::start(&harness);
    chat.send("hang");
    chat.wait_for("working");
    chat.signal(Signal::TERM);
    let (code, rest) = chat.finish();
    assert_eq!(code, Some(130), "{rest}");
    let listed = harness.json(&["chat", "--list", "--json"]);
    assert_eq!(listed[0]["turns"][0]["prompt"], "hang", "{listed}");
}
