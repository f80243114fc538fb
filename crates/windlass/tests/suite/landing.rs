//! Landing on real repositories: in order, tested together, and by processes that are killed.

use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::cli_harness::Run;
use super::task_harness::TaskHarness;

/// Runs every script in `tests`, and names them.
const TEST: &str = "n=0; for t in tests/*.sh; do n=$((n+1)); \
    if sh $t; then echo \"ok $n - $t\"; else echo \"not ok $n - $t\"; bad=1; fi; done; \
    echo 1..$n; test -z \"$bad\"";

/// Two changes that are green alone and red together. The second is corrected when it is returned.
const PAIR: &str = r#"{"turns": [
  {"when": {"contains": "does not work together"}, "or_more": true,
   "answer": [{"write_file": {"path": "two.txt", "content": "two and one\n"}}]},
  {"when": {"contains": "Make one"}, "or_more": true,
   "answer": [{"write_file": {"path": "one.txt", "content": "one\n"}},
              {"write_file": {"path": "tests/one.sh", "content": "test ! -f two.txt || grep -q one two.txt\n"}}]},
  {"when": {"contains": "Make two"}, "or_more": true,
   "answer": [{"write_file": {"path": "two.txt", "content": "two\n"}}]},
  {"or_more": true, "answer": [{"text": "Done."}]}
]}"#;

fn harness(script: &str) -> TaskHarness {
    let harness = TaskHarness::new(TEST, script);
    std::fs::create_dir(harness.project().join("tests")).unwrap();
    harness.file("tests/base.sh", "true\n");
    harness.git(&["add", "-A"]);
    harness.git(&["commit", "-q", "-m", "Add a test"]);
    harness
}

/// Adds settings to the configuration.
fn configure(harness: &TaskHarness, more: &str) {
    let file = harness.path("named.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{config}\n{more}\n")).unwrap();
}

fn show(harness: &TaskHarness, task: u32) -> Value {
    harness.json(&["task", "show", &task.to_string(), "--json"])
}

fn head(harness: &TaskHarness) -> String {
    harness.git(&["rev-parse", "main"]).trim().to_owned()
}

#[track_caller]
fn succeed(harness: &TaskHarness, args: &[&str]) -> Run {
    let run = harness.run(args);
    assert_eq!(run.code, 0, "{args:?}: {}{}", run.stdout, run.stderr);
    run
}

/// Every commit of the branch, without those of the changes, passes the tests.
#[track_caller]
fn assert_green(harness: &TaskHarness) {
    let commits = harness.git(&["rev-list", "--first-parent", "main"]);
    let dir = harness.path("green");
    for commit in commits.lines() {
        harness.git(&[
            "worktree",
            "add",
            "-q",
            "-f",
            "--detach",
            dir.to_str().unwrap(),
            commit,
        ]);
        let mut sh = assert_cmd::Command::new("sh");
        sh.current_dir(&dir).args([
            "-c",
            "ls tests >/dev/null 2>&1 || exit 0; for t in tests/*.sh; do sh $t || exit 1; done",
        ]);
        let output = sh.output().unwrap();
        assert!(output.status.success(), "{commit} is red: {output:?}");
        harness.git(&["worktree", "remove", "--force", dir.to_str().unwrap()]);
    }
}

#[test]
fn changes_that_are_red_together_do_not_both_land_until_one_is_corrected() {
    let harness = harness(PAIR);
    harness.json(&["task", "add", "Make one", "--json"]);
    harness.json(&["task", "add", "Make two", "--json"]);
    succeed(&harness, &["worker", "--once"]);
    for task in [1, 2] {
        let task = &show(&harness, task)["task"];
        assert_eq!(task["status"], "completed", "{task}");
        assert_eq!(task["needs_review"], false, "{task}");
    }
    let before = head(&harness);
    let dry = succeed(&harness, &["land", "1", "2", "--dry-run"]);
    assert!(
        dry.stdout.contains("would land task 1 on main"),
        "{}",
        dry.stdout
    );
    assert_eq!(head(&harness), before);

    let run = harness.run(&["land", "1", "2"]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout.contains("landed task 1 on main"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("to undo it: git revert"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("task 2 was not landed on main"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("fails: tests/one.sh"), "{}", run.stdout);
    let one = show(&harness, 1);
    assert_eq!(one["task"]["landed"]["commit"], head(&harness));
    assert_eq!(harness.read("one.txt"), "one\n", "the checkout is updated");
    assert_eq!(harness.git(&["status", "--porcelain"]), "");
    let two = show(&harness, 2);
    assert_eq!(two["task"]["status"], "pending", "{two}");
    assert_eq!(two["landings"][0]["state"], "returned", "{two}");
    assert_eq!(two["landings"][0]["cases"][0], "tests/one.sh", "{two}");

    // Its agent is asked to correct it, and it lands without being asked for again.
    let worker = succeed(&harness, &["worker", "--once"]);
    let two = show(&harness, 2);
    assert_eq!(two["task"]["landed"]["commit"], head(&harness), "{two}");
    let undo = format!("to undo it: git revert {}", head(&harness));
    for line in ["landed task 2 on main", &undo] {
        assert!(worker.stderr.contains(line), "{line}: {}", worker.stderr);
    }
    assert!(worker.stdout.contains("1 landed"), "{}", worker.stdout);
    assert_eq!(harness.read("two.txt"), "two and one\n");
    assert_eq!(harness.git(&["status", "--porcelain"]), "");
    assert_green(&harness);

    assert_not_worked_on_by_mistake(&harness);
}

/// Checks that landed tasks are retried and cancelled only if that is confirmed.
fn assert_not_worked_on_by_mistake(harness: &TaskHarness) {
    let refused = harness.run(&["task", "retry", "2"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("add --yes"), "{}", refused.stderr);
    let refused = harness.run(&["task", "cancel", "2"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("git revert"), "{}", refused.stderr);
    succeed(harness, &["task", "retry", "2", "--yes"]);
    assert_eq!(show(harness, 2)["task"]["landed"], Value::Null);
    let after = head(harness);
    let cancelled = succeed(harness, &["task", "cancel", "1", "--yes"]);
    assert!(
        cancelled.stderr.contains("git revert"),
        "{}",
        cancelled.stderr
    );
    let one = &show(harness, 1)["task"];
    assert_eq!(one["status"], "cancelled", "{one}");
    assert_eq!(one["landed"], Value::Null, "{one}");
    assert_eq!(head(harness), after);
}

/// Each task writes its own file.
fn many(count: usize) -> TaskHarness {
    let turns: String = (1..=count)
        .map(|n| {
            format!(
                "{{\"when\": {{\"contains\": \"Make file number {n}.\"}}, \"or_more\": true, \"answer\": \
                 [{{\"write_file\": {{\"path\": \"file{n}.txt\", \"content\": \"{n}\\n\"}}}}]}},\n"
            )
        })
        .collect();
    let script = format!(
        "{{\"turns\": [{turns} {{\"or_more\": true, \"answer\": [{{\"text\": \"Done.\"}}]}}]}}"
    );
    let harness = harness(&script);
    for n in 1..=count {
        let title = format!("Make file number {n}.");
        harness.json(&["task", "add", &title, "--json"]);
    }
    harness
}

#[test]
fn proved_changes_land_on_their_own_if_configured_in_batches() {
    let harness = many(4);
    succeed(&harness, &["worker", "--once"]);
    configure(&harness, "[land]\nbatch = 3\n");
    for n in 1..=4 {
        succeed(&harness, &["land", &n.to_string(), "--queue"]);
    }
    let listed = harness.json(&["land", "--list", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 4, "{listed}");
    succeed(&harness, &["worker", "--once"]);
    let commits: Vec<Value> = (1..=4)
        .map(|n| show(&harness, n)["task"]["landed"]["commit"].clone())
        .collect();
    assert!(commits.iter().all(Value::is_string), "{commits:?}");
    assert_eq!(commits[0], commits[2], "three landed together");
    assert_ne!(commits[2], commits[3]);
    assert_green(&harness);

    configure(&harness, "auto = \"proved\"\nstrategy = \"rebase\"\n");
    let refused = harness.run(&["land", "--list"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    let why = "`land.batch` is 3 with land.strategy = \"rebase\", expected 1";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    let file = harness.path("named.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, config.replace("batch = 3\n", "")).unwrap();
    harness.json(&["task", "add", "Make file number 1.", "--json"]);
    std::fs::remove_file(harness.project().join("file1.txt")).unwrap();
    harness.git(&["commit", "-q", "-a", "-m", "Remove a file"]);
    succeed(&harness, &["worker", "--once"]);
    let landed = show(&harness, 5)["task"]["landed"].clone();
    assert_eq!(landed["commit"], head(&harness), "{landed}");
    let parents = harness.git(&["rev-list", "--parents", "-1", "main"]);
    assert_eq!(parents.split_whitespace().count(), 2, "{parents}");
}

#[test]
fn uncommitted_edits_are_kept_and_the_change_waits() {
    let harness = many(1);
    succeed(&harness, &["worker", "--once"]);
    let before = head(&harness);
    harness.file("file1.txt", "my own\n");
    let run = harness.run(&["land", "1"]);
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout.contains("uncommitted edits in file1.txt"),
        "{}",
        run.stdout
    );
    assert_eq!(head(&harness), before);
    assert_eq!(harness.read("file1.txt"), "my own\n");
    let listed = succeed(&harness, &["land", "--list"]).stdout;
    assert!(listed.contains("uncommitted edits"), "{listed}");
    // The same content is no edit that could be lost.
    harness.file("file1.txt", "1\n");
    succeed(&harness, &["land", "1"]);
    assert_eq!(harness.git(&["status", "--porcelain"]), "");
    let merged = harness.run(&["task", "merge", "1"]);
    assert!(
        merged.stdout.contains("already up to date"),
        "{}",
        merged.stdout
    );
}

#[test]
fn merge_by_hand_is_recorded_as_landed() {
    let harness = many(1);
    succeed(&harness, &["worker", "--once"]);
    let dry = succeed(&harness, &["task", "merge", "1", "--dry-run"]);
    assert!(dry.stdout.contains("would merge"), "{}", dry.stdout);
    assert_eq!(show(&harness, 1)["task"]["landed"], Value::Null);
    succeed(&harness, &["task", "merge", "1"]);
    assert_eq!(
        show(&harness, 1)["task"]["landed"]["commit"],
        head(&harness)
    );
    let listed = succeed(&harness, &["task", "list"]).stdout;
    assert!(listed.contains("landed"), "{listed}");
}

/// Returns the number of changes, and how often the landing process is killed.
fn size() -> (usize, u32) {
    match std::env::var_os("WINDLASS_FULL") {
        Some(_) => (20, 50),
        None => (5, 8),
    }
}

fn kill(child: &mut Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    // It may have exited already.
    let _ = kill_process(pid, Signal::KILL);
    child.wait().unwrap();
}

#[test]
fn p30_killed_landing_leaves_the_branch_before_or_after() {
    let (count, kills) = size();
    let harness = many(count);
    succeed(&harness, &["worker", "--once"]);
    // Killed landings expire soon.
    harness.lease(2);
    for n in 1..=count {
        succeed(&harness, &["land", &n.to_string(), "--queue"]);
    }
    let mut random = random_seed();
    for _ in 0..kills {
        let mut child = harness
            .child(&["land"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        std::thread::sleep(Duration::from_millis(200 + (random >> 33) % 2500));
        kill(&mut child);
        // Each commit of the branch is a complete landing.
        let files = harness.git(&["ls-tree", "--name-only", "main"]);
        let landed = files
            .lines()
            .filter(|name| name.starts_with("file"))
            .count();
        let commits = harness.git(&["rev-list", "--first-parent", "--count", "main"]);
        assert_eq!(commits.trim(), (2 + landed).to_string(), "{files}");
    }
    // The lease of the killed process expires, and everything lands once.
    for _ in 0..20 {
        harness.run(&["land"]);
        let list = harness.json(&["land", "--list", "--json"]);
        if list.as_array().unwrap().is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    for n in 1..=count {
        let shown = show(&harness, u32::try_from(n).unwrap());
        assert!(shown["task"]["landed"]["commit"].is_string(), "{shown}");
        assert_eq!(harness.read(&format!("file{n}.txt")), format!("{n}\n"));
        let trailer = format!("--grep=^Task-Id: {n}$");
        let found = harness.git(&["log", "--first-parent", "--format=%H", &trailer, "main"]);
        assert_eq!(found.lines().count(), 1, "task {n} landed once");
    }
    assert_eq!(harness.git(&["status", "--porcelain"]), "");
    assert_green(&harness);
    assert_eq!(harness.processes(), Vec::<String>::new());
}

/// Returns the random seed of this run.
fn random_seed() -> u64 {
    let seed = std::env::var("WINDLASS_TEST_SEED");
    seed.map_or(1, |seed| seed.parse().unwrap())
}
