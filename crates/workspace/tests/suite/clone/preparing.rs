//! Set-up results that checkouts share.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use windlass_sandbox::{Mechanism, Sandbox};
use windlass_tasks::{TestStatus, WorkingCopy, Workspace};
use windlass_workspace::{Preparation, Prepared, Source, TestRunner, TestSettings};

use super::harness::{Harness, attempt, put};

/// Where the product has it: in a directory that the sandbox hides.
const STORE: &str = "home/.local/state/windlass/setup";

fn sh(script: &str) -> Option<Vec<String>> {
    Some(["sh", "-c", script].map(str::to_owned).to_vec())
}

/// A set-up that creates a package, and leaves a line for each time it runs.
const PACKAGES: &str = "mkdir -p node_modules/left/lib node_modules/@a/right node_modules/.bin && \
     echo one > node_modules/left/lib/index.js && echo two > node_modules/@a/right/index.js && \
     printf '#!/bin/sh\\necho %s\\n' \"$PWD\" > node_modules/.bin/left && \
     chmod +x node_modules/.bin/left && ln -s ../src node_modules/own && echo changed > notes.txt";

fn settings(setup: &str, command: &str) -> TestSettings {
    TestSettings {
        setup: sh(setup),
        command: sh(command),
        ..TestSettings::default()
    }
}

fn runner(harness: &Harness, sandbox: Sandbox, settings: TestSettings) -> TestRunner {
    TestRunner::new(sandbox, settings).with_setup_store(harness.path(STORE))
}

/// Opens the clone of this attempt.
async fn open(harness: &Harness, number: u32) -> Box<dyn WorkingCopy> {
    let clones = harness.clones().await;
    clones
        .open(&harness.project(), attempt(number), None)
        .await
        .unwrap()
}

#[track_caller]
fn ready(preparation: Preparation) -> Prepared {
    match preparation {
        Preparation::Ready(prepared) => prepared,
        Preparation::Failed(result) => panic!("{}", result.output),
    }
}

async fn prepare(tests: &TestRunner, clone: &dyn WorkingCopy) -> Prepared {
    let source = Source::Base(clone.base());
    ready(tests.prepare(clone.root(), source).await.unwrap())
}

/// Returns the stored results.
fn results(harness: &Harness) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(harness.path(STORE)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_dir()).collect()
}

fn stored(harness: &Harness, name: &str) -> PathBuf {
    let results = results(harness);
    assert_eq!(results.len(), 1, "{results:?}");
    results[0].join("files").join(name)
}

#[tokio::test]
async fn second_checkout_gets_the_result_without_running_the_setup() {
    let harness = Harness::new();
    let sandbox = harness.sandbox().await;
    let command = "node_modules/.bin/left && cat node_modules/left/lib/index.js \
                   node_modules/@a/right/index.js node_modules/own/lib.txt notes.txt";
    let tests = runner(&harness, sandbox, settings(PACKAGES, command));
    let mut inodes = Vec::new();
    for number in [1, 2] {
        let clone = open(&harness, number).await;
        let prepared = prepare(&tests, &*clone).await;
        assert!(windlass_workspace::readable_dirs(clone.root()).contains(&prepared.readable[0]));
        let result = tests
            .run(clone.root(), &sh(command).unwrap())
            .await
            .unwrap();
        let expected = format!(
            "{}\none\ntwo\nlibrary\none\ntwo\nthree\n",
            clone.root().display()
        );
        assert_eq!(result.output, expected);
        assert!(clone.change().await.unwrap().is_empty());
        let file = clone.root().join("node_modules/left/lib/index.js");
        inodes.push(file.metadata().unwrap().ino());
        let again = prepare(&tests, &*clone).await;
        assert_eq!(again, prepared);
    }
    assert_eq!(inodes[0], inodes[1], "the package is stored once");
    assert_eq!(results(&harness).len(), 1);
}

#[tokio::test]
async fn other_lock_file_or_command_has_another_result() {
    let harness = Harness::new();
    let sandbox = harness.sandbox().await;
    let mut keys = Vec::new();
    for (number, lock, setup) in [
        (1, "{}", "mkdir node_modules; echo 1 > node_modules/a"),
        (2, "{ }", "mkdir node_modules; echo 1 > node_modules/a"),
        (3, "{ }", "mkdir node_modules; echo 2 > node_modules/a"),
    ] {
        harness.write("package-lock.json", lock);
        harness.write("README.md", &number.to_string());
        harness.commit("change");
        let clone = open(&harness, number).await;
        let tests = runner(&harness, sandbox.clone(), settings(setup, "true"));
        keys.push(prepare(&tests, &*clone).await.key);
    }
    keys.dedup();
    assert_eq!(keys.len(), 3);
}

/// An agent could otherwise leave a result for the tasks of others.
#[tokio::test]
async fn p16_result_of_a_change_is_not_used_for_other_files() {
    let harness = Harness::new();
    let setup = "mkdir node_modules; cp src/lib.txt node_modules/a";
    let tests = runner(&harness, harness.sandbox().await, settings(setup, "true"));
    let evil = open(&harness, 1).await;
    put(evil.root(), "src/lib.txt", "evil\n");
    let source = Source::Change("the tree of the change");
    ready(tests.prepare(evil.root(), source).await.unwrap());
    let clone = open(&harness, 2).await;
    prepare(&tests, &*clone).await;
    let text = std::fs::read_to_string(clone.root().join("node_modules/a")).unwrap();
    assert_eq!(text, "library\n");
}

/// Every way to change a stored file through the links in a checkout.
const ATTACKS: &[&str] = &[
    "echo evil > node_modules/left/lib/index.js",
    "echo evil >> node_modules/left/lib/index.js",
    "truncate -s 0 node_modules/left/lib/index.js",
    "rm -f node_modules/left/lib/index.js",
    "rm -rf node_modules/left/lib",
    "mv node_modules/left/lib node_modules/left/other",
    "echo evil > node_modules/left/lib/new.js",
    "ln -sf /etc/passwd node_modules/left/lib/index.js",
    "ln node_modules/left/lib/index.js hard && echo evil > hard",
    "cp -f notes.txt \"$(readlink -f node_modules/left)/lib/index.js\"",
    "mkdir \"$(readlink -f node_modules/left)/../../../new\"",
];

/// Returns all paths below a directory, with the content of files.
fn content(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in dir.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.symlink_metadata().unwrap().is_dir() {
            found.extend(content(&path));
        }
        let text = std::fs::read(&path).unwrap_or_default();
        found.push((path, text));
    }
    found.sort();
    found
}

async fn check_attacks(mechanism: Mechanism) {
    let harness = Harness::new();
    let sandbox = Sandbox::with_mechanism(harness.host(), mechanism)
        .await
        .unwrap();
    let tests = runner(&harness, sandbox, settings(PACKAGES, "true"));
    let clone = open(&harness, 1).await;
    prepare(&tests, &*clone).await;
    let before = content(&harness.path(STORE));
    for attack in ATTACKS {
        let command = sh(attack).unwrap();
        // A directory that the sandbox hides may look writable, so only the effect counts.
        tests.run(clone.root(), &command).await.unwrap();
        assert_eq!(content(&harness.path(STORE)), before, "{attack}");
    }
    // Its own packages can be replaced.
    let replace =
        sh("rm node_modules/left && mkdir node_modules/left && echo new > node_modules/left/a");
    let result = tests.run(clone.root(), &replace.unwrap()).await.unwrap();
    assert_eq!(result.status, TestStatus::Passed, "{}", result.output);
}

#[tokio::test]
async fn p16_stored_result_cannot_be_changed_in_bubblewrap() {
    check_attacks(Mechanism::Bubblewrap).await;
}

#[tokio::test]
async fn p16_stored_result_cannot_be_changed_in_landlock() {
    check_attacks(Mechanism::Landlock).await;
}

/// A set-up links a file of the commit into a package, as some package managers do.
#[tokio::test]
async fn p16_hard_links_do_not_lead_into_the_store() {
    let harness = Harness::new();
    let setup = "mkdir -p node_modules/a && ln notes.txt node_modules/a/notes.txt";
    let tests = runner(&harness, harness.sandbox().await, settings(setup, "true"));
    let clone = open(&harness, 1).await;
    prepare(&tests, &*clone).await;
    put(clone.root(), "notes.txt", "evil\n");
    let text = std::fs::read_to_string(stored(&harness, "node_modules/a/notes.txt")).unwrap();
    assert_eq!(text, "one\ntwo\nthree\n");
}

#[tokio::test]
async fn changed_result_is_made_again() {
    let harness = Harness::new();
    let tests = runner(
        &harness,
        harness.sandbox().await,
        settings(PACKAGES, "true"),
    );
    prepare(&tests, &*open(&harness, 1).await).await;
    let file = stored(&harness, "node_modules/left/lib/index.js");
    let modified = file.metadata().unwrap().modified().unwrap();
    std::fs::write(&file, "bad\n").unwrap();
    let open_file = std::fs::File::options().write(true).open(&file).unwrap();
    open_file.set_modified(modified).unwrap();
    let clone = open(&harness, 2).await;
    prepare(&tests, &*clone).await;
    let text = std::fs::read_to_string(clone.root().join("node_modules/left/lib/index.js"));
    assert_eq!(text.unwrap(), "one\n");
}

#[tokio::test]
async fn interrupted_work_is_removed_and_done_again() {
    let harness = Harness::new();
    let tests = runner(
        &harness,
        harness.sandbox().await,
        settings(PACKAGES, "true"),
    );
    prepare(&tests, &*open(&harness, 1).await).await;
    let result = results(&harness).remove(0);
    std::fs::remove_file(result.join("entry.json")).unwrap();
    let rest = harness.path(STORE).join("new-scratch.abc");
    std::fs::create_dir(&rest).unwrap();
    std::fs::write(rest.join(".lock"), "").unwrap();
    let clone = open(&harness, 2).await;
    prepare(&tests, &*clone).await;
    assert!(result.join("entry.json").is_file() && !rest.exists());
}

#[tokio::test]
async fn two_tasks_at_once_run_the_setup_once() {
    let harness = Harness::new();
    let setup = format!("{PACKAGES} && sleep 1 && echo \"$$\" > node_modules/left/run");
    let tests = runner(&harness, harness.sandbox().await, settings(&setup, "true"));
    let clones = [open(&harness, 1).await, open(&harness, 2).await];
    futures::future::join_all(clones.iter().map(|clone| prepare(&tests, &**clone))).await;
    let run = |root: &Path| std::fs::read_to_string(root.join("node_modules/left/run")).unwrap();
    assert_eq!(run(clones[0].root()), run(clones[1].root()));
    assert_eq!(results(&harness).len(), 1);
}

#[tokio::test]
async fn build_products_are_used_for_the_same_commit_only() {
    let harness = Harness::new();
    let setup = "cp src/lib.txt built.txt && mkdir node_modules && echo x > node_modules/a";
    let tests = runner(&harness, harness.sandbox().await, settings(setup, "true"));
    prepare(&tests, &*open(&harness, 1).await).await;
    harness.write("src/lib.txt", "second\n");
    harness.commit("second");
    let clone = open(&harness, 2).await;
    prepare(&tests, &*clone).await;
    let text = std::fs::read_to_string(clone.root().join("built.txt")).unwrap();
    assert_eq!(text, "second\n");
    assert!(clone.change().await.unwrap().is_empty());
}

#[tokio::test]
async fn failed_setup_is_reported_and_not_stored() {
    let harness = Harness::new();
    let setup = "echo no such package; exit 4";
    let tests = runner(&harness, harness.sandbox().await, settings(setup, "true"));
    let clone = open(&harness, 1).await;
    let source = Source::Base(clone.base());
    let Preparation::Failed(result) = tests.prepare(clone.root(), source).await.unwrap() else {
        panic!("the set-up failed")
    };
    assert_eq!(
        (result.status, result.exit_code),
        (TestStatus::Error, Some(4))
    );
    assert!(result.output.contains("no such package"));
    assert_eq!(results(&harness), [] as [PathBuf; 0]);
}

/// A commit may contain a link where an earlier one had a package.
#[tokio::test]
async fn p16_links_of_a_commit_are_not_followed() {
    let harness = Harness::new();
    let setup = "mkdir -p sub/node_modules; echo 1 > sub/node_modules/a";
    harness.write("sub/keep", "");
    harness.commit("directory");
    let tests = runner(&harness, harness.sandbox().await, settings(setup, "true"));
    prepare(&tests, &*open(&harness, 1).await).await;
    let outside = harness.path("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::remove_dir_all(harness.root().join("sub")).unwrap();
    std::os::unix::fs::symlink(&outside, harness.root().join("sub")).unwrap();
    harness.commit("link");
    prepare(&tests, &*open(&harness, 2).await).await;
    assert_eq!(outside.read_dir().unwrap().count(), 0);
}

#[tokio::test]
async fn p12_large_result_is_not_copied() {
    let harness = Harness::new();
    let setup = "mkdir -p node_modules/big && truncate -s 2G node_modules/big/data";
    let tests = runner(&harness, harness.sandbox().await, settings(setup, "true"));
    for number in [1, 2] {
        let clone = open(&harness, number).await;
        prepare(&tests, &*clone).await;
        let link = clone.root().join("node_modules/big");
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(link.join("data").metadata().unwrap().len(), 2 << 30);
    }
}

/// Starts the program that prepares the clone of this attempt.
fn start(harness: &Harness, number: u32, script: &str) -> Child {
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples/prepare");
    let mut command = Command::new(&program);
    command
        .arg(harness.path(""))
        .args([&number.to_string(), script]);
    command
        .env("HOME", harness.path("home"))
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}: build the examples first", program.display()))
}

#[tokio::test]
async fn two_processes_at_once_run_the_setup_once() {
    let harness = Harness::new();
    let script = "mkdir -p node_modules/a && sleep 1 && cat /proc/sys/kernel/random/uuid > node_modules/a/run";
    let children = [start(&harness, 1, script), start(&harness, 2, script)];
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let run = |number: u32| {
        let name = format!("clones/task-7-attempt-{number}/project/node_modules/a/run");
        std::fs::read_to_string(harness.path(&name)).unwrap()
    };
    assert_eq!(run(1), run(2));
    assert_eq!(results(&harness).len(), 1);
}

#[tokio::test]
async fn p4_killed_setup_is_run_again() {
    let harness = Harness::new();
    let script =
        "mkdir -p node_modules/a && touch started && sleep 2 && echo 1 > node_modules/a/done";
    let mut child = start(&harness, 1, script);
    let started = harness.path("clones/task-7-attempt-1/project/started");
    while !started.exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(results(&harness), [] as [PathBuf; 0]);
    assert!(start(&harness, 2, script).wait().unwrap().success());
    assert_eq!(results(&harness).len(), 1);
    let done = "clones/task-7-attempt-2/project/node_modules/a/done";
    assert!(harness.path(done).is_file());
}

/// Mounting a small disk needs root.
mod needs_root {
    use super::super::faults::SmallDisk;
    use super::*;

    #[tokio::test]
    async fn full_disk_of_the_store_is_reported_and_leaves_no_files() {
        let harness = Harness::new();
        let setup = "mkdir -p node_modules/a && head -c 4000000 /dev/urandom > node_modules/a/data";
        let tests = runner(&harness, harness.sandbox().await, settings(setup, "true"));
        let store = harness.path(STORE);
        std::fs::create_dir_all(&store).unwrap();
        let _disk = SmallDisk::mount(&store);
        let clone = open(&harness, 1).await;
        let source = Source::Base(clone.base());
        let error = tests.prepare(clone.root(), source).await.unwrap_err();
        assert!(
            error.to_string().starts_with("no space left on the disk"),
            "{error}"
        );
        assert_eq!(results(&harness), [] as [PathBuf; 0]);
    }
}
