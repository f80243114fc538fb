//! One test run: profile, environment, caches, deadline.

use std::path::Path;
use std::time::Duration;

use windlass_core::DirAccess;
use windlass_sandbox::{
    Child, CommandSpec, ExitReason, ExitStatus, NETWORK_VARS, ProcessLimits, Profile,
};
use windlass_tasks::{TestCase, TestCounts, TestNoteKind, TestResult, TestStatus};

use super::TestRunner;
use super::caches::BuildCaches;
use super::detect::split;
use super::output::OutputLog;
use super::parse::TestOutputParser;
use super::parsed::ParsedRun;
use super::report::{GoEvents, Reports, TestReport};
use super::runner_kind::RunnerKind;
use super::verdict::{Evidence, RunVerdict};
use crate::clone::{prepared, readable_dirs};
use crate::error::{Error, Result};

/// Variables that make tools non-interactive: no colors, no prompts, no watch mode.
const VARIABLES: &[(&str, &str)] = &[
    ("CI", "true"),
    ("NO_COLOR", "1"),
    ("FORCE_COLOR", "0"),
    ("CARGO_TERM_COLOR", "never"),
    // A fresh checkout has nothing to build on, and shared results stay small.
    ("CARGO_INCREMENTAL", "0"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("npm_config_update_notifier", "false"),
    ("GOTOOLCHAIN", "local"),
    ("GOFLAGS", "-modcacherw"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
];

/// Variables of the user, in addition to [`NETWORK_VARS`], that a command with network access gets: the
/// registries.
const REGISTRY_VARIABLES: &[&str] = &[
    "PIP_CERT",
    "PIP_INDEX_URL",
    "UV_INDEX_URL",
    "npm_config_registry",
    "GOPROXY",
];

/// Merges both streams in the order of their lines. The arguments of the command stay separate.
const BOTH_STREAMS: &str = r#"exec "$@" 2>&1"#;

/// How many lines of output are reported if no parser understands it.
const MAX_FIRST_LINES: usize = 10;
const MAX_LAST_LINES: usize = 20;

/// What is known of a command that has ended.
struct CommandRun {
    exit: ExitStatus,
    parsed: Vec<ParsedRun>,
    /// What events in the output say.
    events: Option<TestReport>,
}

/// Runs the command, after `setup` if the checkout is not prepared.
pub(super) async fn run(tests: &TestRunner, root: &Path, command: &[String]) -> Result<TestResult> {
    if prepared(root).is_none()
        && let Some(failed) = run_setup(tests, root).await?
    {
        return Ok(failed);
    }
    let caches = BuildCaches::new(tests, root)?;
    let mut output = OutputLog::default();
    // The projects of a monorepo are tested separately: each runner writes its own report.
    let Some(parts) = split(command) else {
        let (exit, verdict) = run_part(tests, root, command, &caches, &mut output).await?;
        return Ok(result(command, exit, output, verdict));
    };
    let mut whole: Option<(ExitStatus, RunVerdict)> = None;
    for part in parts {
        let (mut exit, verdict) =
            run_part(tests, root, &part.command, &caches, &mut output).await?;
        let mut verdict = verdict.of_project(&part.dir);
        if let Some((first, before)) = whole.take() {
            exit = both(first, exit);
            verdict = before.and(verdict);
        }
        whole = Some((exit, verdict));
    }
    match whole {
        Some((exit, verdict)) => Ok(result(command, exit, output, verdict)),
        None => Err(Error::repository(root, "has no test command")),
    }
}

/// Runs one command, and reads its reports.
async fn run_part(
    tests: &TestRunner,
    root: &Path,
    command: &[String],
    caches: &BuildCaches,
    output: &mut OutputLog,
) -> Result<(ExitStatus, RunVerdict)> {
    let reports = Reports::new(root, command)?;
    let network = tests.settings.network;
    let words = &reports.command;
    let run = run_command(tests, root, words, network, caches, Some(&reports), output).await?;
    let mut evidence = Evidence {
        success: run.exit.success(),
        runner: reports.runner,
        is_requested: reports.is_requested,
        output: run.parsed,
        reports: reports.read(),
    };
    evidence.reports.extend(run.events);
    Ok((run.exit, RunVerdict::new(evidence).relative_to(root)))
}

/// Returns how two sequential commands ended: as the first that failed.
fn both(first: ExitStatus, second: ExitStatus) -> ExitStatus {
    let duration = first.duration + second.duration;
    let exit = if first.success() { second } else { first };
    ExitStatus { duration, ..exit }
}

/// Runs `setup`, if there is one, with network access. Returns a result only if it failed.
pub(crate) async fn run_setup(tests: &TestRunner, root: &Path) -> Result<Option<TestResult>> {
    let Some(setup) = tests.settings.setup_command() else {
        return Ok(None);
    };
    let caches = BuildCaches::new(tests, root)?;
    let mut output = OutputLog::default();
    let run = run_command(tests, root, setup, true, &caches, None, &mut output).await?;
    let failed = !run.exit.success();
    Ok(failed.then(|| setup_failed(setup, run.exit, output)))
}

async fn run_command(
    tests: &TestRunner,
    root: &Path,
    command: &[String],
    network: bool,
    caches: &BuildCaches,
    reports: Option<&Reports>,
    output: &mut OutputLog,
) -> Result<CommandRun> {
    // The tests run in a clone, which may be changed freely.
    let mut profile = Profile::test()
        .network(network)
        .access(DirAccess::Repository)
        .write(&caches.dir);
    for path in readable_dirs(root).iter().chain(&tests.settings.read) {
        profile = profile.read(path);
    }
    if let Some(program) = command.first() {
        profile = profile.program(program);
    }
    if let Some(reports) = reports {
        profile = profile.write(reports.dir());
    }
    let limits = ProcessLimits {
        deadline: tests.settings.timeout,
        ..ProcessLimits::default()
    };
    let mut spec = CommandSpec::new("/bin/sh", root, profile)
        .args(["-c", BOTH_STREAMS, "sh"])
        .args(command.iter().cloned())
        .limits(limits);
    for (name, value) in VARIABLES {
        spec = spec.env(name, value);
    }
    for (name, dir) in &caches.variables {
        spec = spec.env(name, dir);
    }
    for (name, value) in reports.iter().flat_map(|reports| &reports.variables) {
        spec = spec.env(name, value);
    }
    if !network {
        spec = spec.env("CARGO_NET_OFFLINE", "true");
    }
    let events = reports.and_then(Reports::events);
    let variables = NETWORK_VARS.iter().chain(REGISTRY_VARIABLES);
    for name in variables.filter(|_| network) {
        let value = tests.sandbox.host().variable(name);
        // An address with a password is a secret.
        let value = value.filter(|value| !value.to_string_lossy().contains('@'));
        if let Some(value) = value {
            spec = spec.env(name, value);
        }
    }
    read(tests.sandbox.spawn(spec)?, events, output).await
}

/// Reads the output of a command until it and every process it started have ended.
async fn read(
    mut child: Child,
    mut events: Option<GoEvents>,
    output: &mut OutputLog,
) -> Result<CommandRun> {
    let mut parser = TestOutputParser::new();
    // After a read error there is no more output; the exit status follows below.
    while let Ok(Some(line)) = child.stdout.next().await {
        let text = line.text();
        let text = match &mut events {
            Some(events) => events.line(&text),
            None => Some(text),
        };
        if let Some(text) = text {
            parser.line(&text);
            output.line(&text);
        }
    }
    let exit = child.wait().await?;
    Ok(CommandRun {
        exit,
        parsed: parser.finish(),
        events: events.and_then(GoEvents::finish).map(|run| TestReport {
            runner: RunnerKind::Go,
            content: Ok(run),
        }),
    })
}

fn result(
    command: &[String],
    exit: ExitStatus,
    output: OutputLog,
    mut verdict: RunVerdict,
) -> TestResult {
    let (output, output_sha256) = output.finish();
    let counts = verdict.counts;
    let status = match exit.reason {
        ExitReason::Deadline | ExitReason::Stalled => TestStatus::Timeout,
        _ if exit.success() && counts.failed > 0 => TestStatus::Failed,
        _ if exit.success() && (counts.errors > 0 || verdict.has(TestNoteKind::NoTests)) => {
            TestStatus::Error
        }
        _ if exit.success() => TestStatus::Passed,
        // Exit codes of a shell for a program that was not found or cannot be executed.
        _ if matches!(exit.code, 126 | 127) || exit.reason != ExitReason::Exited => {
            TestStatus::Error
        }
        _ if counts.failed == 0 && counts.errors > 0 => TestStatus::Error,
        _ => TestStatus::Failed,
    };
    if let ExitReason::Limit(exceeded) = exit.reason {
        verdict.failures.insert(
            0,
            TestCase {
                name: command.join(" "),
                message: exceeded.to_string(),
            },
        );
    }
    if status != TestStatus::Passed && verdict.failures.is_empty() {
        verdict.failures.push(output_tail(command, &output, exit));
    }
    TestResult {
        command: command.to_vec(),
        status,
        exit_code: (exit.reason == ExitReason::Exited).then_some(exit.code),
        counts,
        failures: verdict.failures,
        cases: verdict.cases,
        notes: verdict.notes,
        duration_ms: milliseconds(exit.duration),
        output,
        output_sha256,
    }
}

/// Returns the result for a failed setup: the tests did not run.
fn setup_failed(setup: &[String], exit: ExitStatus, output: OutputLog) -> TestResult {
    let mut result = result(setup, exit, output, RunVerdict::default());
    if result.status != TestStatus::Timeout {
        result.status = TestStatus::Error;
    }
    result.counts = TestCounts {
        errors: 1,
        total: 1,
        ..TestCounts::default()
    };
    for case in &mut result.failures {
        case.name = format!("setup: {}", case.name);
    }
    result
}

/// Returns the first and the last lines of output that no parser understands.
fn output_tail(command: &[String], output: &str, exit: ExitStatus) -> TestCase {
    let lines: Vec<&str> = output.lines().collect();
    let mut message = if lines.len() > MAX_FIRST_LINES + MAX_LAST_LINES {
        let last = &lines[lines.len() - MAX_LAST_LINES..];
        [&lines[..MAX_FIRST_LINES], &["[…]"], last]
            .concat()
            .join("\n")
    } else {
        lines.join("\n")
    };
    if exit.reason == ExitReason::Deadline {
        message.push_str(&format!(
            "\n[timed out after {} s]",
            exit.duration.as_secs()
        ));
    }
    TestCase {
        name: command.join(" "),
        message: message.trim().to_owned(),
    }
}

fn milliseconds(duration: Duration) -> u64 {
    duration.as_millis().try_into().unwrap_or(u64::MAX)
}
