//! Make, just, and plain scripts.

use super::project_dir::ProjectDir;
use super::proposal::{Argv, Detected, argv};

const MAKEFILES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];
const JUSTFILES: &[&str] = &["justfile", "Justfile", ".justfile"];
const TEST_SCRIPTS: &[&str] = &[
    "scripts/test",
    "script/test",
    "scripts/test.sh",
    "bin/test",
    "test.sh",
    "run_tests.sh",
    "run-tests.sh",
];
const SETUP_SCRIPTS: &[&str] = &[
    "scripts/setup",
    "script/setup",
    "script/bootstrap",
    "scripts/bootstrap",
    "scripts/setup.sh",
    "bin/setup",
];
/// Names of targets.
const TEST_TARGETS: &[&str] = &["test", "tests", "check"];
const SETUP_TARGETS: &[&str] = &["deps", "setup", "bootstrap", "install-deps", "dependencies"];

pub(super) fn detect(dir: &ProjectDir) -> Option<Detected> {
    targets(dir, "make", MAKEFILES)
        .or_else(|| targets(dir, "just", JUSTFILES))
        .or_else(|| {
            let command = script(dir, TEST_SCRIPTS)?;
            Some(Detected::new(command, script(dir, SETUP_SCRIPTS)))
        })
}

fn script(dir: &ProjectDir, names: &[&str]) -> Option<Argv> {
    let name = dir.first(names)?;
    let start = if name.ends_with(".sh") { "sh " } else { "./" };
    Some(argv(&format!("{start}{name}")))
}

/// Finds targets in a makefile, or recipes in a justfile.
fn targets(dir: &ProjectDir, program: &str, files: &[&str]) -> Option<Detected> {
    let text = dir.text(dir.first(files)?);
    let defined = |target: &&&str| text.lines().any(|line| defines(line, target));
    let command = |targets: &[&str]| {
        let target = targets.iter().find(defined)?;
        Some(argv(&format!("{program} {target}")))
    };
    Some(Detected::new(
        command(TEST_TARGETS)?,
        command(SETUP_TARGETS),
    ))
}

/// Returns `true` for a line such as `test: build` or `test filter="":`, and not for `test := 1`.
fn defines(line: &str, target: &str) -> bool {
    let Some((head, rest)) = line.split_once(':') else {
        return false;
    };
    let mut names = head.split_whitespace();
    !line.starts_with([' ', '\t', '#']) && !rest.starts_with('=') && names.next() == Some(target)
}
