//! The test runners with output or reports that can be read.

use std::fmt;

/// A test runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunnerKind {
    Cargo,
    Nextest,
    Pytest,
    Unittest,
    Jest,
    Vitest,
    Mocha,
    /// Node's own runner.
    Node,
    /// Any other program that writes TAP.
    Tap,
    Go,
    Maven,
    Gradle,
    /// Any other program.
    Unknown,
}

impl RunnerKind {
    /// Returns `true` if the runner always prints or writes how many tests it ran, in a form that is read.
    pub(crate) fn always_counts(self) -> bool {
        match self {
            Self::Cargo | Self::Nextest | Self::Pytest | Self::Unittest | Self::Go => true,
            Self::Maven | Self::Gradle => true,
            // The form depends on the configured reporter.
            Self::Jest | Self::Vitest | Self::Mocha | Self::Node => false,
            Self::Tap | Self::Unknown => false,
        }
    }
}

impl fmt::Display for RunnerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cargo => "cargo test",
            Self::Nextest => "cargo nextest",
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
            Self::Jest => "jest",
            Self::Vitest => "vitest",
            Self::Mocha => "mocha",
            Self::Node => "node --test",
            Self::Tap => "the TAP output",
            Self::Go => "go test",
            Self::Maven => "maven",
            Self::Gradle => "gradle",
            Self::Unknown => "the test command",
        })
    }
}
