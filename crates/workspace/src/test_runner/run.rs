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
use super::output::OutputLog;
use super::parse::TestOutputParser;
use super::parsed::ParsedRun;
use super::report::{GoEvents, Report, Reports};
use super::runner::Runner;
use super::verdict::{Evidence, Verdict};
use crate::clone::{prepared, readable_dirs};
use crate::error::Result;

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

/// The output of a command and how it ended.
struct CommandRun {
    exit: ExitStatus,
    parsed: Vec<ParsedRun>,
    /// What events in the output say.
    events: Option<Report>,
    output: String,
    output_sha256: String,
}

/// Runs the command, after `setup` if the checkout is not prepared.
pub(super) async fn run(tests: &TestRunner, root: &Path, command: &[String]) -> Result<TestResult> {
    if prepared(root).is_none()
        && let Some(failed) = run_setup(tests, root).await?
    {
        return Ok(failed);
    }
    let caches = BuildCaches::new(tests, root)?;
    let reports = Reports::new(root, command)?;
    let network = tests.settings.network;
    let mut run = run_command(
        tests,
        root,
        &reports.command,
        network,
        &caches,
        Some(&reports),
    )
    .await?;
    let mut evidence = Evidence {
        success: run.exit.success(),
        runner: reports.runner,
        is_requested: reports.is_requested,
        output: std::mem::take(&mut run.parsed),
        reports: reports.read(),
    };
    evidence.reports.extend(run.events.take());
    Ok(result(command, run, Verdict::new(evidence)))
}

/// Runs `setup`, if there is one, with network access. Returns a result only if it failed.
pub(crate) async fn run_setup(tests: &TestRunner, root: &Path) -> Result<Option<TestResult>> {
    let Some(setup) = tests.settings.setup_command() else {
        return Ok(None);
    };
    let caches = BuildCaches::new(tests, root)?;
    let run = run_command(tests, root, setup, true, &caches, None).await?;
    let failed = !run.exit.success();
    Ok(failed.then(|| setup_failed(setup, run)))
}

async fn run_command(
    tests: &TestRunner,
    root: &Path,
    command: &[String],
    network: bool,
    caches: &BuildCaches,
    reports: Option<&Reports>,
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
    read(tests.sandbox.spawn(spec)?, events).await
}

/// Reads the output of a command until it and every process it started have ended.
async fn read(mut child: Child, mut events: Option<GoEvents>) -> Result<CommandRun> {
    let (mut parser, mut output) = (TestOutputParser::new(), OutputLog::default());
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
    let (output, output_sha256) = output.finish();
    Ok(CommandRun {
        exit,
        parsed: parser.finish(),
        events: events.and_then(GoEvents::finish).map(|run| Report {
            runner: Runner::Go,
            content: Ok(run),
        }),
        output,
        output_sha256,
    })
}

fn result(command: &[String], run: CommandRun, mut verdict: Verdict) -> TestResult {
    let exit = run.exit;
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
        verdict
            .failures
            .push(output_tail(command, &run.output, exit));
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
        output: run.output,
        output_sha256: run.output_sha256,
    }
}

/// Returns the result for a failed setup: the tests did not run.
fn setup_failed(setup: &[String], run: CommandRun) -> TestResult {
    let mut result = result(setup, run, Verdict::default());
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
