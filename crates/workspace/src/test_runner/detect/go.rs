//! Go modules.

use super::project_dir::ProjectDir;
use super::proposal::{Argv, Detected, argv, shell};

pub(super) fn detect(dir: &ProjectDir) -> Option<Detected> {
    if dir.has("go.mod") {
        return Some(Detected::new(
            argv("go test -v ./..."),
            Some(setup("./...")),
        ));
    }
    if !dir.has("go.work") {
        return None;
    }
    let modules = workspace_modules(&dir.text("go.work"));
    let packages: Vec<String> = modules.iter().map(|dir| format!("{dir}/...")).collect();
    let packages = packages.join(" ");
    (!packages.is_empty()).then(|| {
        Detected::new(
            argv(&format!("go test -v {packages}")),
            Some(setup(&packages)),
        )
    })
}

/// Returns the directories of the modules of a `go.work`.
fn workspace_modules(text: &str) -> Vec<String> {
    let mut modules = Vec::new();
    let mut is_in_block = false;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        match line.strip_prefix("use") {
            Some(rest) if rest.trim() == "(" => is_in_block = true,
            Some(rest) if rest.starts_with(' ') => modules.push(rest.trim().to_owned()),
            _ if line == ")" => is_in_block = false,
            _ if is_in_block && !line.is_empty() => modules.push(line.to_owned()),
            _ => {}
        }
    }
    modules
        .iter()
        .map(|module| module.trim_matches('"').trim_end_matches('/').to_owned())
        .collect()
}

/// Downloads the modules, and compiles them and the standard library without running a test.
fn setup(packages: &str) -> Argv {
    shell(format!(
        "go mod download && {{ go test -run '^$' {packages} || true; }}"
    ))
}
