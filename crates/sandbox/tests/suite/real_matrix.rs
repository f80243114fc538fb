//! The matrix: what people really run, under every mechanism, in every profile, as root and as an
//! ordinary user.
//!
//! Expected outcomes are data. A cell works, or it is refused for a reason that `docs/sandbox.md`
//! gives.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::support::example;

const MECHANISMS: [&str; 3] = ["bubblewrap", "landlock", "none"];
const PROFILES: [&str; 3] = ["agent", "tool", "test"];
const DOCUMENT: &str = include_str!("../../../../docs/sandbox.md");

/// Something people run.
struct Work {
    name: &'static str,
    folder: &'static str,
    command: &'static [&'static str],
    /// What it says when it has worked.
    proof: &'static str,
}

const WORKS: [Work; 6] = [
    Work {
        name: "cargo build and test",
        folder: "rust",
        command: &[
            "sh",
            "-c",
            "rm -rf target; cargo build --offline 2>&1 && cargo test --offline 2>&1",
        ],
        proof: "test it_is_two ... ok",
    },
    Work {
        name: "pytest",
        folder: "python",
        command: &["./.venv/bin/python", "-m", "pytest", "-q"],
        proof: "1 passed",
    },
    Work {
        name: "npm test",
        folder: "node",
        command: &["npm", "test"],
        proof: "node test.js",
    },
    Work {
        name: "git commit",
        folder: "git",
        command: &[
            "sh",
            "-c",
            "date +%s.%N > file; git add -A && git commit -m change && git status --short",
        ],
        proof: "1 file changed",
    },
    Work {
        name: "shell pipeline",
        folder: "shell",
        command: &[
            "sh",
            "-c",
            "printf 'b\\na\\n' | sort | tee sorted | head -n 1 | sed s/a/piped/",
        ],
        proof: "piped",
    },
    Work {
        name: "inner `bwrap --proc`",
        folder: "shell",
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
        proof: "inside",
    },
];

/// Why something is refused; the numbers are those of `docs/sandbox.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reason {
    /// Landlock forbids mounting, and with it every sandbox that is built of mounts.
    NoMounts = 1,
    /// `/proc` has parts covered, and the kernel shows nobody more of it than they had.
    ProcCovered = 2,
    /// Root without capabilities may not hand its own identity on to a namespace.
    PowerlessRoot = 3,
}

impl Reason {
    /// What the refused program says.
    fn symptom(self) -> &'static str {
        match self {
            Self::NoMounts => "setting up uid map: Permission denied",
            Self::ProcCovered => "Can't mount proc on /newroot/proc: Operation not permitted",
            Self::PowerlessRoot => "setting up uid map: Operation not permitted",
        }
    }
}

/// The expected outcome of every cell that does not simply work.
fn refusal(work: &Work, mechanism: &str, profile: &str, root: bool) -> Option<Reason> {
    if work.name != "inner `bwrap --proc`" {
        return None;
    }
    match (mechanism, profile, root) {
        ("landlock", _, _) => Some(Reason::NoMounts),
        ("bubblewrap", "tool" | "test", true) => Some(Reason::PowerlessRoot),
        ("bubblewrap", "tool" | "test", false) | ("bubblewrap", "agent", true) => {
            Some(Reason::ProcCovered)
        }
        _ => None,
    }
}

/// Somebody who runs things.
struct Person {
    name: &'static str,
    root: bool,
    projects: PathBuf,
    /// The program of theirs that starts a command in a sandbox.
    program: PathBuf,
    /// What comes before a command to run it as this person.
    become_them: Vec<String>,
}

/// Shows the folder with the projects and the folder with the programs under `/mnt`, to what it starts alone: an ordinary
/// user cannot look into root's home, where a clone may be.
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
    fn p16_the_matrix_as_root() {
        assert!(
            rustix::process::getuid().is_root(),
            "half of the matrix is root's: run the tests as root"
        );
        let projects = set_up().join("own");
        check(&Person {
            name: "root",
            root: true,
            projects,
            program: example("run"),
            become_them: Vec::new(),
        });
    }
}

#[test]
fn p16_the_matrix_as_an_ordinary_user() {
    let folder = set_up();
    if !rustix::process::getuid().is_root() {
        return check(&Person {
            name: "ordinary user",
            root: false,
            projects: folder.join("own"),
            program: example("run"),
            become_them: Vec::new(),
        });
    }
    let program = example("run");
    let words = [
        "unshare",
        "--mount",
        "sh",
        "-ec",
        UNDER_MNT,
        "sh",
        folder.to_str().unwrap(),
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
    check(&Person {
        name: "ordinary user",
        root: false,
        projects: folder.join("user"),
        program: "/mnt/programs/run".into(),
        become_them: words.map(str::to_owned).to_vec(),
    });
}

/// Runs every cell, prints the table, and compares cell by cell.
fn check(person: &Person) {
    let mut surprises = String::new();
    for mechanism in MECHANISMS {
        for work in &WORKS {
            for profile in PROFILES {
                let output = run(person, mechanism, profile, work);
                let said =
                    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
                let worked = output.status.success() && said.contains(work.proof);
                let expected = refusal(work, mechanism, profile, person.root);
                let as_expected = match expected {
                    None => worked,
                    Some(reason) => !worked && said.contains(reason.symptom()),
                };
                if !as_expected {
                    let cell = format!("{} as {}, {mechanism}, {profile}", work.name, person.name);
                    writeln!(
                        surprises,
                        "{cell}: expected {expected:?}, but it said:\n{said}"
                    )
                    .unwrap();
                }
            }
        }
    }
    println!("{}", table(person.name, person.root));
    assert!(surprises.is_empty(), "not as the table says:\n{surprises}");
}

fn run(person: &Person, mechanism: &str, profile: &str, work: &Work) -> Output {
    let words = person
        .become_them
        .iter()
        .cloned()
        .chain([person.program.display().to_string()]);
    let words: Vec<String> = words
        .chain([mechanism.to_owned(), profile.to_owned()])
        .collect();
    start(
        &words[0],
        words[1..]
            .iter()
            .map(String::as_str)
            .chain(work.command.iter().copied()),
        &person.projects.join(work.folder),
    )
}

#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox itself must be run by different people"
)]
fn start<'a>(program: &str, args: impl Iterator<Item = &'a str>, cwd: &Path) -> Output {
    Command::new(program)
        .args(args)
        .current_dir(cwd)
        .output()
        .unwrap()
}

/// The folder with everybody's projects; made on first use.
fn set_up() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = package.join("../../scripts/setup").display().to_string();
    let output = start(&script, ["--only", "matrix"].into_iter(), package);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let folder = package.join("../../.cache/matrix");
    folder.canonicalize().unwrap()
}

/// What is expected, as it stands in the document.
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
    for work in &WORKS {
        write!(table, "\n| {} |", work.name).unwrap();
        for (mechanism, profile) in columns() {
            match refusal(work, mechanism, profile, root) {
                None => write!(table, " works |").unwrap(),
                Some(reason) => write!(table, " refused ({}) |", reason as u8).unwrap(),
            }
        }
    }
    table
}

#[test]
fn p16_the_matrix_stands_in_the_document() {
    for (name, root) in [("root", true), ("ordinary user", false)] {
        let table = table(name, root);
        assert!(
            DOCUMENT.contains(&table),
            "docs/sandbox.md must contain:\n\n{table}"
        );
    }
}
