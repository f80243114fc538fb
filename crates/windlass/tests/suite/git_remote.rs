//! The repositories of `windlass serve --git`, with the real git, and a worker that uses one.

use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::Value;

use super::cli_harness::Run;
use super::serve_harness::ServeProcess;
use super::task_harness::{INSTANT, TaskHarness};
use super::tls_files;

/// A server that offers the repository of a project.
pub(crate) struct Team {
    pub(crate) harness: TaskHarness,
    pub(crate) serving: ServeProcess,
}

impl Team {
    /// Starts a server without a certificate, and pushes the main branch.
    pub(crate) fn new() -> Self {
        let harness = TaskHarness::new("test -f done.txt", INSTANT);
        let serving = ServeProcess::start(&harness, &["--no-worker", "--git"]);
        let team = Self { harness, serving };
        let owner = team.serving.token.clone();
        let pushed = team.git(&owner, &["push", &team.url(), "main"]);
        assert_eq!(pushed.code, 0, "{pushed:?}");
        team
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/git/project.git", self.serving.addr)
    }

    /// Creates a token.
    pub(crate) fn token(&self, name: &str, scopes: &str) -> String {
        let run = self
            .harness
            .run(&["token", "create", name, "--scope", scopes]);
        assert_eq!(run.code, 0, "{run:?}");
        run.stdout.trim().to_owned()
    }

    /// Returns git as a user with a token, in the project.
    pub(crate) fn command(&self, token: &str) -> Command {
        let mut git = Command::new("git");
        let helper =
            format!("credential.helper=!f() {{ echo username=me; echo password={token}; }}; f");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .current_dir(self.harness.project())
            .args(["-c", "user.name=Me", "-c", "user.email=me@localhost"])
            .args(["-c", &helper]);
        git
    }

    pub(crate) fn git(&self, token: &str, args: &[&str]) -> Run {
        Run::of(self.command(token).args(args))
    }

    /// Returns the directory of the repository.
    pub(crate) fn bare(&self) -> PathBuf {
        let dir = self.harness.home().join(".local/state/windlass/git");
        let store = std::fs::read_dir(dir).unwrap().next().unwrap().unwrap();
        store.path().join("1.git")
    }

    /// Returns the commit of a ref of the repository, or nothing.
    pub(crate) fn there(&self, reference: &str) -> String {
        let bare = self.bare();
        let dir = bare.to_str().unwrap();
        let args = [
            "--git-dir",
            dir,
            "for-each-ref",
            "--format=%(objectname)",
            reference,
        ];
        self.harness.git(&args).trim().to_owned()
    }

    pub(crate) fn commit(&self, message: &str) -> String {
        self.harness
            .git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.harness.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// Returns the newest entries of the audit log for pushes: who, result and subject.
    pub(crate) fn pushes(&self) -> Vec<(String, String, String)> {
        let entries = self.harness.json(&["audit", "--json"]);
        let entries = entries.as_array().unwrap().iter();
        let text = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
        entries
            .filter(|entry| text(entry, "action").ends_with("/git-receive-pack"))
            .map(|entry| {
                (
                    text(entry, "actor"),
                    text(entry, "result"),
                    text(entry, "subject"),
                )
            })
            .collect()
    }
}

#[test]
fn git_clones_fetches_and_pushes_by_lease() {
    let team = Team::new();
    let reader = team.token("reader", "read");
    let clone = team.harness.path("clone");
    let cloned = team.git(
        &reader,
        &["clone", "-q", &team.url(), clone.to_str().unwrap()],
    );
    assert_eq!(cloned.code, 0, "{cloned:?}");
    assert!(clone.join("greet.sh").is_file(), "HEAD names the branch");

    let worker = team.token("worker", "read,work");
    let (url, branch) = (team.url(), "refs/heads/windlass/s/task-1");
    let first = team.commit("First");
    let push = |lease: &str| {
        let lease = format!("--force-with-lease={branch}:{lease}");
        team.git(
            &worker,
            &[
                "push",
                "--porcelain",
                &lease,
                &url,
                &format!("HEAD:{branch}"),
            ],
        )
    };
    let pushed = push("");
    assert_eq!(pushed.code, 0, "{pushed:?}");
    assert_eq!(team.there(branch), first);
    team.harness
        .git(&["commit", "-q", "--amend", "--allow-empty", "-m", "Second"]);
    let second = team.harness.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let stale = push("");
    assert!(
        stale.code != 0 && stale.stdout.contains("stale info"),
        "{stale:?}"
    );
    assert_eq!(push(&first).code, 0);
    assert_eq!(team.there(branch), second);
    assert_eq!(fetch_compressed(&team, &reader, branch), second);
}

/// Fetches a branch into the clone by a request that git compresses: it names many local commits that the server does not have.
fn fetch_compressed(team: &Team, token: &str, branch: &str) -> String {
    let clone = team.harness.path("clone");
    for number in 0..60 {
        team.harness.git(&[
            "-C",
            clone.to_str().unwrap(),
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            &number.to_string(),
        ]);
    }
    let dir = clone.to_str().unwrap();
    let refspec = format!("{branch}:refs/remotes/origin/task");
    let fetched = Run::of(team.command(token).env("GIT_TRACE_CURL", "1").args([
        "-C",
        dir,
        "fetch",
        &team.url(),
        &refspec,
    ]));
    assert_eq!(fetched.code, 0, "{fetched:?}");
    assert!(
        fetched
            .stderr
            .to_ascii_lowercase()
            .contains("content-encoding: gzip"),
        "the request was compressed"
    );
    assert!(
        fetched.stderr.contains("git-protocol: version=2")
            || fetched.stderr.contains("Git-Protocol: version=2")
    );
    let there = team
        .harness
        .git(&["-C", dir, "rev-parse", "refs/remotes/origin/task"]);
    there.trim().to_owned()
}

#[test]
fn p22_token_without_approve_cannot_move_the_main_branch() {
    let team = Team::new();
    let main = team.there("refs/heads/main");
    team.commit("More");
    let worker = team.token("worker", "read,work");
    let push = |token: &str, refs: &[&str]| {
        let url = team.url();
        team.git(token, &[&["push", "--porcelain", &url], refs].concat())
    };
    let store = "refs/windlass/s";
    for refspec in [
        "HEAD:refs/heads/main",
        ":refs/heads/main",
        "HEAD:refs/heads/other",
        "HEAD:refs/heads/windlass",
        "HEAD:refs/tags/v1",
        &format!("HEAD:{store}/target/main"),
    ] {
        let refused = push(&worker, &["HEAD:refs/heads/windlass/s/task-9", refspec]);
        assert_ne!(refused.code, 0, "{refspec}: {refused:?}");
        assert!(
            refused.stdout.contains("the scope approve is needed"),
            "{refused:?}"
        );
        assert!(refused.stderr.contains("\"worker\""), "{refused:?}");
        assert_eq!(
            team.there("refs/heads/windlass/s/task-9"),
            "",
            "nothing was moved"
        );
    }
    assert_eq!(team.there("refs/heads/main"), main);
    let kept = format!("HEAD:{store}/task-1/attempt-1");
    assert_eq!(push(&worker, &[&kept]).code, 0);
    let lead = team.token("lead", "read,work,approve");
    assert_eq!(push(&lead, &["HEAD:refs/heads/main"]).code, 0);
    assert_ne!(team.there("refs/heads/main"), main);

    team.harness.run(&["token", "revoke", "lead"]);
    while push(&lead, &["HEAD:refs/heads/main"]).code == 0 {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let pushes = team.pushes();
    let found = |actor: &str, result: &str, subject: &str| {
        pushes
            .iter()
            .any(|(who, how, what)| who == actor && how == result && what.contains(subject))
    };
    assert!(
        found("worker", "missing_scope", "refs/heads/main "),
        "{pushes:#?}"
    );
    assert!(found("lead", "ok", "refs/heads/main "), "{pushes:#?}");
    assert!(
        found("worker", "ok", "/task-1/attempt-1 0000000000.."),
        "{pushes:#?}"
    );
}

#[test]
fn p22_refused_request_of_git_names_what_is_missing() {
    let team = Team::new();
    let reader = team.token("reader", "read");
    let branch = "HEAD:refs/heads/windlass/s/task-1";
    let refused = team.git(&reader, &["push", &team.url(), branch]);
    let reason = "does not have the scope work";
    assert!(refused.stderr.contains(reason), "{refused:?}");
    let writer = team.token("writer", "work");
    let refused = team.git(&writer, &["ls-remote", &team.url()]);
    let reason = "does not have the scope read";
    assert!(refused.stderr.contains(reason), "{refused:?}");
    let other = team.url().replace("project.git", "other.git");
    let refused = team.git(&reader, &["ls-remote", &other]);
    let reason = "no project \"other\"";
    assert!(refused.stderr.contains(reason), "{refused:?}");
}

/// A team whose server has a certificate, and whose machines have their token with git's own credential store.
struct EncryptedTeam {
    harness: TaskHarness,
    serving: ServeProcess,
}

impl EncryptedTeam {
    fn new() -> Self {
        let harness = TaskHarness::new("test -f done.txt", INSTANT);
        tls_files::make_certificate(&harness, "DNS:localhost");
        let serving = tls_files::start(&harness, &["--git"]);
        std::fs::create_dir_all(harness.path("home2")).unwrap();
        std::fs::create_dir_all(harness.path("elsewhere")).unwrap();
        Self { harness, serving }
    }

    fn url(&self) -> String {
        format!("https://{}/git/project.git", self.serving.addr)
    }

    /// Gives a home directory a token, as docs/machines.md says.
    fn sign_in(&self, home: &str, token: &str) {
        let git = |args: &[&str], input: &str| {
            let mut git = Command::new("git");
            let run = Run::of(
                git.env("HOME", self.harness.path(home))
                    .args(args)
                    .write_stdin(input.to_owned()),
            );
            assert_eq!(run.code, 0, "{run:?}");
        };
        let host = &self.serving.addr;
        let key = format!("credential.https://{host}.helper");
        git(&["config", "--global", &key, "store"], "");
        let input = format!("protocol=https\nhost={host}\nusername=windlass\npassword={token}\n");
        git(&["credential-store", "store"], &input);
        let ca = self.harness.path("ca.pem");
        git(
            &["config", "--global", "http.sslCAInfo", ca.to_str().unwrap()],
            "",
        );
    }

    /// Returns git as the user of the first machine.
    fn git(&self) -> Command {
        let mut git = Command::new("git");
        // The environment of the test may name other authorities.
        git.env_remove("GIT_SSL_CAINFO")
            .env("HOME", self.harness.home())
            .current_dir(self.harness.project());
        git
    }

    fn elsewhere(&self, args: &[&str]) -> Run {
        let mut command = self.harness.command();
        command
            .env("HOME", self.harness.path("home2"))
            .current_dir(self.harness.path("elsewhere"));
        Run::of(command.args(args))
    }
}

#[test]
fn p40_worker_in_another_home_completes_and_lands_a_task_through_the_server() {
    let team = EncryptedTeam::new();
    let token = |name: &str, scopes: &str| {
        let run = team
            .harness
            .run(&["token", "create", name, "--scope", scopes]);
        run.stdout.trim().to_owned()
    };
    team.sign_in("home", &token("me", "read,work,approve"));
    team.sign_in("home2", &token("worker", "read,work"));
    let url = team.url();
    let pushed = Run::of(team.git().args(["push", "-q", &url, "main"]));
    assert_eq!(pushed.code, 0, "{pushed:?}");
    let json = |args: &[&str]| team.harness.json(args);
    json(&["project", "add", "--remote", &url, "--json"]);
    // The base has a commit that only this machine has: it is pushed by `task add`.
    team.harness.file("more.sh", "echo more\n");
    team.harness.git(&["add", "-A"]);
    team.harness.git(&["commit", "-q", "-m", "More"]);
    json(&["task", "add", "Do it", "--json"]);
    let worker = team.elsewhere(&["worker", "--all", "--once"]);
    assert_eq!(worker.code, 0, "{}{}", worker.stdout, worker.stderr);
    let shown = json(&["task", "show", "1", "--json"]);
    assert_eq!(shown["task"]["status"], "completed", "{shown:#}");

    let diff = team.harness.run(&["task", "diff", "1"]);
    assert!(diff.stdout.contains("+done"), "{diff:?}");
    let landed = team.harness.run(&["land", "1", "--accept"]);
    assert_eq!(landed.code, 0, "{}{}", landed.stdout, landed.stderr);
    let shown = json(&["task", "show", "1", "--json"]);
    let commit = shown["task"]["landed"]["commit"].as_str().unwrap();
    let list = Run::of(team.git().args(["ls-remote", &url, "refs/heads/main"]));
    assert!(list.stdout.starts_with(commit), "{list:?}");
    // No secret is in what the store says about the remote.
    let projects = json(&["project", "list", "--json"]).to_string();
    assert!(
        projects.contains(&url) && !projects.contains("wl_"),
        "{projects}"
    );
}
