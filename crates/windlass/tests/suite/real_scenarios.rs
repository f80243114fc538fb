//! Runs the scenario library with real agents on scripted models.
//!
//! The gate runs a part of it, the full tier (`WINDLASS_FULL`) runs all.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use tempfile::TempDir;

use super::cli_harness::{Run, text};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
}

/// Returns the directory of the real programs; missing ones are installed.
pub(crate) fn programs() -> PathBuf {
    programs_of("agents")
}

/// Returns the directory of the programs of another tier; missing ones are installed.
pub(crate) fn programs_of(tier: &str) -> PathBuf {
    let setup = root().join("scripts/setup");
    let output = Command::new(setup).args(["--only", tier]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let dir = root().join(".cache").join(tier).canonicalize().unwrap();
    let packages = dir.join("node_modules/.bin");
    if packages.exists() {
        packages
    } else {
        dir.join("bin")
    }
}

/// Runs a directory of the library. The home directory is not below the directory for temporary files, because
/// sandboxed agents have their own.
fn run_scenarios(agent: &str, dir: &str) -> Run {
    let home = TempDir::with_prefix_in("scenarios-", env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs().display());
    let library = root().join("scenarios").join(dir);
    let mut windlass = Command::cargo_bin("windlass").unwrap();
    let run = Run::of(
        windlass
            .env_clear()
            .env("HOME", home.path())
            .env("PATH", path)
            .current_dir(home.path())
            .args(["scenario", "run", text(&library), "-a", agent]),
    );
    assert_eq!(run.code, 0, "{agent}: {}{}", run.stdout, run.stderr);
    run
}

/// Returns the parts of the library to run.
fn dirs() -> Vec<&'static str> {
    match std::env::var_os("WINDLASS_FULL") {
        Some(_) => vec![""],
        None => vec!["tools/internal", "mcp/tools"],
    }
}

/// Runs the scenarios of the tier and checks which ones are skipped.
fn check_library(agent: &str, skipped: &[&str]) {
    let mut found = Vec::new();
    for dir in dirs() {
        let run = run_scenarios(agent, dir);
        let lines = run.stdout.lines();
        let named = lines.filter_map(|line| line.strip_prefix("skipped "));
        found.extend(named.filter_map(|line| Some(line.split_once(':')?.0.to_owned())));
    }
    let expected = match dirs()[..] {
        [""] => skipped,
        _ => &[],
    };
    assert_eq!(found, expected, "{agent}");
}

#[test]
fn real_codex_passes_the_library() {
    check_library(
        "codex",
        &[
            "hostile/shell_writes_outside.json",
            "hostile/write_outside.json",
            "mcp/discovery/tools_are_offered.json",
            "tools/failures/edit_without_a_match.json",
        ],
    );
}

#[test]
fn real_claude_passes_the_library() {
    check_library("claude", &[]);
}
