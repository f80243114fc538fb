//! A project whose commits travel through a git remote: a machine with a checkout, and one without.

use std::path::PathBuf;

use serde_json::Value;

use super::cli_harness::Run;
use super::publishing::executable;
use super::task_harness::{INSTANT, TaskHarness};

/// A machine with a checkout, a remote, and a second machine that shares only the store and the remote.
pub(crate) struct Machines {
    pub(crate) harness: TaskHarness,
    pub(crate) bare: PathBuf,
}

impl Machines {
    pub(crate) fn new() -> Self {
        let machines = Self::unregistered();
        let url = machines.url();
        let added = machines.json(&["project", "add", "--remote", &url, "--json"]);
        assert_eq!(added["project"]["remote"], url.as_str(), "{added}");
        machines
    }

    pub(crate) fn unregistered() -> Self {
        let harness = TaskHarness::new("test -f done.txt", INSTANT);
        // Some tools do not expect a space in a path.
        let bare = harness.path("the remotes/origin.git");
        harness.git(&["init", "-q", "--bare", "-b", "main", bare.to_str().unwrap()]);
        harness.git(&["push", "-q", bare.to_str().unwrap(), "main"]);
        for dir in ["home2", "elsewhere"] {
            std::fs::create_dir_all(harness.path(dir)).unwrap();
        }
        Self { harness, bare }
    }

    pub(crate) fn url(&self) -> String {
        self.bare.to_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        self.harness.json(args)
    }

    /// Runs the program on the second machine, outside of any repository.
    pub(crate) fn elsewhere(&self, args: &[&str]) -> Run {
        let mut command = self.harness.command();
        command
            .env("HOME", self.harness.path("home2"))
            .current_dir(self.harness.path("elsewhere"));
        Run::of(command.args(args))
    }

    /// Adds a task, and lets the second machine work on it.
    #[track_caller]
    pub(crate) fn work(&self) -> Value {
        self.json(&["task", "add", "Do it", "--json"]);
        let worker = self.elsewhere(&["worker", "--all", "--once"]);
        assert_eq!(worker.code, 0, "{}{}", worker.stdout, worker.stderr);
        self.task()
    }

    pub(crate) fn task(&self) -> Value {
        self.json(&["task", "show", "1", "--json"])
    }

    /// Returns the commit of a ref of the remote, or nothing.
    pub(crate) fn there(&self, reference: &str) -> String {
        let args = [
            "--git-dir",
            &self.url(),
            "for-each-ref",
            "--format=%(objectname)",
            reference,
        ];
        self.harness.git(&args).trim().to_owned()
    }

    pub(crate) fn branch(&self) -> String {
        let branch = self.task()["task"]["branch"].as_str().unwrap().to_owned();
        format!("refs/heads/{branch}")
    }

    /// Makes a commit on top of a commit in the remote, and moves a ref to it.
    pub(crate) fn forge(&self, reference: &str, parent: &str) -> String {
        let url = self.url();
        let tree = format!("{parent}^{{tree}}");
        let git = |args: &[&str]| {
            let all = [&["--git-dir", &url], args].concat();
            self.harness.git(&all).trim().to_owned()
        };
        let commit = git(&["commit-tree", "-p", parent, "-m", "forged", &tree]);
        git(&["update-ref", reference, &commit]);
        commit
    }
}

#[test]
fn p40_worker_without_a_checkout_completes_a_task_through_the_remote() {
    let machines = Machines::new();
    let shown = machines.work();
    assert_eq!(shown["task"]["status"], "completed", "{shown:#}");
    let commit = shown["proof"]["commit"].as_str().unwrap();
    assert_eq!(machines.there(&machines.branch()), commit);
    let kept = machines.there("refs/windlass/*/task-1/attempt-1");
    assert_eq!(kept, commit, "the kept change is on the remote");

    // The first machine never had the commit: it is fetched.
    let diff = machines.harness.run(&["task", "diff", "1"]);
    assert!(
        diff.stdout.contains("+done"),
        "{}{}",
        diff.stdout,
        diff.stderr
    );
    let merged = machines.harness.run(&["task", "merge", "1", "--accept"]);
    assert_eq!(merged.code, 0, "{}{}", merged.stdout, merged.stderr);
    assert_eq!(machines.harness.read("done.txt"), "done\n");

    // The second machine has a mirror, and shows the same.
    let list = machines.elsewhere(&["project", "list", "--json"]);
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!(list[0]["here"], false, "{list}");
    assert!(
        list[0]["root"].as_str().unwrap().contains("/mirrors/"),
        "{list}"
    );
}

#[test]
fn commits_that_the_remote_does_not_have_are_pushed_by_task_add() {
    let machines = Machines::new();
    machines.harness.file("more.sh", "echo more\n");
    machines.harness.git(&["add", "-A"]);
    machines.harness.git(&["commit", "-q", "-m", "More"]);
    let main = machines.there("refs/heads/main");
    let shown = machines.work();
    assert_eq!(shown["task"]["status"], "completed", "{shown:#}");
    let head = machines.harness.git(&["rev-parse", "HEAD"]);
    assert_eq!(shown["proof"]["base"], head.trim());
    assert_eq!(machines.there("refs/windlass/*/target/main"), head.trim());
    assert_eq!(machines.there("refs/heads/main"), main, "the branch stays");

    // A commit was amended here: the newer one replaces it.
    machines
        .harness
        .git(&["commit", "-q", "--amend", "-m", "More of it"]);
    machines.json(&["task", "add", "Do it again", "--json"]);
    let amended = machines.harness.git(&["rev-parse", "HEAD"]);
    assert_eq!(
        machines.there("refs/windlass/*/target/main"),
        amended.trim()
    );

    // No other repository has this commit, so it is not replaced.
    let reference = machines.harness.git(&[
        "--git-dir",
        &machines.url(),
        "for-each-ref",
        "--format=%(refname)",
        "refs/windlass/*/target/main",
    ]);
    let theirs = machines.forge(reference.trim(), &main);
    let refused = machines.harness.run(&["task", "add", "Do more"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.stderr.contains("another machine added tasks"),
        "{}",
        refused.stderr
    );
    assert_eq!(machines.there("refs/windlass/*/target/main"), theirs);
}

#[test]
fn base_that_cannot_be_pushed_is_refused_with_one_sentence() {
    let machines = Machines::new();
    machines
        .harness
        .git(&["commit", "-q", "--allow-empty", "-m", "More"]);
    let hook = machines.bare.join("hooks/pre-receive");
    executable(&hook, "#!/bin/sh\necho 'no pushes today' >&2\nexit 1\n");
    let refused = machines.harness.run(&["task", "add", "Do it"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.stderr.contains("no pushes today"),
        "{}",
        refused.stderr
    );
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    let gone = machines.harness.path("gone.git");
    std::fs::rename(&machines.bare, &gone).unwrap();
    let refused = machines.harness.run(&["task", "add", "Do it"]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    assert_eq!(
        machines.json(&["task", "list", "--json"]),
        serde_json::json!([])
    );
}

impl Machines {
    /// Returns the id of the store.
    pub(crate) fn store(&self) -> String {
        let branch = self.branch();
        branch.split('/').nth(3).unwrap().to_owned()
    }
}

#[test]
fn landing_moves_the_branch_of_the_remote() {
    let machines = Machines::new();
    machines.work();
    // The machine with the checkout lands it, through its own mirror.
    let landed = machines.harness.run(&["land", "1", "--accept"]);
    assert_eq!(landed.code, 0, "{}{}", landed.stdout, landed.stderr);
    let shown = machines.task();
    let commit = shown["task"]["landed"]["commit"].as_str().unwrap();
    assert_eq!(machines.there("refs/heads/main"), commit);
    let here = machines.harness.git(&["rev-parse", "main"]);
    assert_ne!(here.trim(), commit, "the checkout is not touched");
}

#[test]
fn landing_does_not_replace_what_others_pushed() {
    let machines = Machines::new();
    machines.work();
    let main = machines.there("refs/heads/main");
    let theirs = machines.forge("refs/heads/main", &main);
    let landed = machines.harness.run(&["land", "1", "--accept"]);
    assert_eq!(landed.code, 0, "{}{}", landed.stdout, landed.stderr);
    let commit = machines.there("refs/heads/main");
    let args = ["--git-dir", &machines.url(), "log", "--format=%H", &commit];
    let log = machines.harness.git(&args);
    assert!(
        log.contains(&theirs),
        "their commit is on the branch: {log}"
    );
}

#[test]
fn checkout_elsewhere_joins_the_project_by_its_root_commit() {
    let machines = Machines::new();
    let clone = machines.harness.path("elsewhere/clone");
    machines
        .harness
        .git(&["clone", "-q", &machines.url(), clone.to_str().unwrap()]);
    let mut command = machines.harness.command();
    command
        .env("HOME", machines.harness.path("home2"))
        .current_dir(&clone);
    let list = Run::of(command.args(["task", "add", "Do it", "--json"]));
    assert_eq!(list.code, 0, "{list:?}");
    let shown = machines.json(&["project", "show", "1", "--json"]);
    assert_eq!(shown["checkouts"].as_array().unwrap().len(), 2, "{shown:#}");
    let list = machines.json(&["project", "list", "--json"]);
    assert_eq!(list.as_array().unwrap().len(), 1, "one project: {list:#}");

    // Removing it here leaves the other machine's checkout.
    let refused = machines.harness.run(&["project", "remove", "1"]);
    assert_eq!(refused.code, 2, "a project with tasks stays: {refused:?}");
    machines.json(&["project", "remove", "1", "--here", "--json"]);
    let shown = machines.json(&["project", "show", "1", "--json"]);
    assert_eq!(shown["checkouts"].as_array().unwrap().len(), 1, "{shown:#}");
}

#[test]
fn project_without_a_checkout_is_added_from_its_remote() {
    let machines = Machines::unregistered();
    let url = machines.url();
    let args = ["project", "add", "--mirror", "--remote", &url, "--json"];
    let added = machines.elsewhere(&args);
    assert_eq!(added.code, 0, "{added:?}");
    let added: Value = serde_json::from_str(&added.stdout).unwrap();
    assert_eq!(added["project"]["name"], "origin", "{added}");
    let root = machines
        .harness
        .git(&["rev-list", "--max-parents=0", "HEAD"]);
    assert_eq!(added["project"]["root_commit"], root.trim());
    // The checkout of the first machine is the same project.
    let here = machines.json(&["project", "add", "--json"]);
    assert_eq!(here["project"]["id"], added["project"]["id"], "{here}");
}
