//! The reports of Maven and Gradle, which they write into the checkout.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::MAX_REPORT_BYTES;
use super::error::ReportError;
use super::junit::{self, CaseAttributes};
use crate::paths::{PathKind, Root};
use crate::test_runner::parsed::ParsedRun;
use crate::test_runner::runner_kind::RunnerKind;

/// Files that mark a project of Maven or Gradle.
const MARKERS: &[&str] = &[
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
];
/// The directories of Maven that have reports.
const MAVEN: &[&str] = &["surefire-reports", "failsafe-reports"];
/// Directories without modules.
const SKIPPED: &[&str] = &["node_modules", "src", "target", "build"];
const MAX_DEPTH: usize = 6;
const MAX_DIRS: usize = 5_000;
const MAX_FILES: usize = 20_000;
/// Maximum size of all reports.
const MAX_TOTAL_BYTES: u64 = 4 * MAX_REPORT_BYTES;

/// Inode, size and time of change.
type FileState = (u64, u64, i64, i64);

/// The report files of a checkout before a run.
#[derive(Debug)]
pub(super) struct JavaReports {
    root: PathBuf,
    before: BTreeMap<String, FileState>,
}

impl JavaReports {
    /// Finds reports that exist before the run. Returns `None` if the project is of another kind.
    pub(super) fn new(root: &Path) -> Option<Self> {
        let is_marked = MARKERS.iter().any(|name| root.join(name).is_file());
        is_marked.then(|| Self {
            root: root.to_owned(),
            before: files(root),
        })
    }

    /// Reads the reports that were written since then.
    pub(super) fn read(&self) -> Vec<(RunnerKind, Result<ParsedRun, ReportError>)> {
        let mut maven = Vec::new();
        let mut gradle = Vec::new();
        for (path, state) in files(&self.root) {
            if self.before.get(&path) == Some(&state) {
                continue;
            }
            let is_maven = MAVEN
                .iter()
                .any(|dir| path.contains(&format!("target/{dir}/")));
            if is_maven { &mut maven } else { &mut gradle }.push(path);
        }
        [(RunnerKind::Maven, maven), (RunnerKind::Gradle, gradle)]
            .into_iter()
            .filter(|(_, paths)| !paths.is_empty())
            .map(|(runner, paths)| (runner, self.parse(runner, &paths)))
            .collect()
    }

    fn parse(&self, runner: RunnerKind, paths: &[String]) -> Result<ParsedRun, ReportError> {
        let root = Root::open(&self.root)?;
        let mut bytes = 0;
        let mut all = ParsedRun::from_cases(runner, Default::default());
        for path in paths {
            let content = root.read(path, MAX_REPORT_BYTES)?;
            bytes += content.len() as u64;
            if bytes > MAX_TOTAL_BYTES {
                return Err(ReportError::TooLarge);
            }
            all.add(junit::parse(
                runner,
                &String::from_utf8_lossy(&content),
                method,
            )?);
        }
        Ok(all)
    }
}

/// Returns the name of a case: `com.example.AddTest#sums`.
pub(super) fn method(case: &CaseAttributes) -> String {
    format!("{}#{}", case.class, case.name)
}

/// Returns every report file of the modules in a checkout. Links are not followed.
fn files(root: &Path) -> BTreeMap<String, FileState> {
    let mut found = BTreeMap::new();
    let Ok(dir) = Root::open(root) else {
        return found;
    };
    let list = |path: &str| {
        let listing = dir.list(path, MAX_FILES).map(|listing| listing.entries);
        listing.unwrap_or_default()
    };
    let folders = |path: &str| {
        let is_folder = |entry: &crate::paths::DirEntry| entry.kind == PathKind::Folder;
        let names = list(path)
            .into_iter()
            .filter(is_folder)
            .map(|entry| entry.name);
        names.collect::<Vec<_>>()
    };
    let mut reports = Vec::new();
    let mut modules = vec![(".".to_owned(), 0)];
    let mut visited = 0;
    while let Some((module, depth)) = modules.pop().filter(|_| visited < MAX_DIRS) {
        visited += 1;
        for name in folders(&module) {
            let path = if module == "." {
                name.clone()
            } else {
                format!("{module}/{name}")
            };
            match name.as_str() {
                "target" => reports.extend(MAVEN.iter().map(|dir| format!("{path}/{dir}"))),
                "build" => {
                    let results = format!("{path}/test-results");
                    reports.extend(
                        folders(&results)
                            .into_iter()
                            .map(|task| format!("{results}/{task}")),
                    );
                }
                _ if name.starts_with('.') || SKIPPED.contains(&name.as_str()) => {}
                _ if depth < MAX_DEPTH => modules.push((path, depth + 1)),
                _ => {}
            }
        }
    }
    for folder in reports {
        for entry in list(&folder) {
            let is_report = entry.name.starts_with("TEST-") && entry.name.ends_with(".xml");
            let path = format!("{folder}/{}", entry.name);
            let metadata = std::fs::symlink_metadata(root.join(&path));
            if let Some(metadata) = metadata
                .ok()
                .filter(|_| is_report && found.len() < MAX_FILES)
            {
                let state = (
                    metadata.ino(),
                    metadata.size(),
                    metadata.ctime(),
                    metadata.ctime_nsec(),
                );
                found.insert(path, state);
            }
        }
    }
    found
}
