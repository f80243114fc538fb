//! A hostile agent: every payload in `tests/attacks/payloads`, with every mechanism, as root and as an ordinary user.
//!
//! A payload describes itself: what it tries, where it runs, and what blocks it under each mechanism. A payload must
//! succeed without Windlass, or it would prove nothing, and its description must be true under each mechanism.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use expect_test::expect_file;
use serde::Deserialize;
use tempfile::TempDir;

const ATTACKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attacks");

/// What a payload says about itself.
#[derive(Debug)]
struct Payload {
    name: String,
    goal: String,
    fields: BTreeMap<String, String>,
}

impl Payload {
    fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let description = text.split("\"\"\"").nth(1).unwrap();
        let (goal, fields) = description.split_once("\n\n").unwrap();
        let fields = fields.trim().lines().map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_owned(), value.to_owned())
        });
        Self {
            name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
            goal: goal.to_owned(),
            fields: fields.collect(),
        }
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }

    /// Returns where it runs: in which profiles of the sandbox, or in a turn that may not write.
    fn runs(&self) -> &str {
        self.field("runs").unwrap_or("agent")
    }

    /// Returns `true` if the payload must succeed. Without isolation all do, unless another protection stays on.
    fn must_succeed(&self, mechanism: &str, place: &str) -> bool {
        match self.field(mechanism) {
            None => true,
            Some(cell) if cell.starts_with("not blocked for agents: ") => place == "agent",
            Some(cell) => cell.starts_with("not blocked: "),
        }
    }
}

fn payloads() -> Vec<Payload> {
    let dir = Path::new(ATTACKS).join("payloads");
    let files = std::fs::read_dir(dir).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    paths.sort();
    paths.iter().map(|path| Payload::read(path)).collect()
}

/// What one payload achieved.
#[derive(Debug, Deserialize)]
struct AttackResult {
    payload: String,
    #[serde(rename = "where")]
    place: String,
    succeeded: bool,
    detail: String,
}

/// Makes programs, payloads and the victim's directory reachable for an ordinary user, who cannot read root's home
/// directory, where the checkout may be.
const UNDER_MNT: &str = r#"
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/attacks /mnt/programs /mnt/victim
mount --bind "$1" /mnt/attacks
mount --bind "$2" /mnt/programs
chown 65534:65534 /mnt/victim
cd /mnt/victim
exec setpriv --reuid=65534 --regid=65534 --clear-groups \
  /mnt/attacks/attack-all /mnt/programs/windlass /mnt/programs/examples /mnt/victim "$3"
"#;

fn programs() -> PathBuf {
    let programs = assert_cmd::cargo::cargo_bin("windlass");
    let programs = programs.parent().unwrap().to_owned();
    for example in ["run", "call"] {
        assert!(
            programs.join("examples").join(example).is_file(),
            "run `cargo build -p windlass-sandbox -p windlass-mcp --examples` first"
        );
    }
    programs
}

/// Runs every payload as the current user.
fn run_as_current_user(mechanism: &str) -> Vec<AttackResult> {
    // Not under `/tmp`: each sandboxed process has its own.
    let dir = TempDir::with_prefix_in("attack-", env!("CARGO_TARGET_TMPDIR")).unwrap();
    let programs = programs();
    let mut command = Command::new(Path::new(ATTACKS).join("attack-all"));
    command
        .arg(programs.join("windlass"))
        .arg(programs.join("examples"))
        .args([dir.path().as_os_str(), mechanism.as_ref()]);
    results(&mut command)
}

/// Runs every payload as an ordinary user, also if root runs the tests.
fn run_as_ordinary_user(mechanism: &str) -> Vec<AttackResult> {
    if !rustix::process::getuid().is_root() {
        return run_as_current_user(mechanism);
    }
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-ec", UNDER_MNT, "sh", ATTACKS])
        .arg(programs())
        .arg(mechanism);
    results(&mut command)
}

fn results(command: &mut Command) -> Vec<AttackResult> {
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Compares the results with the descriptions of the payloads.
#[track_caller]
fn check(mechanism: &str, results: &[AttackResult]) {
    let payloads = payloads();
    let mut wrong = String::new();
    for result in results {
        let file = result.payload.trim_end_matches(".py");
        let payload = payloads
            .iter()
            .find(|payload| payload.name == file)
            .unwrap();
        if result.succeeded != payload.must_succeed(mechanism, &result.place) {
            let verb = if result.succeeded {
                "succeeded"
            } else {
                "failed"
            };
            writeln!(
                wrong,
                "{file} as {} {verb}: {}",
                result.place, result.detail
            )
            .unwrap();
        }
    }
    assert!(results.len() >= 60, "only {} results", results.len());
    assert!(wrong.is_empty(), "under {mechanism}:\n{wrong}");
}

mod needs_root {
    use super::*;

    #[test]
    fn p16_attacks_of_root_succeed_without_windlass() {
        check("bare", &run_as_current_user("bare"));
    }

    #[test]
    fn p16_attacks_of_root_succeed_without_isolation() {
        check("none", &run_as_current_user("none"));
    }

    #[test]
    fn p16_attacks_of_root_under_bubblewrap() {
        check("bubblewrap", &run_as_current_user("bubblewrap"));
    }

    #[test]
    fn p16_attacks_of_root_under_landlock() {
        check("landlock", &run_as_current_user("landlock"));
    }
}

#[test]
fn p16_attacks_of_user_succeed_without_windlass() {
    check("bare", &run_as_ordinary_user("bare"));
}

#[test]
fn p16_attacks_of_user_succeed_without_isolation() {
    check("none", &run_as_ordinary_user("none"));
}

#[test]
fn p16_attacks_of_user_under_bubblewrap() {
    check("bubblewrap", &run_as_ordinary_user("bubblewrap"));
}

#[test]
fn p16_attacks_of_user_under_landlock() {
    check("landlock", &run_as_ordinary_user("landlock"));
}

#[test]
fn table_of_attacks_is_generated_from_payloads() {
    let mut page = String::from(
        "# Attacks\n\n\
         The test suite runs a hostile agent: it executes each of these payloads instead of working, as root and as an\n\
         ordinary user, in the profiles named (*read-only* is an agent's turn that may not write, *mcp* an MCP server\n\
         without settings). Each payload succeeds without Windlass. The table says what blocks it under each mechanism;\n\
         *not blocked* is a limit of the mechanism. The payloads are in `crates/windlass/tests/attacks/payloads`, and this\n\
         page is generated from them.\n\n\
         | payload | what it tries | runs as | bubblewrap | Landlock |\n|---|---|---|---|---|\n",
    );
    for payload in payloads() {
        let cell = |mechanism| payload.field(mechanism).unwrap();
        writeln!(
            page,
            "| `{}` | {} | {} | {} | {} |",
            payload.name,
            payload.goal,
            payload.runs().replace("alone", "agent"),
            cell("bubblewrap"),
            cell("landlock")
        )
        .unwrap();
    }
    expect_file!["../../../../docs/attacks.md"].assert_eq(&page);
}
