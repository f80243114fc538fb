//! The scenario library on real agents, whose models say what the scenarios script.
//!
//! The gate plays a part of it, the full tier (`WINDLASS_FULL`) all.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use tempfile::TempDir;

use super::cli_world::{Run, text};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
}

/// Where the real programs are; what is not there yet is installed.
pub(crate) fn programs() -> PathBuf {
    programs_of("agents")
}

/// The same for another tier.
pub(crate) fn programs_of(tier: &str) -> PathBuf {
    let setup = root().join("scripts/setup");
    let output = Command::new(setup).args(["--only", tier]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let folder = root().join(".cache").join(tier).join("node_modules/.bin");
    folder.canonicalize().unwrap()
}

/// Plays a folder of the library. The home is away from the folder for temporary files, where agents have their own.
fn play(agent: &str, folder: &str) -> Run {
    let home = TempDir::with_prefix_in("scenarios-", env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs().display());
    let library = root().join("scenarios").join(folder);
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

/// The parts of the library that the gate plays.
fn folders() -> Vec<&'static str> {
    match std::env::var_os("WINDLASS_FULL") {
        Some(_) => vec![""],
        None => vec!["tools/internal", "mcp/tools"],
    }
}

/// Plays what the tier plays; the scenarios that are left out are these.
fn plays(agent: &str, left_out: &[&str]) {
    let mut found = Vec::new();
    for folder in folders() {
        let run = play(agent, folder);
        let lines = run.stdout.lines();
        let named = lines.filter_map(|line| line.strip_prefix("left out "));
        found.extend(named.filter_map(|line| Some(line.split_once(':')?.0.to_owned())));
    }
    let expected = match folders()[..] {
        [""] => left_out,
        _ => &[],
    };
    assert_eq!(found, expected, "{agent}");
}

#[test]
fn real_codex_plays_the_library() {
    plays(
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
fn real_claude_plays_the_library() {
    plays("claude", &[]);
}
