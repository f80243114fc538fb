//! Real agents on a scripted provider, directly and through the bridge: the same calls, the same answer, the same tree,
//! every token counted, and no process or file of the agent has the provider's key.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use windlass_core::{Clock, SystemClock};
use windlass_scripted::{ExchangeOutcome, ServedExchange};

use super::cli_harness::Run;
use super::output_schema;
use super::real_composite::harness;
use super::real_scenarios::programs_of;
use super::run::Server;
use super::task_harness::TaskHarness;

/// The provider's key.
const KEY: &str = "sk-canary-of-the-provider-7f3a";
/// A word of the prompt, which the memory of an agent contains.
const PROMPT: &str = "halyard-canary-of-the-prompt";
const TIMEOUT: Duration = Duration::from_secs(120);

/// One agent.
struct BridgedAgent {
    backend: &'static str,
    /// The part of `scripts/setup` that installs it.
    tier: &'static str,
    model: &'static str,
}

/// An agent in a project, on a scripted provider.
struct Subject {
    harness: TaskHarness,
    server: Server,
    path: String,
}

impl Subject {
    fn new(agent: &BridgedAgent, turns: Value, more: &str) -> Self {
        let server = Server::with_turns(turns);
        let config = format!(
            "[agents.real]\nbackend = {:?}\nmodel = {:?}\nendpoint = {:?}\napi_key_env = \"KEY\"\n\
             permissions = \"allow\"\n{more}",
            agent.backend,
            agent.model,
            server.url()
        );
        let harness = harness(&config);
        harness.file("notes.txt", "one\ntwo\n");
        let programs = programs_of(agent.tier);
        Self {
            harness,
            server,
            path: format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display()),
        }
    }

    fn run(&self, args: &[&str]) -> Run {
        let mut command = self.harness.command();
        Run::of(command.env("PATH", &self.path).env("KEY", KEY).args(args))
    }

    /// Starts a turn, and returns when the provider has received its call.
    fn start_call(&self) -> Child {
        let mut command = self.harness.child(&["ask", "-a", "real", PROMPT]);
        let child = command
            .env("PATH", &self.path)
            .env("KEY", KEY)
            .spawn()
            .unwrap();
        let clock = SystemClock::new();
        while self.server.request_count() == 0 && clock.elapsed() < TIMEOUT {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(self.server.request_count() > 0, "no call");
        child
    }

    /// Lets the agent edit a file. Returns its answer, its calls and the file.
    #[track_caller]
    fn edit(&self) -> (String, Vec<String>, String) {
        let run = self.run(&["ask", "-a", "real", "-o", "json", "Edit the notes"]);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        let root = self.harness.project().display().to_string();
        let calls = self.server.requests().into_iter().map(|call| {
            let prompt = call.prompt.replace(&root, "ROOT");
            let line = call
                .request
                .split('?')
                .next()
                .unwrap_or_default()
                .to_owned();
            format!(
                "{line} {} {:?} {}",
                call.model,
                call.tools,
                without_ids(&prompt)
            )
        });
        let text = answer["text"].as_str().unwrap().trim().to_owned();
        (text, calls.collect(), self.harness.read("notes.txt"))
    }
}

/// Replaces numbers and ids, which differ between two runs.
fn without_ids(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    // Ids have a digit; names of temporary directories need not.
    let is_id =
        |word: &str| word.bytes().any(|byte| byte.is_ascii_digit()) || word.starts_with("tmp");
    let words = words.filter(|word| !is_id(word));
    words.collect::<Vec<_>>().join(" ")
}

fn usage() -> Value {
    json!({ "input": 1000, "output": 50, "cached": 400 })
}

pub(crate) fn editing() -> Value {
    json!([
        { "answer": [{ "read_file": { "path": "notes.txt" } }], "usage": usage() },
        { "answer": [{ "edit_file": { "path": "notes.txt", "old": "two", "new": "three" } }], "usage": usage() },
        { "answer": [{ "text": "Done." }], "usage": usage(), "or_more": true },
    ])
}

impl BridgedAgent {
    /// Runs the agent both ways and compares.
    #[track_caller]
    fn check_same(&self) {
        let prices = format!(
            "[prices.{:?}]\ninput = 2.0\ncache_read = 0.5\noutput = 8.0\n",
            self.model
        );
        let direct = Subject::new(self, editing(), "bridge = \"off\"\n");
        let bridged = Subject::new(self, editing(), &prices);
        let (expected, found) = (direct.edit(), bridged.edit());
        assert_eq!(found.0, "Done.");
        assert_eq!(found.2, "one\nthree\n");
        assert_eq!(found, expected);
        let unused = direct.run(&["usage", "--json"]);
        assert_eq!(unused.stdout.trim(), "[]", "{}", unused.stderr);

        let run = bridged.run(&["usage", "--by", "agent", "--json"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let rows: Value = serde_json::from_str(&run.stdout).unwrap();
        let calls = bridged.server.requests();
        let is_turn = |call: &&ServedExchange| matches!(call.outcome, ExchangeOutcome::Turn(_));
        let turns = calls.iter().filter(is_turn).count() as u64;
        // The provider's answers to side calls report its default usage.
        let side = calls.iter().filter(|call| call.dialect.is_some()).count() as u64 - turns;
        output_schema::check("usage_rows", &rows);
        let row = &rows[0];
        assert!(turns >= 2, "{turns} turns");
        assert_eq!(row["key"], "real");
        assert_eq!(row["calls"], turns + side, "{rows}");
        assert_eq!(row["input_tokens"], 1000 * turns + 100 * side, "{rows}");
        assert_eq!(row["cache_read_tokens"], 400 * turns, "{rows}");
        assert_eq!(row["output_tokens"], 50 * turns + 10 * side, "{rows}");
        assert_eq!(row["calls_with_unknown_tokens"], 0, "{rows}");
        assert_eq!(row["calls_with_unknown_cost"], 0, "{rows}");
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let expected = (turns as f64 * (600.0 * 2.0 + 400.0 * 0.5 + 50.0 * 8.0)
            + side as f64 * (100.0 * 2.0 + 10.0 * 8.0))
            / 1e6;
        let cost = row["cost_usd"].as_f64().unwrap();
        assert!((cost - expected).abs() < 1e-9, "{cost} is not {expected}");
    }

    /// Searches what the agent can reach for the key, while it waits for its model.
    #[track_caller]
    fn check_key_is_absent(&self) {
        let hang = json!([{ "fault": "hang", "or_more": true }]);
        let subject = Subject::new(self, hang, "");
        let mut child = subject.start_call();
        let processes = descendants(child.id());
        assert!(processes.len() >= 2, "{processes:?}");
        let mut prompt_found = false;
        for process in &processes {
            let dir = PathBuf::from(format!("/proc/{process}"));
            for file in ["environ", "cmdline"] {
                let bytes = std::fs::read(dir.join(file)).unwrap_or_default();
                assert!(!contains(&bytes, KEY), "{file} of {process} has the key");
            }
            let found = search_memory(&dir, &[KEY, PROMPT]);
            assert!(!found.contains(KEY), "the memory of {process} has the key");
            prompt_found |= found.contains(PROMPT);
        }
        assert!(prompt_found, "the memory was not searched");
        for dir in [subject.harness.home(), subject.harness.project()] {
            assert_eq!(files_with(&dir, KEY), Vec::<PathBuf>::new());
        }
        kill(&mut child, Signal::INT);
    }

    /// Kills the bridge before an answer, and in the middle of one.
    #[track_caller]
    fn check_killed_call_counts(&self) {
        self.check_killed_during(json!({ "fault": "hang", "or_more": true }));
        self.check_killed_during(json!({
            "answer": [{ "text": "Half of an answer." }], "fault": "hang_mid_stream", "or_more": true,
        }));
    }

    /// Kills the bridge during a call. What the call has reserved counts after that.
    #[track_caller]
    fn check_killed_during(&self, turn: Value) {
        // Each call reserves one dollar.
        let limits = format!(
            "[prices.{:?}]\ninput = 0\noutput = 1000\nmax_output = 1000\n\n[spending]\nday_usd = 1.5\n",
            self.model
        );
        let subject = Subject::new(self, json!([turn]), &limits);
        let mut child = subject.start_call();
        kill(&mut child, Signal::KILL);
        let before = subject.server.request_count();
        let run = subject.run(&["ask", "-a", "real", "-o", "json", "Again"]);
        let output = format!("{}{}", run.stdout, run.stderr);
        assert_eq!(run.code, 1, "{output}");
        let text = "windlass budget exceeded: the spending limit of the day is $1.5000: $1.0000 are spent or reserved";
        assert!(output.contains(text), "{output}");
        assert_eq!(subject.server.request_count(), before, "a call was sent");
        let run = subject.run(&["usage", "--json"]);
        let rows: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(
            (&rows[0]["calls"], &rows[0]["calls_not_done"]),
            (&json!(1), &json!(1))
        );
    }
}

fn kill(child: &mut Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
    child.wait().unwrap();
}

fn contains(bytes: &[u8], text: &str) -> bool {
    memchr::memmem::find(bytes, text.as_bytes()).is_some()
}

/// Returns the processes below this one.
fn descendants(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let (_, rest) = stat.rsplit_once(')')?;
            let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
            Some((id, parent))
        })
        .collect();
    let mut found = vec![root];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        found.extend(
            parents
                .iter()
                .filter(|(_, of)| *of == parent)
                .map(|(id, _)| *id),
        );
        at += 1;
    }
    found.split_off(1)
}

/// Returns which of the texts the memory of a process has.
fn search_memory(process: &Path, texts: &[&'static str]) -> BTreeSet<&'static str> {
    const MAX_REGION: u64 = 1 << 30;
    let mut found = BTreeSet::new();
    let (Ok(maps), Ok(mut memory)) = (
        std::fs::read_to_string(process.join("maps")),
        File::open(process.join("mem")),
    ) else {
        return found;
    };
    for line in maps.lines() {
        let mut parts = line.split_whitespace();
        let (range, access) = (parts.next().unwrap(), parts.next().unwrap());
        let (start, end) = range.split_once('-').unwrap();
        let (start, end) = (
            u64::from_str_radix(start, 16).unwrap(),
            u64::from_str_radix(end, 16).unwrap(),
        );
        if !access.starts_with("rw") || end - start > MAX_REGION {
            continue;
        }
        let mut bytes = Vec::new();
        if memory.seek(SeekFrom::Start(start)).is_ok() {
            let _ = Read::by_ref(&mut memory)
                .take(end - start)
                .read_to_end(&mut bytes);
        }
        found.extend(texts.iter().filter(|text| contains(&bytes, text)));
    }
    found
}

/// Returns the files below a directory that contain the text.
pub(crate) fn files_with(dir: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files_with(&entry.path(), text));
        } else if kind.is_file()
            && std::fs::read(entry.path()).is_ok_and(|bytes| contains(&bytes, text))
        {
            found.push(entry.path());
        }
    }
    found
}

/// Defines two tests for each agent.
macro_rules! agents {
    ($($(#[$meta:meta])* $name:ident: $backend:literal, $tier:literal, $model:literal;)+) => {
        $(mod $name {
            use super::BridgedAgent;

            const AGENT: BridgedAgent =
                BridgedAgent { backend: $backend, tier: $tier, model: $model };

            $(#[$meta])*
            #[test]
            fn calls_are_the_same_and_counted() {
                AGENT.check_same();
            }

            $(#[$meta])*
            #[test]
            fn p18_key_is_out_of_reach() {
                AGENT.check_key_is_absent();
            }
        })+
    };
}

agents! {
    codex: "codex", "agents", "gpt-5";
    claude: "claude", "agents", "claude-sonnet-4-5";
    #[ignore = "full: starts the real Gemini CLI"]
    gemini: "gemini", "agents-full", "gemini-2.5-pro";
    #[ignore = "full: starts the real opencode"]
    opencode: "opencode", "agents-full", "scripted";
    #[ignore = "full: starts the real Qwen Code"]
    qwen: "qwen", "agents-full", "scripted";
    #[ignore = "full: starts the real Copilot CLI"]
    copilot: "copilot", "agents-full", "scripted";
}

#[test]
fn call_of_a_killed_process_counts_with_what_it_reserved() {
    let agent = BridgedAgent {
        backend: "codex",
        tier: "agents",
        model: "gpt-5",
    };
    agent.check_killed_call_counts();
}
