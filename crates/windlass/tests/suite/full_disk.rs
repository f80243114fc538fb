//! A full disk below the state directory: nothing is lost, and one sentence says what to do.

use assert_cmd::Command;
use serde_json::Value;

use super::cli_harness::Run;
use super::task_harness::{INSTANT, TaskHarness};

/// Runs the program several times, with a small disk for its state. Each run leaves its output and exit code.
const SCRIPT: &str = r#"
state="$HOME/.local/state/windlass"
mkdir -p "$state"
mount -t tmpfs -o size=8m tmpfs "$state"
run() {
    name=$1
    shift
    code=0
    timeout 120 "$PROGRAM" --config "$CONFIG" "$@" >"$OUT/$name.stdout" 2>"$OUT/$name.stderr" || code=$?
    echo "$code" >"$OUT/$name.code"
}
run add task add First --json
cat /dev/zero >"$state/ballast" 2>"$OUT/filled" || true
run full-add task add Second
run full-list task list --json
run full-worker worker --once
run full-ask ask 'Do it'
rm "$state/ballast"
run list task list --json
run worker worker --once --json
run show task show 1 --json
"#;

/// A script that has run in a mount namespace with a small disk.
pub(crate) struct FullDisk(TaskHarness);

impl FullDisk {
    fn new() -> Self {
        let harness = TaskHarness::new("test -f done.txt", INSTANT);
        let state = harness.home().join(".local/state/windlass/tasks.db");
        harness.configure(&format!("sqlite:{}", state.display()), "test -f done.txt");
        Self::run_script(harness, SCRIPT)
    }

    /// Runs a script. It finds the program, the configuration, the harness and the directory for its outputs in variables.
    pub(crate) fn run_script(harness: TaskHarness, script: &str) -> Self {
        let named = harness.path("named.toml");
        // A user namespace inside of another one is not what is tested here.
        let config = std::fs::read_to_string(&named).unwrap();
        std::fs::write(&named, format!("{config}[sandbox]\nmechanism = \"none\"\n")).unwrap();
        std::fs::create_dir(harness.path("out")).unwrap();
        let mut command = Command::new("unshare");
        command
            .args(["-Urm", "sh", "-euc", script])
            .env_clear()
            .env("HOME", harness.home())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("PROGRAM", assert_cmd::cargo::cargo_bin("windlass"))
            .env("CONFIG", named)
            .env("ROOT", harness.path(""))
            .env("OUT", harness.path("out"))
            .current_dir(harness.project());
        let ran = Run::of(&mut command);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        Self(harness)
    }

    /// Returns a file that the script wrote.
    pub(crate) fn output(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path("out").join(name)).unwrap()
    }

    /// Returns what a command of the script printed.
    pub(crate) fn run(&self, name: &str) -> Run {
        let read = |end: &str| self.output(&format!("{name}.{end}"));
        Run {
            code: read("code").trim().parse().unwrap(),
            stdout: read("stdout"),
            stderr: read("stderr"),
        }
    }

    #[track_caller]
    fn json(&self, name: &str) -> Value {
        let run = self.run(name);
        assert_eq!(run.code, 0, "{name}: {}{}", run.stdout, run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    }

    /// Checks that a run failed with one sentence about the disk.
    #[track_caller]
    fn assert_full(&self, name: &str) {
        let run = self.run(name);
        let shown = format!("{name}: {run:?}");
        assert!(run.code != 0 && run.code != 124, "{shown}");
        let errors: Vec<&str> = run
            .stderr
            .lines()
            .filter(|line| line.starts_with("error"))
            .collect();
        assert_eq!(errors.len(), 1, "{shown}");
        assert!(errors[0].contains("no space left"), "{shown}");
        assert!(!run.stderr.contains("panicked"), "{shown}");
    }
}

#[test]
fn p1_full_state_directory_loses_nothing_and_says_so() {
    let disk = FullDisk::new();
    assert_eq!(disk.json("add")["id"], 1);
    for name in ["full-add", "full-worker"] {
        disk.assert_full(name);
    }
    let titles = |list: &Value| -> Vec<String> {
        let tasks = list.as_array().or_else(|| list["tasks"].as_array());
        let titles = tasks.unwrap().iter().map(|task| task["title"].to_string());
        titles.collect()
    };
    assert_eq!(titles(&disk.json("full-list")), ["\"First\""]);
    // A turn that stores nothing still works.
    assert_eq!(disk.run("full-ask").code, 0, "{:?}", disk.run("full-ask"));
    assert_eq!(titles(&disk.json("list")), ["\"First\""]);
    assert_eq!(disk.json("worker")["completed"], 1);
    assert_eq!(disk.json("show")["task"]["status"], "completed");
}

/// Works on a project with a remote while the disk of the mirror is full. The store is on another disk.
const MIRROR: &str = r#"
state="$HOME/.local/state/windlass"
mkdir -p "$state"
mount -t tmpfs -o size=16m tmpfs "$state"
run() {
    name=$1
    shift
    code=0
    timeout 120 "$PROGRAM" --config "$CONFIG" "$@" >"$OUT/$name.stdout" 2>"$OUT/$name.stderr" || code=$?
    echo "$code" >"$OUT/$name.code"
}
git init -q --bare -b main "$ROOT/origin.git"
git push -q "$ROOT/origin.git" main
run project project add --remote "$ROOT/origin.git" --json
run add task add First --json
run first worker --once --json
run add-second task add Second --json
cat /dev/zero >"$state/ballast" 2>"$OUT/filled" || true
"$PROGRAM" --config "$CONFIG" worker >"$OUT/full-worker" 2>&1 &
until grep -qE 'no space left|is failed' "$OUT/full-worker"; do sleep 0.1; done
run full task show 2 --json
kill -9 $!
rm "$state/ballast"
"$PROGRAM" --config "$CONFIG" worker >"$OUT/worker" 2>&1 &
until run show task show 2 --json && grep -qE '^    "status": "(completed|failed)"' "$OUT/show.stdout"; do sleep 0.1; done
kill $!
wait $!
"#;

#[test]
fn full_disk_of_a_mirror_does_not_end_the_task() {
    let harness = TaskHarness::new("test -f done.txt", INSTANT);
    harness.lease(2);
    let disk = FullDisk::run_script(harness, MIRROR);
    assert_eq!(disk.json("first")["completed"], 1);
    // The worker does not end the task, and says why it waits.
    let printed = disk.output("full-worker");
    let task = disk.json("full")["task"].clone();
    assert_eq!(task["status"], "in_progress", "{task:#}{printed}");
    assert!(printed.contains("no space left"), "{task:#}{printed}");
    assert_eq!(disk.json("show")["task"]["status"], "completed");
}

/// Runs a task whose recording does not fit on the disk.
const RECORDING: &str = r#"
recordings="$HOME/.local/state/windlass/recordings"
mkdir -p "$recordings"
mount -t tmpfs -o size=4k tmpfs "$recordings"
code=0
"$PROGRAM" --config "$CONFIG" task add First --description "$(printf %08000d 1)" >"$OUT/add"
"$PROGRAM" --config "$CONFIG" worker --once --record >"$OUT/worker.stdout" 2>"$OUT/worker.stderr" || code=$?
echo "$code" >"$OUT/worker.code"
find "$recordings" -type f >"$OUT/left"
"#;

#[test]
fn task_completes_without_its_recording_on_a_full_disk() {
    let harness = TaskHarness::new("test -f done.txt", INSTANT);
    let disk = FullDisk::run_script(harness, RECORDING);
    let worker = disk.run("worker");
    assert_eq!(worker.code, 0, "{worker:?}");
    let warning = "the attempt is not recorded";
    assert!(worker.stderr.contains(warning), "{worker:?}");
    assert_eq!(disk.output("left"), "", "a part of the recording is left");
}
