//! Detects how a project is tested and set up, from its files.
//!
//! The commands are built in; a file selects one of them and cannot provide its own, except for
//! names: of targets, extras, requirements and directories.

mod cargo;
mod go;
mod java;
mod monorepo;
mod node;
mod project_dir;
mod proposal;
mod python;
mod ruby;
mod scripts;
#[cfg(test)]
mod tests;

use std::path::Path;

use project_dir::ProjectDir;
use proposal::Detected;

pub use monorepo::{SubProject, commands_for};
pub use proposal::TestProposal;

/// The detection of each kind of project, the first match counts.
const DETECTORS: [fn(&ProjectDir) -> Option<Detected>; 7] = [
    cargo::detect,
    go::detect,
    python::detect,
    node::detect,
    java::detect,
    ruby::detect,
    scripts::detect,
];

/// Returns the command that tests the repository on a machine that has everything installed.
pub(crate) fn command(root: &Path) -> Option<Vec<String>> {
    detect(root).map(|detected| detected.installed)
}

/// Returns a test command and the set-up for a fresh checkout, if the files suggest any.
pub fn propose_tests(root: &Path) -> Option<TestProposal> {
    detect(root).map(|detected| detected.proposal)
}

/// Returns the projects of a repository: its root, the members of its workspace, and projects in
/// other directories. See [`commands_for`].
pub fn sub_projects(root: &Path) -> Vec<SubProject> {
    let top = ProjectDir::new(root, "");
    let dirs = monorepo::directories(&top);
    let dirs: Vec<ProjectDir> = dirs.iter().map(|dir| ProjectDir::new(root, dir)).collect();
    let whole = detect_in(&top);
    let mut found = Vec::new();
    if let Some(whole) = &whole {
        found.push(SubProject {
            dir: String::new(),
            tests: whole.proposal.clone(),
        });
        found.extend(monorepo::members(&top, whole, &dirs));
    }
    for (dir, detected) in separate(&dirs) {
        if !found.iter().any(|project| project.dir == dir.name) {
            found.push(SubProject {
                dir: dir.name.clone(),
                tests: detected.in_dir(&dir.name).proposal,
            });
        }
    }
    found.sort_by(|a, b| a.dir.cmp(&b.dir));
    found
}

/// Detects the tests in the root, or else those of all projects below it.
fn detect(root: &Path) -> Option<Detected> {
    let top = ProjectDir::new(root, "");
    detect_in(&top).or_else(|| {
        let dirs = monorepo::directories(&top);
        let dirs: Vec<ProjectDir> = dirs.iter().map(|dir| ProjectDir::new(root, dir)).collect();
        let all = separate(&dirs).into_iter();
        monorepo::combine(all.map(|(dir, found)| found.in_dir(&dir.name)).collect())
    })
}

fn detect_in(dir: &ProjectDir) -> Option<Detected> {
    DETECTORS.iter().find_map(|detect| detect(dir))
}

/// Returns the projects with a manifest that are not in another one of them.
fn separate(dirs: &[ProjectDir]) -> Vec<(&ProjectDir, Detected)> {
    let mut found: Vec<(&ProjectDir, Detected)> = Vec::new();
    for dir in dirs.iter().filter(|dir| dir.first(MANIFESTS).is_some()) {
        let is_inside = |(above, _): &(&ProjectDir, Detected)| {
            let rest = dir.name.strip_prefix(&above.name);
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        if found.iter().any(is_inside) {
            continue;
        }
        found.extend(detect_in(dir).map(|detected| (dir, detected)));
    }
    found
}

/// The files that make a directory below the root a project of its own. A directory of tests alone
/// is none.
const MANIFESTS: &[&str] = &[
    "Cargo.toml",
    "go.mod",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "package.json",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Gemfile",
];
