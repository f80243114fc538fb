//! Why tests cannot run at all, whatever a change does.

use std::path::Path;

use windlass_tasks::{Obstacle, TestResult, TestStatus};

use crate::test_runner::{TestProposal, TestSettings, propose_tests};

/// Texts of runners, shells and package managers that miss something.
const MISSING: &[&str] = &[
    "No module named",
    "ModuleNotFoundError",
    "ImportError while loading conftest",
    "command not found",
    "Cannot find module",
    "Cannot find package",
    "ERR_MODULE_NOT_FOUND",
    "Missing script",
    "missing script",
    "ERR_PNPM",
    "Couldn't find a script named",
    "no required module provides package",
    "missing go.sum entry",
    "failed to get `",
    "failed to select a version",
    "no matching package named",
    "Could not resolve dependencies",
    "Could not find gem",
    "is not installed",
    "No rule to make target",
];

/// Texts of compilers and runners that cannot load the project's own files.
const NOT_BUILT: &[&str] = &[
    "error: could not compile",
    "SyntaxError",
    "IndentationError",
    "errors during collection",
    "error during collection",
    "[build failed]",
    "[setup failed]",
    "COMPILATION ERROR",
    "Compilation failed",
    "error TS",
    "Transform failed",
];

/// How many lines of the output are quoted.
const MAX_LINES: usize = 8;
const MAX_LINE_CHARS: usize = 300;

/// Returns why the tests of a base commit did not run. `None` if they ran, even if they failed.
pub(super) fn obstacle(
    root: &Path,
    result: &TestResult,
    settings: &TestSettings,
) -> Option<Obstacle> {
    // A runner may report a file that cannot be loaded as a failed case.
    let has_passed = result.counts.passed > 0;
    let is_missing = is_any_in(MISSING, &result.output);
    let has_run = has_passed || result.counts.failed > 0;
    let in_files = !is_missing && !has_run && is_any_in(NOT_BUILT, &result.output);
    let cannot_run = match result.status {
        TestStatus::Passed => false,
        TestStatus::Timeout => true,
        TestStatus::Error | TestStatus::Failed => {
            matches!(result.exit_code, Some(126 | 127))
                || !has_passed && is_missing
                || in_files
                || is_setup(result)
        }
    };
    cannot_run.then(|| Obstacle {
        reason: meaningful_lines(result),
        proposal: proposed_settings(root).filter(|_| !in_files && !is_configured(root, settings)),
        in_files,
    })
}

fn is_any_in(texts: &[&str], output: &str) -> bool {
    texts.iter().any(|text| output.contains(text))
}

/// Returns `true` if the set-up failed, so that no test was started.
fn is_setup(result: &TestResult) -> bool {
    let mut failures = result.failures.iter();
    failures.any(|case| case.name.starts_with("setup: "))
}

/// Returns the first lines that name what is missing or not built, or else the last lines.
fn meaningful_lines(result: &TestResult) -> String {
    let lines: Vec<&str> = result
        .output
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty())
        .collect();
    let says_why = |line: &&&str| is_any_in(MISSING, line) || is_any_in(NOT_BUILT, line);
    let mut found: Vec<&str> = lines.iter().filter(says_why).copied().collect();
    if found.is_empty() {
        found = lines[lines.len().saturating_sub(MAX_LINES)..].to_vec();
    }
    if result.status == TestStatus::Timeout {
        let seconds = result.duration_ms / 1000;
        return format!("the tests timed out after {seconds} s: set `[tests] timeout_secs`");
    }
    if found.is_empty()
        && let Some(case) = result.failures.first()
    {
        found = case.message.lines().collect();
    }
    let cut = |line: &str| line.chars().take(MAX_LINE_CHARS).collect::<String>();
    let quoted: Vec<String> = found.into_iter().take(MAX_LINES).map(cut).collect();
    quoted.join("\n")
}

/// Returns `true` if the settings are already those that would be proposed.
fn is_configured(root: &Path, current: &TestSettings) -> bool {
    propose_tests(root).is_some_and(|proposal| {
        let is_detected = current.command.is_none() && !proposal.projects.is_empty();
        (is_detected || current.command == Some(proposal.command))
            && current.setup == proposal.setup
    })
}

/// Returns settings that would let the tests of a project run, as lines of TOML, from the project's files.
pub fn proposed_settings(root: &Path) -> Option<String> {
    let TestProposal {
        command,
        setup,
        projects,
    } = propose_tests(root)?;
    let list = |args: Vec<String>| toml::Value::from(args).to_string();
    let setup = list(setup?);
    if !projects.is_empty() {
        return Some(format!("[tests]\nsetup = {setup}"));
    }
    let command = list(command);
    Some(format!("[tests]\ncommand = {command}\nsetup = {setup}"))
}
