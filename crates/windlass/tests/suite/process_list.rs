//! While an agent runs, no command line contains its key, and no other sandbox can read its environment.

use std::process::{Child, Stdio};
use std::time::Duration;

use assert_cmd::Command;

use super::task_harness::{INSTANT, TaskHarness};

/// The agents with a preset, and the name of their program.
const AGENTS: &[(&str, &str)] = &[
    ("claude", "claude"),
    ("claude-agent-acp", "claude-agent-acp"),
    ("codex", "codex"),
    ("codex-acp", "codex-acp"),
    ("copilot", "copilot"),
    ("cursor", "cursor-agent"),
    ("gemini", "gemini"),
    ("goose", "goose"),
    ("opencode", "opencode"),
    ("qwen", "qwen"),
];

const KEY: &str = "canary-key-4b1f0a77";
const EXTRA: &str = "canary-extra-93d2c6e5";
const CANARY: &str = "canary-";

/// Replaces every agent: it starts and never answers.
const AGENT: &str = "#!/bin/sh
case \"$*\" in *--version*) echo 9.9.9; exit ;; esac
touch \"$PWD/started-${0##*/}\"
exec sleep 600
";

/// Looks for canaries in what `/proc` shows of other processes.
const LOOK: &str = "
for file in /proc/[0-9]*/environ; do
    grep -qsa canary- \"$file\" && echo \"found in $file\"
done
echo looked";

/// A turn that runs in the background. Dropping it ends the turn.
struct Turn(Child);

impl Drop for Turn {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn harness(mechanism: &str) -> TaskHarness {
    let harness = TaskHarness::new("true", INSTANT);
    let bin = harness.path("bin");
    std::fs::create_dir(&bin).unwrap();
    let mut config = format!("[sandbox]\nmechanism = {mechanism:?}\n");
    for (agent, program) in AGENTS {
        let path = bin.join(program);
        std::fs::write(&path, AGENT).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
        config += &format!(
            "[agents.{agent}]\nbackend = {agent:?}\npermissions = \"allow\"\napi_key_env = \"MY_KEY\"\n\
             extra_env = {{ EXTRA_TOKEN = {EXTRA:?} }}\n"
        );
        if *agent != "cursor" {
            config += "endpoint = \"http://127.0.0.1:9/v1\"\n";
        }
    }
    std::fs::write(harness.path("named.toml"), config).unwrap();
    harness
}

/// Starts a turn, and waits until the agent runs.
fn start(harness: &TaskHarness, agent: &str, program: &str) -> Turn {
    let path = std::env::var("PATH").unwrap_or_default();
    #[expect(
        clippy::disallowed_methods,
        reason = "a test that looks at processes needs a running one"
    )]
    let child = std::process::Command::new(assert_cmd::cargo::cargo_bin("windlass"))
        .env_clear()
        .env("HOME", harness.home())
        .env("PATH", format!("{}:{path}", harness.path("bin").display()))
        .env("MY_KEY", KEY)
        .current_dir(harness.project())
        .arg("--config")
        .arg(harness.path("named.toml"))
        .args(["ask", "--agent", agent, "Do it"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(harness.path("stderr")).unwrap())
        .spawn()
        .unwrap();
    let mut turn = Turn(child);
    let started = harness.project().join(format!("started-{program}"));
    while !started.exists() {
        let ended = turn.0.try_wait().unwrap();
        let stderr = std::fs::read_to_string(harness.path("stderr")).unwrap();
        assert_eq!(ended, None, "{agent} did not start: {stderr}");
        std::thread::sleep(Duration::from_millis(5));
    }
    turn
}

/// Returns the command lines on this machine that contain a canary.
fn command_lines_with_canary() -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .filter(|line| line.contains(KEY) || line.contains(EXTRA))
        .collect()
}

/// Runs a script in another sandbox, while the turn runs.
fn look_from(harness: &TaskHarness, mechanism: &str, profile: &str) -> String {
    let programs = assert_cmd::cargo::cargo_bin("windlass");
    let run = programs.with_file_name("examples").join("run");
    let mut command = Command::new(run);
    command
        .current_dir(harness.project())
        .args([mechanism, profile, "sh", "-c", LOOK]);
    let output = command.output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Returns `true` if the environment of a process on this machine contains a canary, as this user sees it.
fn environment_has_canary() -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("environ")).ok())
        .any(|text| String::from_utf8_lossy(&text).contains(CANARY))
}

fn check(mechanism: &str) {
    let harness = harness(mechanism);
    for (agent, program) in AGENTS {
        let turn = start(&harness, agent, program);
        assert_eq!(command_lines_with_canary(), [""; 0], "{agent}");
        drop(turn);
    }
    let turn = start_again(&harness);
    assert!(environment_has_canary(), "the agent has its key");
    for profile in ["agent", "tool", "test"] {
        assert_eq!(look_from(&harness, mechanism, profile), "looked\n");
    }
    drop(turn);
}

fn start_again(harness: &TaskHarness) -> Turn {
    std::fs::remove_file(harness.project().join("started-claude")).unwrap();
    start(harness, "claude", "claude")
}

#[test]
fn p19_key_of_running_agent_is_in_no_command_line_under_bubblewrap() {
    check("bubblewrap");
}

#[test]
fn p19_key_of_running_agent_is_in_no_command_line_under_landlock() {
    check("landlock");
}

#[test]
fn p19_key_of_running_agent_is_in_no_command_line_without_isolation() {
    let harness = harness("none");
    for (agent, program) in AGENTS {
        let _turn = start(&harness, agent, program);
        assert_eq!(command_lines_with_canary(), [""; 0], "{agent}");
    }
}
