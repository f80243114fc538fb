//! Reports that a test runner writes for machines, in a directory that is made for one run.

mod error;
mod go_json;
mod java;
mod jest;
mod junit;
mod pytest;

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::command::{Invocation, Passing};
use super::parse;
use super::parsed::ParsedRun;
use super::runner_kind::RunnerKind;
use crate::error::{Error, Result};
use crate::paths::Root;
use java::JavaReports;

pub(crate) use error::ReportError;
pub(super) use go_json::GoEvents;

/// Maximum size of a report file.
const MAX_REPORT_BYTES: u64 = 32 << 20;

const PYTEST: &str = "pytest.xml";
const JEST: &str = "jest.json";
const VITEST: &str = "vitest.json";
const NODE: &str = "node.tap";

/// The reports of one run, and the command that writes them.
///
/// The directory is new and empty, so a report in it was written during the run. The tests can write it too: its
/// content is compared with the exit code and the output.
#[derive(Debug)]
pub(super) struct Reports {
    dir: TempDir,
    root: PathBuf,
    java: Option<JavaReports>,
    /// The runner, if it is known from the command.
    pub(super) runner: Option<RunnerKind>,
    /// Whether this runner was asked for a report.
    pub(super) is_requested: bool,
    /// The command, with the arguments that make its runner write a report.
    pub(super) command: Vec<String>,
    /// The variables that make runners write a report.
    pub(super) variables: Vec<(&'static str, String)>,
}

/// The content of a report, or why it cannot be read.
#[derive(Debug)]
pub(super) struct TestReport {
    pub(super) runner: RunnerKind,
    pub(super) content: std::result::Result<ParsedRun, ReportError>,
}

impl Reports {
    /// Prepares the reports of a command that will run in this directory.
    pub(super) fn new(root: &Path, command: &[String]) -> Result<Self> {
        let dir = TempDir::with_prefix("windlass-report-");
        let dir = dir.map_err(|error| Error::io(std::env::temp_dir(), &error))?;
        let file = |name: &str| dir.path().join(name).display().to_string();
        // The report of this family names the file of each case.
        let pytest = format!("--junitxml={} -o junit_family=xunit1", file(PYTEST));
        let mut variables = vec![("PYTEST_ADDOPTS", pytest)];
        let invocation = Invocation::new(root, command);
        let mut extended = command.to_vec();
        let mut is_requested = false;
        if let Some(invocation) = &invocation {
            is_requested = true;
            match invocation.runner {
                RunnerKind::Pytest => is_requested = !invocation.has("--junit"),
                RunnerKind::Jest
                    if !invocation.has("--json") && !invocation.has("--outputFile") =>
                {
                    extended = invocation
                        .append(&["--json".to_owned(), format!("--outputFile={}", file(JEST))]);
                }
                RunnerKind::Vitest if !invocation.has("--outputFile") => {
                    extended = invocation.append(&[
                        "--reporter=default".to_owned(),
                        "--reporter=json".to_owned(),
                        format!("--outputFile.json={}", file(VITEST)),
                    ]);
                }
                RunnerKind::Node if !invocation.has("--test-reporter") => {
                    let options = [
                        "--test-reporter=spec".to_owned(),
                        "--test-reporter-destination=stdout".to_owned(),
                        "--test-reporter=tap".to_owned(),
                        format!("--test-reporter-destination={}", file(NODE)),
                    ];
                    match invocation.passing {
                        Passing::Direct(_) => extended = invocation.insert(&options),
                        // A script appends, but options must precede the names of files.
                        Passing::Script(_) => variables.push(("NODE_OPTIONS", options.join(" "))),
                    }
                }
                RunnerKind::Unittest => {
                    extended = invocation.append(&["-v".to_owned()]);
                    is_requested = false;
                }
                RunnerKind::Go if !invocation.has("-json") => {
                    extended = invocation.insert(&["-json".to_owned()]);
                }
                RunnerKind::Go => {}
                // Gradle and Maven write reports anyway; the output of the others names the cases.
                _ => is_requested = false,
            }
        }
        Ok(Self {
            root: root.canonicalize().unwrap_or_else(|_| root.to_owned()),
            java: JavaReports::new(root),
            runner: invocation.map(|invocation| invocation.runner),
            is_requested,
            command: extended,
            variables,
            dir,
        })
    }

    /// Returns the directory, which the tests must be able to write.
    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the parser for events in the output, if the runner writes them there.
    pub(super) fn events(&self) -> Option<GoEvents> {
        (self.runner == Some(RunnerKind::Go)).then(GoEvents::default)
    }

    /// Reads the reports after the run.
    pub(super) fn read(&self) -> Vec<TestReport> {
        let mut reports = Vec::new();
        let mut read =
            |runner, name, parse: &dyn Fn(&str) -> std::result::Result<ParsedRun, ReportError>| {
                if let Some(text) = self.text(name) {
                    let content = text.and_then(|text| parse(&text));
                    reports.push(TestReport { runner, content });
                }
            };
        read(RunnerKind::Pytest, PYTEST, &|text| {
            junit::parse(RunnerKind::Pytest, text, pytest::node_id)
        });
        read(RunnerKind::Jest, JEST, &|text| {
            jest::parse(RunnerKind::Jest, text, &self.root)
        });
        read(RunnerKind::Vitest, VITEST, &|text| {
            jest::parse(RunnerKind::Vitest, text, &self.root)
        });
        read(RunnerKind::Node, NODE, &|text| {
            parse::node_tap(text).ok_or_else(|| ReportError::malformed("it is not complete"))
        });
        let java = self.java.iter().flat_map(JavaReports::read);
        reports.extend(java.map(|(runner, content)| TestReport { runner, content }));
        reports
    }

    /// Reads a file of the directory. Returns `None` if it does not exist.
    fn text(&self, name: &str) -> Option<std::result::Result<String, ReportError>> {
        let content =
            Root::open(self.dir.path()).and_then(|root| root.read(name, MAX_REPORT_BYTES));
        match content {
            Ok(content) => Some(Ok(String::from_utf8_lossy(&content).into_owned())),
            Err(error) if error.is_not_found() => None,
            Err(error) => Some(Err(error.into())),
        }
    }
}

#[cfg(test)]
mod tests;
