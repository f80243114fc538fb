//! Pushing a task's branch to remotes that accept it, reject it, are ahead or cannot be reached.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;

use super::task_harness::{INSTANT, TaskHarness};

/// A proved task, and a bare repository as its remote `origin`.
pub(crate) struct Remote {
    pub(crate) harness: TaskHarness,
    pub(crate) bare: PathBuf,
    branch: String,
}

impl Remote {
    pub(crate) fn new() -> Self {
        Self::configured("")
    }

    /// Adds these lines to the configuration before the task runs.
    fn configured(config: &str) -> Self {
        let harness = TaskHarness::new("test -f done.txt", INSTANT);
        let bare = harness.path("origin.git");
        harness.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
        harness.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
        let mut remote = Self {
            harness,
            bare,
            branch: String::new(),
        };
        remote.configure(config);
        remote.harness.json(&["task", "add", "Do it", "--json"]);
        let worker = remote.harness.run(&["worker", "--once"]);
        assert_eq!(worker.code, 0, "{}{}", worker.stdout, worker.stderr);
        let shown = remote.harness.json(&["task", "show", "1", "--json"]);
        remote.branch = shown["task"]["branch"].as_str().unwrap().to_owned();
        remote
    }

    pub(crate) fn configure(&self, lines: &str) {
        let file = self.harness.path("named.toml");
        let mut config = std::fs::read_to_string(&file).unwrap();
        config.push_str(lines);
        std::fs::write(&file, config).unwrap();
    }

    /// Returns the commit of the task's branch on the remote.
    pub(crate) fn there(&self) -> String {
        self.rev(&["--git-dir", self.bare.to_str().unwrap()])
    }

    pub(crate) fn here(&self) -> String {
        self.rev(&[])
    }

    fn rev(&self, at: &[&str]) -> String {
        let name = format!("refs/heads/{}", self.branch);
        let args = [at, &["rev-parse", "-q", "--verify", &name]].concat();
        let found = std::panic::catch_unwind(|| self.harness.git(&args));
        found.unwrap_or_default().trim().to_owned()
    }

    /// Pushes, which must fail, and returns the sentence.
    pub(crate) fn fails(&self) -> String {
        let run = self.harness.run(&["task", "push", "1"]);
        assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
        let lines: Vec<&str> = run.stderr.lines().collect();
        assert_eq!(lines.len(), 1, "one sentence: {}", run.stderr);
        run.stderr
    }

    pub(crate) fn pushes(&self) -> Value {
        self.harness.json(&["task", "show", "1", "--json"])["pushes"].clone()
    }

    fn hook(&self, name: &str, script: &str) {
        executable(&self.bare.join("hooks").join(name), script);
    }
}

pub(crate) fn executable(path: &std::path::Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, script).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).unwrap();
}

#[test]
fn branch_is_pushed_again_only_over_what_was_pushed() {
    let remote = Remote::new();
    let pushed = remote.harness.json(&["task", "push", "1", "--json"]);
    assert_eq!(pushed["state"], "pushed", "{pushed}");
    assert_eq!(pushed["commit"], remote.here().as_str());
    assert_eq!(remote.there(), remote.here());
    let again = remote.harness.run(&["task", "push", "1"]);
    assert!(again.stdout.contains("to origin at"), "{}", again.stdout);

    // A new version, which is no descendant of the first: it replaces what we pushed.
    let first = remote.here();
    amend(&remote, "another version");
    assert_ne!(remote.here(), first);
    assert_eq!(remote.harness.run(&["task", "push", "1"]).code, 0);
    assert_eq!(remote.there(), remote.here());

    // Another person commits on the remote's branch: that is never replaced.
    let theirs = commit_on_remote(&remote);
    amend(&remote, "a third version");
    let why = remote.fails();
    assert!(why.contains("were not pushed from here"), "{why}");
    assert_eq!(remote.there(), theirs, "nothing was forced");
    assert_eq!(remote.pushes()[0]["state"], "failed");

    // They take it back: the push is repeated with success.
    let name = format!("refs/heads/{}", remote.branch);
    let bare = remote.bare.to_str().unwrap();
    remote
        .harness
        .git(&["--git-dir", bare, "update-ref", "-d", &name]);
    assert_eq!(remote.harness.run(&["task", "push", "1"]).code, 0);
    assert_eq!(remote.there(), remote.here());
}

/// Replaces the commit of the task's branch.
fn amend(remote: &Remote, message: &str) {
    let harness = &remote.harness;
    let tree = format!("{}^{{tree}}", remote.branch);
    let new = harness.git(&["commit-tree", "-p", "main", "-m", message, &tree]);
    let name = format!("refs/heads/{}", remote.branch);
    harness.git(&["update-ref", &name, new.trim()]);
}

/// Adds a commit to the branch on the remote, and returns it.
fn commit_on_remote(remote: &Remote) -> String {
    let bare = remote.bare.to_str().unwrap();
    let name = format!("refs/heads/{}", remote.branch);
    let tree = format!("{}^{{tree}}", remote.branch);
    let dir = ["--git-dir", bare];
    let args = [
        &dir[..],
        &["commit-tree", "-p", &name, "-m", "theirs", &tree],
    ]
    .concat();
    let new = remote.harness.git(&args).trim().to_owned();
    let args = [&dir[..], &["update-ref", &name, &new]].concat();
    remote.harness.git(&args);
    new
}

#[test]
fn push_that_was_cut_off_is_known_as_ours() {
    let remote = Remote::new();
    // The hook lets the push arrive, and kills the process that pushed: its result is never stored.
    remote.hook(
        "post-receive",
        "#!/bin/sh\npkill -9 -f 'task push 1 --remote origin'\n",
    );
    let name = "task push 1 --remote origin";
    let args: Vec<&str> = name.split(' ').collect();
    let cut_off = remote.harness.run(&args);
    assert_ne!(cut_off.code, 0);
    assert_eq!(remote.there(), remote.here());
    std::fs::remove_file(remote.bare.join("hooks/post-receive")).unwrap();
    amend(&remote, "the next version");
    let run = remote.harness.run(&args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(remote.there(), remote.here());
}

#[test]
fn rejection_of_a_hook_is_told_in_its_words() {
    let remote = Remote::new();
    remote.hook(
        "pre-receive",
        "#!/bin/sh\necho 'no pushes on Friday' >&2\nexit 1\n",
    );
    let why = remote.fails();
    assert!(
        why.contains("origin rejected the push: no pushes on Friday"),
        "{why}"
    );
    assert!(why.contains("windlass task push 1"), "{why}");
    assert_eq!(remote.there(), "");
    std::fs::remove_file(remote.bare.join("hooks/pre-receive")).unwrap();
    assert_eq!(remote.harness.run(&["task", "push", "1"]).code, 0);
    assert_eq!(remote.there(), remote.here());
}

#[test]
fn unreachable_remote_is_tried_again_by_a_worker() {
    let remote = Remote::new();
    // A port that was free a moment ago.
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let url = format!("git://127.0.0.1:{port}/origin.git");
    remote.harness.git(&["remote", "set-url", "origin", &url]);
    let why = remote.fails();
    assert!(why.contains("origin cannot be reached"), "{why}");
    let push = &remote.pushes()[0];
    assert_eq!(push["state"], "queued", "a worker tries again: {push}");
    assert!(push["due_at"].as_u64() > push["at"].as_u64(), "{push}");
    let bare = remote.bare.to_str().unwrap();
    remote.harness.git(&["remote", "set-url", "origin", bare]);
    assert_eq!(remote.harness.run(&["task", "push", "1"]).code, 0);
    assert_eq!(remote.there(), remote.here());
}

#[test]
fn push_without_remote_or_change_says_what_to_do() {
    let remote = Remote::new();
    for odd in ["upstream", "--upload-pack=x", "ext::sh -c true", ""] {
        let flag = format!("--remote={odd}");
        let run = remote.harness.run(&["task", "push", "1", &flag]);
        assert_eq!(run.code, 1, "{odd}: {}", run.stderr);
        assert!(run.stderr.contains("no remote"), "{}", run.stderr);
    }
    remote.harness.json(&["task", "add", "Not yet", "--json"]);
    let run = remote.harness.run(&["task", "push", "2"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("has no change"), "{}", run.stderr);
}

#[test]
fn worker_pushes_a_proved_task_and_opens_one_pull_request() {
    // The program records its arguments and the body, and prints an address. The first time its answer is lost.
    let record = "#!/bin/sh\nfor word in \"$@\"; do echo \"$word\"; done >> \"$HOME/calls\"\n\
        for word in \"$@\"; do case $word in --body-file=*) cat \"${word#*=}\" > \"$HOME/body\";; esac; done\n\
        echo https://example.org/pull/7\n";
    let remote = {
        let harness = TaskHarness::new("test -f done.txt", INSTANT);
        executable(&harness.path("bin/gh"), record);
        let bare = harness.path("origin.git");
        harness.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
        harness.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
        Remote {
            harness,
            bare,
            branch: String::new(),
        }
    };
    remote.configure("[publish]\nremote = \"origin\"\ncommand = \"gh\"\n");
    let harness = &remote.harness;
    let title = "--title=x {body} $(touch owned)";
    harness.json(&[
        "task",
        "add",
        "--json",
        "--description",
        "Because.",
        "--",
        title,
    ]);
    let path = format!(
        "{}:{}",
        harness.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let run = |args: &[&str]| {
        let mut command = harness.command();
        super::cli_harness::Run::of(command.env("PATH", &path).args(args))
    };
    let worker = run(&["worker", "--once"]);
    assert_eq!(worker.code, 0, "{}", worker.stderr);
    let shown = harness.json(&["task", "show", "1", "--json"]);
    let push = &shown["pushes"][0];
    assert_eq!(push["state"], "pushed", "{push}");
    assert_eq!(push["request"], "https://example.org/pull/7");
    let branch = shown["task"]["branch"].as_str().unwrap();
    let calls = std::fs::read_to_string(harness.home().join("calls")).unwrap();
    let calls: Vec<&str> = calls.lines().collect();
    assert_eq!(calls[..2], ["pr", "create"]);
    assert_eq!(calls[2], format!("--head={branch}"));
    assert_eq!(calls[3], "--base=main");
    assert_eq!(
        calls[4],
        format!("--title={title}"),
        "one argument, filled once"
    );
    let body = std::fs::read_to_string(harness.home().join("body")).unwrap();
    assert!(
        body.contains("Because.") && body.contains("## Proof"),
        "{body}"
    );
    assert!(body.contains("test -f done.txt"), "{body}");
    // A second push opens no second request.
    assert_eq!(run(&["task", "push", "1"]).code, 0);
    let again = std::fs::read_to_string(harness.home().join("calls")).unwrap();
    assert_eq!(again.lines().count(), calls.len());
    assert!(!harness.project().join("owned").exists());
}

#[test]
fn failed_command_keeps_the_branch_and_is_repeated() {
    let config = "[publish]\ncommand = [\"sh\", \"-c\", \"test -e \\\"$HOME/ready\\\" && echo https://example.org/1 || \
        { echo not logged in >&2; exit 4; }\"]\n";
    let remote = Remote::new();
    remote.configure(config);
    let why = remote.fails();
    assert!(
        why.contains("sh opened no pull request: not logged in"),
        "{why}"
    );
    assert_eq!(remote.there(), remote.here(), "the branch is there");
    std::fs::write(remote.harness.home().join("ready"), "").unwrap();
    let pushed = remote.harness.run(&["task", "push", "1"]);
    assert!(
        pushed.stdout.contains("https://example.org/1"),
        "{}",
        pushed.stdout
    );
}

#[test]
fn untrusted_repository_can_neither_push_nor_run_commands() {
    let remote = Remote::new();
    let owned = remote.harness.path("owned");
    remote.harness.file(
        "windlass.toml",
        &format!(
            "[publish]\nremote = \"origin\"\ncommand = [\"touch\", {owned:?}]\n\
             [notify]\ncommand = [\"touch\", {owned:?}]\n"
        ),
    );
    let mut command = remote.harness.command();
    let run = super::cli_harness::Run::of(command.args(["config", "--json"]));
    assert!(!run.stdout.contains("publish.remote"), "{}", run.stdout);
    let mut plain = assert_cmd::Command::cargo_bin("windlass").unwrap();
    plain
        .env_clear()
        .env("HOME", remote.harness.home())
        .env("PATH", std::env::var_os("PATH").unwrap())
        .current_dir(remote.harness.project())
        .args(["notify", "test"]);
    let run = super::cli_harness::Run::of(&mut plain);
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stderr.contains("nothing is configured"),
        "{}",
        run.stderr
    );
    assert!(!owned.exists());
}
