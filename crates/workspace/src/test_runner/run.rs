//! One test run: profile, environment, caches, deadline.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use windlass_core::DirAccess;
use windlass_sandbox::{Child, CommandSpec, ExitReason, ExitStatus, ProcessLimits, Profile};
use windlass_tasks::{TestCase, TestCounts, TestResult, TestStatus};

use super::TestRunner;
use super::output::OutputLog;
use super::parse::{ParsedOutput, TestOutputParser};
use crate::clone::{cache_dir, shared_object_dirs};
use crate::error::{Error, Result};
use crate::git::small_file;

/// Variables that make tools non-interactive: no colors, no prompts, no watch mode.
const VARIABLES: &[(&str, &str)] = &[
    ("CI", "true"),
    ("NO_COLOR", "1"),
    ("FORCE_COLOR", "0"),
    ("CARGO_TERM_COLOR", "never"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("npm_config_update_notifier", "false"),
    ("GOTOOLCHAIN", "local"),
    ("GOFLAGS", "-modcacherw"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
];

/// Merges both streams in the order of their lines. The arguments of the command stay separate.
const BOTH_STREAMS: &str = r#"exec "$@" 2>&1"#;

/// How many lines of output are reported if no parser understands it.
const MAX_FIRST_LINES: usize = 10;
const MAX_LAST_LINES: usize = 20;

/// The output of a command and how it ended.
struct CommandRun {
    exit: ExitStatus,
    parsed: ParsedOutput,
    output: String,
    output_sha256: String,
}

/// Runs `setup`, if there is one, and then the command.
pub(super) async fn run(tests: &TestRunner, root: &Path, command: &[String]) -> Result<TestResult> {
    let caches = BuildCaches::new(tests, root)?;
    if let Some(setup) = tests
        .settings
        .setup
        .as_ref()
        .filter(|setup| !setup.is_empty())
    {
        let run = run_command(tests, root, setup, true, &caches).await?;
        if !run.exit.success() {
            return Ok(setup_failed(setup, run));
        }
    }
    let run = run_command(tests, root, command, tests.settings.network, &caches).await?;
    Ok(result(command, run))
}

async fn run_command(
    tests: &TestRunner,
    root: &Path,
    command: &[String],
    network: bool,
    caches: &BuildCaches,
) -> Result<CommandRun> {
    // The tests run in a clone, which may be changed freely.
    let mut profile = Profile::test()
        .network(network)
        .access(DirAccess::Repository)
        .write(&caches.dir);
    for path in shared_object_dirs(root).iter().chain(&tests.settings.read) {
        profile = profile.read(path);
    }
    if let Some(program) = command.first() {
        profile = profile.program(program);
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
    if !network {
        spec = spec.env("CARGO_NET_OFFLINE", "true");
    }
    read(tests.sandbox.spawn(spec)?).await
}

/// Reads the output of a command until it and every process it started have ended.
async fn read(mut child: Child) -> Result<CommandRun> {
    let (mut parser, mut output) = (TestOutputParser::new(), OutputLog::default());
    // After a read error there is no more output; the exit status follows below.
    while let Ok(Some(line)) = child.stdout.next().await {
        let text = line.text();
        parser.line(&text);
        output.line(&text);
    }
    let exit = child.wait().await?;
    let (output, output_sha256) = output.finish();
    Ok(CommandRun {
        exit,
        parsed: parser.finish(),
        output,
        output_sha256,
    })
}

fn result(command: &[String], run: CommandRun) -> TestResult {
    let CommandRun {
        exit,
        mut parsed,
        output,
        output_sha256,
    } = run;
    let status = match exit.why {
        ExitReason::Deadline | ExitReason::Stalled => TestStatus::Timeout,
        _ if exit.success() => TestStatus::Passed,
        // Exit codes of a shell for a program that was not found or cannot be executed.
        _ if matches!(exit.code, 126 | 127) || exit.why != ExitReason::Exited => TestStatus::Error,
        _ if parsed.counts.failed == 0 && parsed.counts.errors > 0 => TestStatus::Error,
        _ => TestStatus::Failed,
    };
    if let ExitReason::Limit(exceeded) = exit.why {
        parsed.cases.insert(
            0,
            TestCase {
                name: command.join(" "),
                message: exceeded.to_string(),
            },
        );
    }
    if status != TestStatus::Passed && parsed.cases.is_empty() {
        parsed.cases.push(output_tail(command, &output, exit));
    }
    TestResult {
        command: command.to_vec(),
        status,
        exit_code: (exit.why == ExitReason::Exited).then_some(exit.code),
        counts: parsed.counts,
        failures: parsed.cases,
        duration_ms: milliseconds(exit.duration),
        output,
        output_sha256,
    }
}

/// Returns the result for a failed setup: the tests did not run.
fn setup_failed(setup: &[String], run: CommandRun) -> TestResult {
    let mut result = result(setup, run);
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
    if exit.why == ExitReason::Deadline {
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

/// Directories in which tools store what they build and download. They belong to one attempt, so
/// that no attempt can leave files for another.
struct BuildCaches {
    dir: PathBuf,
    variables: Vec<(&'static str, PathBuf)>,
    _temporary: Option<TempDir>,
}

impl BuildCaches {
    fn new(tests: &TestRunner, root: &Path) -> Result<Self> {
        let (dir, temporary) = match cache_dir(root) {
            Some(dir) => (dir, None),
            None => {
                let temp = TempDir::with_prefix("windlass-tests-");
                let temp = temp.map_err(|error| Error::io(std::env::temp_dir(), &error))?;
                (temp.path().to_owned(), Some(temp))
            }
        };
        let subdir = |name: &str| dir.join(name);
        let mut variables = vec![
            ("GOCACHE", subdir("go-build")),
            ("npm_config_cache", subdir("npm")),
        ];
        let setup = tests.settings.setup.as_deref().unwrap_or_default();
        let fetches = |program: &str| setup.iter().any(|arg| arg.contains(program));
        if !setup.is_empty() {
            variables.extend([
                ("PIP_CACHE_DIR", subdir("pip")),
                ("UV_CACHE_DIR", subdir("uv")),
            ]);
        }
        // The user's own caches are readable and filled; they are replaced only if the setup can
        // fill the new one.
        if fetches("go ") || setup.first().is_some_and(|program| program == "go") {
            variables.push(("GOMODCACHE", subdir("go-mod")));
        }
        if fetches("cargo") {
            variables.push(("CARGO_HOME", subdir("cargo")));
        }
        for (_, path) in &variables {
            std::fs::create_dir_all(path).map_err(|error| Error::io(path, &error))?;
        }
        if fetches("cargo") {
            copy_cargo_settings(tests, &subdir("cargo"))?;
        }
        Ok(Self {
            dir,
            variables,
            _temporary: temporary,
        })
    }
}

/// Copies cargo's settings of the user, which name the registry.
fn copy_cargo_settings(tests: &TestRunner, home: &Path) -> Result<()> {
    let host = tests.sandbox.host();
    let user_home = host
        .variable("CARGO_HOME")
        .map_or_else(|| host.home().join(".cargo"), PathBuf::from);
    if let Some(text) = small_file(&user_home.join("config.toml")) {
        let target = home.join("config.toml");
        std::fs::write(&target, text).map_err(|error| Error::io(&target, &error))?;
    }
    Ok(())
}
