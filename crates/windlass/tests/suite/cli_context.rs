//! `windlass context` and `windlass index`.

use serde_json::Value;

use super::cli_world::{Run, World};

fn world() -> World {
    let world = World::new();
    world
        .file(
            "lease.rs",
            "/// Renewed by heartbeats.\npub fn renew_lease() {}\n",
        )
        .file("paint.rs", "pub fn paint_line() {}\n");
    world
}

#[test]
fn a_task_finds_its_files_and_symbols() {
    let world = world();
    let run = world.run(&["context", "--json", "renew the lease"]);
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

    let run = world.run(&["context", "renew the lease"]);
    assert!(
        run.stdout.contains("function renew_lease  lease.rs:2"),
        "{run:?}"
    );
    let run = world.run(&["context", "zebra"]);
    assert_eq!(run.stdout, "nothing here has to do with that\n");
}

#[test]
fn a_task_comes_from_stdin_or_a_file() {
    let world = world();
    world.file("task.txt", "paint a line\n");
    let first = |run: Run| {
        let related: Value = serde_json::from_str(&run.stdout).unwrap();
        related["files"][0]["path"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        first(world.run(&["context", "--json", "task.txt"])),
        "paint.rs"
    );
    let mut command = world.windlass();
    command
        .args(["context", "--json", "-"])
        .write_stdin("renew lease");
    assert_eq!(first(Run::of(&mut command)), "lease.rs");
    let run = world.run(&["context", "--cwd", "nowhere", "x"]);
    assert_eq!(run.code, 2);
    assert_eq!(
        run.error(),
        "the folder nowhere cannot be opened: No such file or directory (os error 2): pass another with --cwd"
    );
}

#[test]
fn an_index_is_built_once_and_kept_outside_the_project() {
    let world = world();
    let index = || -> Value {
        let run = world.run(&["index", "--json"]);
        assert_eq!(run.code, 0, "{run:?}");
        serde_json::from_str(&run.stdout).unwrap()
    };
    assert_eq!(
        (&index()["files"], &index()["parsed"]),
        (&2.into(), &0.into())
    );
    assert!(world.home().join(".cache/windlass/index").is_dir());
    let line = world.run(&["index"]).stdout;
    assert_eq!(
        line,
        "2 files with 2 symbols, 0 commits; 0 files parsed now, 0 gone, 0 left out\n"
    );
}

#[test]
fn the_past_of_a_real_repository_has_a_say() {
    let world = world();
    let git = |args: &[&str]| {
        let mut git = assert_cmd::Command::new("git");
        git.current_dir(world.project())
            .env("HOME", world.home())
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(args);
        git.assert().success();
    };
    std::fs::remove_dir(world.project().join(".git")).unwrap();
    git(&["init", "-q"]);
    git(&["add", "paint.rs"]);
    git(&["commit", "-q", "-m", "Mend the flicker"]);
    let run = world.run(&["context", "--json", "flicker"]);
    let related: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(related["files"][0]["path"], "paint.rs", "{run:?}");
    git(&["add", "lease.rs"]);
    git(&["commit", "-q", "-m", "Sharpen the saw"]);
    let line = world.run(&["index"]).stdout;
    assert!(line.contains("2 commits"), "{line}");
}
