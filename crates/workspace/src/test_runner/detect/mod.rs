//! Detects how a project is tested and set up, from its files.
//!
//! The commands are built in; a file selects one of them and cannot provide its own, except for
//! names: of targets, extras, requirements and directories.

mod cargo;
mod dependents;
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

use serde::{Deserialize, Serialize};
use windlass_tasks::SubProject;

use project_dir::ProjectDir;
use proposal::Detected;

pub(crate) use monorepo::{combined, split, touched};
pub use proposal::TestProposal;

/// The commands of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DetectedCommands {
    /// The test command on a machine that has everything installed.
    pub(crate) installed: Vec<String>,
    /// The set-up, and the test command after it.
    pub(crate) prepared: Option<(Vec<String>, Vec<String>)>,
}

impl DetectedCommands {
    /// Returns the test command after this set-up.
    pub(crate) fn after(self, setup: Option<&[String]>) -> Vec<String> {
        match self.prepared {
            Some((known, command)) if Some(known.as_slice()) == setup => command,
            _ => self.installed,
        }
    }
}

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

/// Returns how the repository is tested and set up.
pub(crate) fn commands(root: &Path) -> Option<DetectedCommands> {
    let Detected {
        installed,
        proposal,
    } = detect(root)?;
    Some(DetectedCommands {
        installed,
        prepared: proposal.setup.map(|setup| (setup, proposal.command)),
    })
}

/// Returns a test command and the set-up for a fresh checkout, if the files suggest any.
pub fn propose_tests(root: &Path) -> Option<TestProposal> {
    let mut proposal = detect(root)?.proposal;
    let projects = monorepo_projects(root).into_iter();
    proposal.projects = projects.map(|(dir, _)| dir.name).collect();
    Some(proposal)
}

/// Returns the projects of a monorepo that this command, which was detected, tests together. Empty if it is another
/// command, or if the tests of the root may test anything.
pub(crate) fn sub_projects(root: &Path, command: &[String]) -> Vec<SubProject> {
    let Some(whole) = detect(root) else {
        return Vec::new();
    };
    let is_prepared = whole.proposal.command == command;
    if !is_prepared && whole.installed != command {
        return Vec::new();
    }
    let (dirs, found): (Vec<ProjectDir>, Vec<Detected>) =
        monorepo_projects(root).into_iter().unzip();
    let dependents = dependents::dependents(&dirs);
    let all = dirs.iter().zip(found).zip(dependents);
    all.map(|((dir, found), dependents)| SubProject {
        dir: dir.name.clone(),
        command: if is_prepared {
            found.proposal.command
        } else {
            found.installed
        },
        dependents: dependents.iter().map(|at| dirs[*at].name.clone()).collect(),
    })
    .collect()
}

/// Returns the projects that are tested separately: the members of a workspace, and those in separate
/// directories. Empty if there is only one, or if the root has tests that are not those of a member.
fn monorepo_projects(root: &Path) -> Vec<(ProjectDir, Detected)> {
    let top = ProjectDir::new(root, "");
    let whole = detect_in(&top);
    let is_only_workspace = cargo::is_only_workspace(&top)
        || node::is_only_workspace(&top) && whole == node::detect(&top);
    if whole.is_some() && !is_only_workspace {
        return Vec::new();
    }
    let dirs = monorepo::directories(&top);
    let dirs: Vec<ProjectDir> = dirs.iter().map(|dir| ProjectDir::new(root, dir)).collect();
    let mut found: Vec<(ProjectDir, Detected)> = Vec::new();
    match whole {
        // The command of the root tests its members only.
        Some(whole) => found.extend(monorepo::members(&top, &whole, &dirs)),
        None => {
            for (dir, detected) in separate(&dirs) {
                found.push((dir.clone(), detected.in_dir(&dir.name)));
            }
        }
    }
    if found.len() < 2 {
        found.clear();
    }
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

/// The files that make a directory below the root a separate project. A directory of tests alone
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
