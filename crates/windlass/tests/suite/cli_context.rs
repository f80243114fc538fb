//! `windlass context` and `windlass index`.

use serde_json::Value;

use super::cli_harness::{Harness, Run};

fn harness() -> Harness {
    let harness = Harness::new();
    harness
        .file(
            "lease.rs",
            "/// Renewed by heartbeats.\npub fn renew_lease() {}\n",
        )
        .file("paint.rs", "pub fn paint_line() {}\n");
    harness
}

#[test]
fn context_ranks_files_and_symbols() {
    let harness = harness();
    let run = harness.run(&["context", "--json", "renew the lease"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    let related: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(related["files"][0]["path"], "lease.rs");
    assert!(related["files"][0]["score"].as_f64().unwrap() > 0.0);
    assert!(
        related["files"][0]["why"]
            .as_str()
            .unwrap()
            .contains("lease")
    );
    assert_eq!(related["symbols"][0]["path"], "lease.rs");
    assert_eq!(related["symbols"][0]["name"], "renew_lease");

    let run = harness.run(&["context", "renew the lease"]);
    assert!(
        run.stdout.contains("function renew_lease  lease.rs:2"),
        "{run:?}"
    );
    let run = harness.run(&["context", "zebra"]);
    assert_eq!(run.stdout, "no relevant files found\n");
}

#[test]
fn context_reads_task_from_stdin_or_file() {
    let harness = harness();
    harness.file("task.txt", "paint a line\n");
    let first = |run: Run| {
        let related: Value = serde_json::from_str(&run.stdout).unwrap();
        related["files"][0]["path"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        first(harness.run(&["context", "--json", "task.txt"])),
        "paint.rs"
    );
    let mut command = harness.windlass();
    command
        .args(["context", "--json", "-"])
        .write_stdin("renew lease");
    assert_eq!(first(Run::of(&mut command)), "lease.rs");
    let run = harness.run(&["context", "--cwd", "nowhere", "x"]);
    assert_eq!(run.code, 2);
    assert_eq!(
        run.error(),
        "the directory nowhere cannot be opened: No such file or directory (os error 2): pass another with --cwd"
    );
}

#[test]
fn index_is_built_once_and_cached_outside_project() {
    let harness = harness();
    let index = || -> Value {
        let run = harness.run(&["index", "--json"]);
        assert_eq!(run.code, 0, "{run:?}");
        serde_json::from_str(&run.stdout).unwrap()
    };
    assert_eq!(
        (&index()["files"], &index()["parsed"]),
        (&2.into(), &0.into())
    );
    assert!(harness.home().join(".cache/windlass/index").is_dir());
    let line = harness.run(&["index"]).stdout;
    assert_eq!(
        line,
        "2 files, 2 symbols, 0 commits; 0 parsed, 0 removed, 0 skipped\n"
    );
}

#[test]
fn git_history_affects_ranking() {
    let harness = harness();
    let git = |args: &[&str]| {
        let mut git = assert_cmd::Command::new("git");
        git.current_dir(harness.project())
            .env("HOME", harness.home())
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(args);
        git.assert().success();
    };
    std::fs::remove_dir(harness.project().join(".git")).unwrap();
    git(&["init", "-q"]);
    git(&["add", "paint.rs"]);
    git(&["commit", "-q", "-m", "Fix the flicker"]);
    let run = harness.run(&["context", "--json", "flicker"]);
    let related: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(related["files"][0]["path"], "paint.rs", "{run:?}");
    git(&["add", "lease.rs"]);
    git(&["commit", "-q", "-m", "Sharpen the saw"]);
    let line = harness.run(&["index"]).stdout;
    assert!(line.contains("2 commits"), "{line}");
}
