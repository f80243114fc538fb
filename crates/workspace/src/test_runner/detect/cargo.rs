//! Rust: cargo.

use super::project_dir::ProjectDir;
use super::proposal::{Argv, Detected, argv, shell};

const COMMAND: &str = "cargo test --no-fail-fast";

pub(super) fn detect(dir: &ProjectDir) -> Option<Detected> {
    dir.has("Cargo.toml")
        .then(|| Detected::new(argv(COMMAND), setup(dir)))
}

/// Returns the command that tests one member of a workspace.
pub(super) fn member_command(member: &ProjectDir) -> Option<Argv> {
    let manifest = member.toml("Cargo.toml");
    let name = manifest.get("package")?.get("name")?.as_str()?;
    Some(argv(&format!("{COMMAND} --package={name}")))
}

/// Returns `true` if the root of a workspace has no package, so that all tests are those of members.
pub(super) fn is_only_workspace(dir: &ProjectDir) -> bool {
    let manifest = dir.toml("Cargo.toml");
    manifest.contains_key("workspace") && !manifest.contains_key("package")
}

/// Returns the patterns of the members of a workspace.
pub(super) fn workspace_patterns(dir: &ProjectDir) -> Vec<String> {
    let manifest = dir.toml("Cargo.toml");
    let members = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("members"))
        .and_then(toml::Value::as_array);
    let members = members.into_iter().flatten();
    members
        .filter_map(|member| Some(member.as_str()?.to_owned()))
        .collect()
}

/// Downloads the dependencies and compiles them. A project that does not compile is not a failed
/// set-up: the tests say why.
fn setup(dir: &ProjectDir) -> Option<Argv> {
    let manifest = dir.toml("Cargo.toml");
    let is_filled = |key: &str| {
        let table = manifest.get(key).and_then(toml::Value::as_table);
        table.is_some_and(|table| !table.is_empty())
    };
    let has_dependencies = ["dependencies", "dev-dependencies", "build-dependencies"]
        .iter()
        .any(|key| is_filled(key));
    let locked = if dir.has("Cargo.lock") {
        " --locked"
    } else {
        ""
    };
    (has_dependencies || manifest.contains_key("workspace")).then(|| {
        shell(format!(
            "cargo fetch{locked} && {{ cargo test --no-run{locked} || true; }}"
        ))
    })
}
