//! The matrix: every real agent that can be had offline, and what it does with Windlass. Each test is a row. The rows are
//! written to files, which `scripts/test --full` prints as a table.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use windlass_core::{Clock, SystemClock};

use super::cli_harness::Run;
use super::real_composite::harness;
use super::real_scenarios::programs_of;
use super::run::Server;
use super::task_harness::TaskHarness;

/// One agent.
struct Row {
    backend: &'static str,
    /// The part of `scripts/setup` that installs it.
    tier: &'static str,
    model: &'static str,
    /// Cells that fail for a reason in the agent, with the reason. A cell that passes must not be here.
    known: &'static [(&'static str, &'static str)],
}

type Cell = fn(&Row) -> Result<(), String>;

const CELLS: [(&str, Cell); 9] = [
    ("text", text),
    ("edit", edit),
    ("read-only", read_only),
    ("cancel", cancel),
    ("resume", resume),
    ("unknown session", unknown_session),
    ("401", refused_key),
    ("timeout", timeout),
    ("task loop", task_loop),
];

/// A session that no agent has, in the form of most agents.
const UNKNOWN_SESSION: &str = "01a1dcd0-0000-4000-8000-000000000000";

/// How long a model of a test is waited for.
const TIMEOUT: Duration = Duration::from_secs(120);

/// An agent in a project, on a scripted model.
struct Subject {
    harness: TaskHarness,
    server: Server,
    path: String,
}

impl Subject {
    fn new(row: &Row, turns: Value) -> Self {
        let server = Server::with_turns(turns);
        let python = row.is_python().then(python_home).flatten();
        let readable = python.map(|dir| format!("readable = [{dir:?}]\n"));
        let readable = readable.unwrap_or_default();
        let agent = format!(
            "[agents.real]\nbackend = {:?}\nmodel = {:?}\nendpoint = {:?}\napi_key_env = \"KEY\"\n\
             permissions = \"allow\"\n{readable}",
            row.backend,
            row.model,
            server.url()
        );
        let harness = harness(&agent);
        harness.file("notes.txt", "one\ntwo\n");
        Self {
            harness,
            server,
            path: format!("{}:/usr/local/bin:/usr/bin:/bin", row.programs().display()),
        }
    }

    fn run(&self, args: &[&str]) -> Run {
        let mut command = self.harness.command();
        Run::of(command.env("PATH", &self.path).env("KEY", "k").args(args))
    }

    fn ask(&self, args: &[&str]) -> Run {
        self.run(&[&["ask", "-a", "real", "-o", "json"], args].concat())
    }

    /// Returns the processes that still run shortly after the command.
    fn processes_left(&self) -> Vec<String> {
        let mut left = self.harness.processes();
        let mut tries = 0..100;
        while !left.is_empty() && tries.next().is_some() {
            std::thread::sleep(Duration::from_millis(50));
            left = self.harness.processes();
        }
        left
    }

    fn start(&self, args: &[&str]) -> Child {
        #[expect(
            clippy::disallowed_methods,
            reason = "a test that signals needs the child itself"
        )]
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("windlass"));
        command
            .env_clear()
            .env("HOME", self.harness.home())
            .env("PATH", &self.path)
            .env("KEY", "k")
            .current_dir(self.harness.project())
            .arg("--config")
            .arg(self.harness.path("named.toml"))
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    }
}

impl Row {
    fn is_python(&self) -> bool {
        matches!(self.backend, "vibe" | "fast-agent")
    }

    fn programs(&self) -> PathBuf {
        programs_of(self.tier)
    }

    /// Runs all cells, stores the row, and fails if one is not as expected.
    #[track_caller]
    #[expect(clippy::print_stdout, reason = "prints the row of the table")]
    fn check(&self) {
        let mut line = self.backend.to_owned();
        let mut problems = Vec::new();
        for (name, cell) in CELLS {
            let known = self.known.iter().find(|(cell, _)| *cell == name);
            let (shown, problem) = match (cell(self), known) {
                (Ok(()), None) => ("yes", None),
                (Err(_), Some(_)) => ("no", None),
                (Ok(()), Some((_, reason))) => (
                    "yes",
                    Some(format!("passes, but is marked as failing: {reason}")),
                ),
                (Err(problem), None) => ("FAILED", Some(problem)),
            };
            write!(line, "\t{shown}").unwrap();
            problems.extend(problem.map(|problem| format!("{name}: {problem}")));
        }
        println!("{line}");
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("agent-matrix");
        std::fs::create_dir_all(&dir).unwrap();
        let mut file = std::fs::File::create(dir.join(self.backend)).unwrap();
        let heading: Vec<&str> = CELLS.iter().map(|(name, _)| *name).collect();
        writeln!(file, "agent\t{}\n{line}", heading.join("\t")).unwrap();
        for (cell, reason) in self.known {
            writeln!(file, "{}: {cell}: {reason}", self.backend).unwrap();
        }
        assert!(
            problems.is_empty(),
            "{}:\n{}",
            self.backend,
            problems.join("\n")
        );
    }
}

/// Returns where the interpreter of the Python agents is installed, if the sandbox may hide it.
fn python_home() -> Option<String> {
    let python = std::fs::canonicalize(programs_of("agents-vibe").join("python")).ok()?;
    let home = python.parent()?.parent()?;
    (home != std::path::Path::new("/usr")).then(|| home.display().to_string())
}

/// Returns an error with the output of the run, unless the condition is true.
fn expect(is_met: bool, what: &str, run: &Run) -> Result<(), String> {
    if is_met {
        return Ok(());
    }
    let tail: String = run.stdout.chars().rev().take(800).collect();
    let tail: String = tail.chars().rev().collect();
    Err(format!(
        "{what}; code {}: {tail} {}",
        run.code,
        run.stderr.trim()
    ))
}

fn always(text: &str) -> Value {
    json!([{ "answer": [{ "text": text }], "or_more": true }])
}

fn text(row: &Row) -> Result<(), String> {
    let subject = Subject::new(row, always("Pong it is."));
    let run = subject.ask(&["Say pong"]);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
    let is_answer = answer["text"]
        .as_str()
        .is_some_and(|text| text.trim() == "Pong it is.");
    expect(run.code == 0 && is_answer, "no answer", &run)
}

fn edit(row: &Row) -> Result<(), String> {
    let turns = json!([
        { "answer": [{ "read_file": { "path": "notes.txt" } }] },
        { "answer": [{ "edit_file": { "path": "notes.txt", "old": "two", "new": "three" } }] },
        { "answer": [{ "text": "Done." }], "or_more": true },
    ]);
    let subject = Subject::new(row, turns);
    let run = subject.ask(&["Edit the notes"]);
    let is_edited = subject.harness.read("notes.txt") == "one\nthree\n";
    expect(run.code == 0 && is_edited, "not edited", &run)
}

fn read_only(row: &Row) -> Result<(), String> {
    let turns = json!([
        { "answer": [{ "shell": { "command": "echo no > new.txt" } }] },
        { "answer": [{ "text": "I could not." }], "or_more": true },
    ]);
    let subject = Subject::new(row, turns);
    let run = subject.ask(&["--read-only", "--timeout", "90", "Write a file"]);
    let is_kept = !subject.harness.project().join("new.txt").exists();
    let was_asked = subject.server.request_count() > 0;
    expect(
        is_kept && was_asked,
        "a file was written, or the model never asked",
        &run,
    )
}

fn cancel(row: &Row) -> Result<(), String> {
    let subject = Subject::new(row, json!([{ "fault": "hang", "or_more": true }]));
    let mut child = subject.start(&["ask", "-a", "real", "Wait"]);
    let clock = SystemClock::new();
    while subject.server.request_count() == 0 && clock.elapsed() < TIMEOUT {
        std::thread::sleep(Duration::from_millis(50));
    }
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let mut stderr = String::new();
    let pipe = child.stderr.take().unwrap();
    pipe.take(1 << 16).read_to_string(&mut stderr).unwrap();
    let code = child.wait().unwrap().code().unwrap_or(-1);
    let left = subject.processes_left();
    let run = Run {
        code,
        stdout: format!("{left:?}"),
        stderr,
    };
    expect(code == 130 && left.is_empty(), "not cancelled", &run)
}

fn resume(row: &Row) -> Result<(), String> {
    // Only a resumed conversation has a second turn.
    let turns = json!([
        { "when": { "turn": 2 }, "answer": [{ "text": "I remember." }], "or_more": true },
        { "answer": [{ "text": "Aye." }], "or_more": true },
    ]);
    let subject = Subject::new(row, turns);
    let first = subject.ask(&["Remember the halyard"]);
    let answer: Value = serde_json::from_str(&first.stdout).unwrap_or_default();
    let session = answer["session"].as_str().unwrap_or_default().to_owned();
    expect(
        first.code == 0 && !session.is_empty(),
        "no first answer",
        &first,
    )?;
    let mut run = subject.ask(&["--session", &session, "Say it again"]);
    for _ in 0..70 {
        // Gemini cannot resume a session within the minute it was created.
        if !run.stderr.contains("try again in") {
            break;
        }
        std::thread::sleep(Duration::from_secs(1));
        run = subject.ask(&["--session", &session, "Say it again"]);
    }
    let remembers = run.stdout.contains("I remember.");
    expect(run.code == 0 && remembers, "not resumed", &run)
}

fn unknown_session(row: &Row) -> Result<(), String> {
    let subject = Subject::new(row, always("Who?"));
    let session = match row.backend {
        "opencode" => "ses_e231b6c81ffegBHHpmYrjtR2TQ",
        _ => UNKNOWN_SESSION,
    };
    let run = subject.ask(&["--session", session, "Go on"]);
    let output = format!("{}{}", run.stdout, run.stderr);
    let is_named = output.contains("session");
    let was_asked = subject.server.request_count() > 0;
    expect(
        run.code == 1 && is_named && !was_asked,
        "not rejected",
        &run,
    )
}

fn refused_key(row: &Row) -> Result<(), String> {
    let turns = json!([{ "fault": { "status": { "code": 401 } }, "or_more": true }]);
    let subject = Subject::new(row, turns);
    let run = subject.ask(&["--timeout", "90", "Go on"]);
    expect(run.code == 4, "not told as a missing login", &run)
}

fn timeout(row: &Row) -> Result<(), String> {
    let subject = Subject::new(row, json!([{ "fault": "hang", "or_more": true }]));
    let run = subject.ask(&["--timeout", "15", "Wait"]);
    let left = subject.processes_left();
    expect(run.code == 124 && left.is_empty(), "no timeout", &run)
}

fn task_loop(row: &Row) -> Result<(), String> {
    let subject = Subject::new(row, always("The demo has its own model."));
    let run = subject.run(&["demo", "--agent", "real"]);
    let is_proved = run.stdout.contains("Windlass ran the tests");
    expect(run.code == 0 && is_proved, "not proved", &run)
}

/// Defines a test for each row.
macro_rules! rows {
    ($($(#[$meta:meta])* $name:ident: $backend:literal, $tier:literal, $model:literal, $known:expr;)+) => {
        $($(#[$meta])*
        #[test]
        #[ignore = "full: starts a real agent nine times"]
        fn $name() {
            Row { backend: $backend, tier: $tier, model: $model, known: $known }.check();
        })+
    };
}

rows! {
    codex: "codex", "agents", "gpt-5.5", &[];
    claude: "claude", "agents", "claude-opus-5-5", &[];
    qwen: "qwen", "agents-full", "qwen3-coder-plus", &[];
    gemini: "gemini", "agents-full", "gemini-2.5-pro", &[];
    opencode: "opencode", "agents-full", "scripted", &[];
    copilot: "copilot", "agents-full", "scripted", &[];
    claude_agent_acp: "claude-agent-acp", "agents-acp", "claude-opus-5-5", &[];
    codex_acp: "codex-acp", "agents-acp", "gpt-5.5", &[];
    kimi: "kimi", "agents-more", "scripted", &[];
    pi_acp: "pi-acp", "agents-more", "scripted",
        &[("401", "it ends the turn without an answer and does not report that the key was refused")];
}

/// These agents need a newer Python than some systems have.
mod needs_python313 {
    use super::Row;

    rows! {
        vibe: "vibe", "agents-vibe", "scripted", &[];
        fast_agent: "fast-agent", "agents-fast-agent", "scripted", &[];
    }
}
