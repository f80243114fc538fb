//! The matrix: common workloads with every mechanism, in every profile, as root and as an ordinary
//! user.
//!
//! Expected outcomes are data. A cell works, or it is refused for a reason given in
//! `docs/sandbox.md`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::support::example;

const MECHANISMS: [&str; 3] = ["bubblewrap", "landlock", "none"];
const PROFILES: [&str; 3] = ["agent", "tool", "test"];
const DOCUMENT: &str = include_str!("../../../../docs/sandbox.md");

/// A common workload.
struct Workload {
    name: &'static str,
    dir: &'static str,
    command: &'static [&'static str],
    /// Output that shows that it worked.
    expected_output: &'static str,
}

const GIT_COMMIT: &str =
    "date +%s.%N > file; git add -A && git commit -m change && git status --short";

const WORKLOADS: [Workload; 8] = [
    Workload {
        name: "cargo build and test",
        dir: "rust",
        command: &[
            "sh",
            "-c",
            "rm -rf target; cargo build --offline 2>&1 && cargo test --offline 2>&1",
        ],
        expected_output: "test it_is_two ... ok",
    },
    Workload {
        name: "pytest",
        dir: "python",
        command: &["./.venv/bin/python", "-m", "pytest", "-q"],
        expected_output: "1 passed",
    },
    Workload {
        name: "npm test",
        dir: "node",
        command: &["npm", "test"],
        expected_output: "node test.js",
    },
    Workload {
        name: "git status in a checkout",
        dir: "git",
        command: &["sh", "-c", "date > file; git status"],
        expected_output: "On branch",
    },
    Workload {
        name: "git commit in a checkout",
        dir: "git",
        command: &["sh", "-c", GIT_COMMIT],
        expected_output: "1 file changed",
    },
    Workload {
        name: "git commit in a clone",
        dir: "git",
        command: &["--access=repository", "sh", "-c", GIT_COMMIT],
        expected_output: "1 file changed",
    },
    Workload {
        name: "shell pipeline",
        dir: "shell",
        command: &[
            "sh",
            "-c",
            "printf 'b\\na\\n' | sort | tee sorted | head -n 1 | sed s/a/piped/",
        ],
        expected_output: "piped",
    },
    Workload {
        name: "inner `bwrap --proc`",
        dir: "shell",
        command: &[
            "bwrap",
            "--unshare-user",
            "--unshare-pid",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "echo",
            "inside",
        ],
        expected_output: "inside",
    },
];

/// Why a workload is refused; the numbers are those of `docs/sandbox.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reason {
    /// Landlock forbids mounting, and therefore every sandbox that uses mounts.
    NoMounts = 1,
    /// Parts of `/proc` are covered, and the kernel lets no namespace see more of it than its
    /// parent.
    ProcCovered = 2,
    /// The system call filter denies new user namespaces.
    NoNamespaces = 3,
    /// Git's own data is read-only in a user's checkout.
    GitReadOnly = 4,
}

impl Reason {
    /// Returns the error message of the refused program.
    fn symptom(self) -> &'static str {
        match self {
            Self::NoMounts => "setting up uid map: Permission denied",
            Self::ProcCovered => "Can't mount proc on /newroot/proc: Operation not permitted",
            Self::NoNamespaces => "No permissions to create new namespace",
            Self::GitReadOnly => ".git/index.lock': Read-only file system",
        }
    }
}

/// Returns the expected refusal of a cell, or `None` if the workload works.
fn refusal(workload: &Workload, mechanism: &str, profile: &str, root: bool) -> Option<Reason> {
    if workload.name == "git commit in a checkout" && mechanism == "bubblewrap" {
        return Some(Reason::GitReadOnly);
    }
    if workload.name != "inner `bwrap --proc`" {
        return None;
    }
    match (mechanism, profile, root) {
        ("bubblewrap" | "landlock", "tool" | "test", _) => Some(Reason::NoNamespaces),
        ("landlock", "agent", _) => Some(Reason::NoMounts),
        ("bubblewrap", "agent", true) => Some(Reason::ProcCovered),
        _ => None,
    }
}

/// A user who runs the workloads.
struct TestUser {
    name: &'static str,
    root: bool,
    projects: PathBuf,
    /// The program that starts a command in a sandbox.
    program: PathBuf,
    /// The command line that runs a command as this user.
    command_prefix: Vec<String>,
}

/// Mounts the projects and the programs under `/mnt`, visible only to the processes it starts: an
/// ordinary user cannot read root's home directory, where the checkout may be.
const UNDER_MNT: &str = r#"
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/matrix /mnt/programs
mount --bind "$1" /mnt/matrix
mount --bind "$2" /mnt/programs
cd "/mnt/matrix/user/${PWD##*/}"
shift 2
exec "$@""#;

mod needs_root {
    use super::*;

    #[test]
    fn p16_matrix_as_root() {
        assert!(
            rustix::process::getuid().is_root(),
            "half of the matrix is for root: run the tests as root"
        );
        let projects = set_up().join("own");
        check(&TestUser {
            name: "root",
            root: true,
            projects,
            program: example("run"),
            command_prefix: Vec::new(),
        });
    }
}

#[test]
fn p16_matrix_as_ordinary_user() {
    let dir = set_up();
    if !rustix::process::getuid().is_root() {
        return check(&TestUser {
            name: "ordinary user",
            root: false,
            projects: dir.join("own"),
            program: example("run"),
            command_prefix: Vec::new(),
        });
    }
    let program = example("run");
    let command = [
        "unshare",
        "--mount",
        "sh",
        "-ec",
        UNDER_MNT,
        "sh",
        dir.to_str().unwrap(),
        program.parent().unwrap().to_str().unwrap(),
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "env",
        "-i",
        "HOME=/mnt/matrix/home",
        "PATH=/mnt/matrix/home/.cargo/bin:/usr/local/bin:/usr/bin:/bin",
    ];
    check(&TestUser {
        name: "ordinary user",
        root: false,
        projects: dir.join("user"),
        program: "/mnt/programs/run".into(),
        command_prefix: command.map(str::to_owned).to_vec(),
    });
}

/// Runs every cell, prints the table, and compares cell by cell.
fn check(user: &TestUser) {
    let mut mismatches = String::new();
    for mechanism in MECHANISMS {
        for workload in &WORKLOADS {
            for profile in PROFILES {
                let output = run(user, mechanism, profile, workload);
                let text =
                    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
                let worked = output.status.success() && text.contains(workload.expected_output);
                let expected = refusal(workload, mechanism, profile, user.root);
                let as_expected = match expected {
                    None => worked,
                    Some(reason) => !worked && text.contains(reason.symptom()),
                };
                if !as_expected {
                    let cell =
                        format!("{} as {}, {mechanism}, {profile}", workload.name, user.name);
                    writeln!(
                        mismatches,
                        "{cell}: expected {expected:?}, but the output was:\n{text}"
                    )
                    .unwrap();
                }
            }
        }
    }
    println!("{}", table(user.name, user.root));
    assert!(
        mismatches.is_empty(),
        "cells that differ from the table:\n{mismatches}"
    );
}

fn run(user: &TestUser, mechanism: &str, profile: &str, workload: &Workload) -> Output {
    let command = user
        .command_prefix
        .iter()
        .cloned()
        .chain([user.program.display().to_string()]);
    let command: Vec<String> = command
        .chain([mechanism.to_owned(), profile.to_owned()])
        .collect();
    start(
        &command[0],
        command[1..]
            .iter()
            .map(String::as_str)
            .chain(workload.command.iter().copied()),
        &user.projects.join(workload.dir),
    )
}

#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox itself must run as different users"
)]
fn start<'a>(program: &str, args: impl Iterator<Item = &'a str>, cwd: &Path) -> Output {
    Command::new(program)
        .args(args)
        .current_dir(cwd)
        .output()
        .unwrap()
}

/// Returns the directory with the projects of all users; it is created on first use.
fn set_up() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = package.join("../../scripts/setup").display().to_string();
    let output = start(&script, ["--only", "matrix"].into_iter(), package);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let dir = package.join("../../.cache/matrix");
    dir.canonicalize().unwrap()
}

/// Returns the expected table as it appears in the document.
fn table(name: &str, root: bool) -> String {
    let mut table = format!("| as {name} |");
    let columns = || {
        MECHANISMS
            .iter()
            .flat_map(|mechanism| PROFILES.map(|profile| (*mechanism, profile)))
    };
    for (mechanism, profile) in columns() {
        write!(table, " {mechanism}, {profile} |").unwrap();
    }
    write!(table, "\n|---|{}", "---|".repeat(columns().count())).unwrap();
    for workload in &WORKLOADS {
        write!(table, "\n| {} |", workload.name).unwrap();
        for (mechanism, profile) in columns() {
            match refusal(workload, mechanism, profile, root) {
                None => write!(table, " works |").unwrap(),
                Some(reason) => write!(table, " refused ({}) |", reason as u8).unwrap(),
            }
        }
    }
    table
}

#[test]
fn p16_matrix_is_in_the_documentation() {
    for (name, root) in [("root", true), ("ordinary user", false)] {
        let table = table(name, root);
        assert!(
            DOCUMENT.contains(&table),
            "docs/sandbox.md must contain:\n\n{table}"
        );
    }
}
