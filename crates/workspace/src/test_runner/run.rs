//! One run of the tests: profile, environment, caches, deadline.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use windlass_core::task::{TestCase, TestCounts, TestResult, TestStatus};
use windlass_sandbox::{Child, CommandSpec, ExitReason, ExitStatus, ProcessLimits, Profile};

use super::TestRunner;
use super::output::OutputLog;
use super::parse::{ParsedOutput, TestOutputParser};
use crate::clone::{cache_dir, shared_object_dirs};
use crate::error::{Error, Result};
use crate::git::small_file;

/// What makes tools behave as nobody watches: no colours, no questions, no watching for changes.
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

/// Both streams as one, in the order of their lines. The words of the command stay words.
const BOTH_STREAMS: &str = r#"exec "$@" 2>&1"#;

/// How much is told of an output that no reader understands.
const FIRST_LINES: usize = 10;
const LAST_LINES: usize = 20;

/// What one command printed and how it ended.
struct CommandRun {
    exit: ExitStatus,
    found: ParsedOutput,
    output: String,
    output_sha256: String,
}

/// Runs `setup`, where there is one, and the command.
pub(super) async fn run(tests: &TestRunner, root: &Path, command: &[String]) -> Result<TestResult> {
    let caches = BuildCaches::new(tests, root)?;
    if let Some(setup) = tests
        .settings
        .setup
        .as_ref()
        .filter(|setup| !setup.is_empty())
    {
        let ran = run_command(tests, root, setup, true, &caches).await?;
        if !ran.exit.success() {
            return Ok(setup_failed(setup, ran));
        }
    }
    let ran = run_command(tests, root, command, tests.settings.network, &caches).await?;
    Ok(result(command, ran))
}

async fn run_command(
    tests: &TestRunner,
    root: &Path,
    command: &[String],
    network: bool,
    caches: &BuildCaches,
) -> Result<CommandRun> {
    let mut profile = Profile::test().network(network).write(&caches.folder);
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
    for (name, folder) in &caches.variables {
        spec = spec.env(name, folder);
    }
    if !network {
        spec = spec.env("CARGO_NET_OFFLINE", "true");
    }
    read(tests.sandbox.spawn(spec)?).await
}

/// Reads everything a command prints, until it and all it started have ended.
async fn read(mut child: Child) -> Result<CommandRun> {
    let (mut reader, mut output) = (TestOutputParser::new(), OutputLog::default());
    // A pipe that breaks has nothing more to say; how the command ended is asked for below.
    while let Ok(Some(line)) = child.stdout.next().await {
        let text = line.text();
        reader.line(&text);
        output.line(&text);
    }
    let exit = child.wait().await?;
    let (output, output_sha256) = output.finish();
    Ok(CommandRun {
        exit,
        found: reader.finish(),
        output,
        output_sha256,
    })
}

fn result(command: &[String], ran: CommandRun) -> TestResult {
    let CommandRun {
        exit,
        mut found,
        output,
        output_sha256,
    } = ran;
    let status = match exit.why {
        ExitReason::Deadline | ExitReason::Stalled => TestStatus::Timeout,
        _ if exit.success() => TestStatus::Passed,
        // A shell's words for: no such program, and not one that can be run.
        _ if matches!(exit.code, 126 | 127) || exit.why != ExitReason::Exited => TestStatus::Error,
        _ if found.counts.failed == 0 && found.counts.errors > 0 => TestStatus::Error,
        _ => TestStatus::Failed,
    };
    if status != TestStatus::Passed && found.cases.is_empty() {
        found.cases.push(output_tail(command, &output, exit));
    }
    TestResult {
        command: command.to_vec(),
        status,
        exit_code: (exit.why == ExitReason::Exited).then_some(exit.code),
        counts: found.counts,
        failures: found.cases,
        duration_ms: milliseconds(exit.duration),
        output,
        output_sha256,
    }
}

/// The setup failed, so there was nothing to test.
fn setup_failed(setup: &[String], ran: CommandRun) -> TestResult {
    let mut result = result(setup, ran);
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

/// Where no reader understands what failed, the first and the last lines must tell.
fn output_tail(command: &[String], output: &str, exit: ExitStatus) -> TestCase {
    let lines: Vec<&str> = output.lines().collect();
    let mut message = if lines.len() > FIRST_LINES + LAST_LINES {
        let last = &lines[lines.len() - LAST_LINES..];
        [&lines[..FIRST_LINES], &["[…]"], last].concat().join("\n")
    } else {
        lines.join("\n")
    };
    if exit.why == ExitReason::Deadline {
        message.push_str(&format!(
            "\n[not ended after {} s]",
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

/// Where tools keep what they build and fetch: a folder of this attempt's own, so that no attempt can leave anything for
/// another.
struct BuildCaches {
    folder: PathBuf,
    variables: Vec<(&'static str, PathBuf)>,
    _temporary: Option<TempDir>,
}

impl BuildCaches {
    fn new(tests: &TestRunner, root: &Path) -> Result<Self> {
        let (folder, temporary) = match cache_dir(root) {
            Some(folder) => (folder, None),
            None => {
                let made = TempDir::with_prefix("windlass-tests-");
                let made = made.map_err(|error| Error::io(std::env::temp_dir(), &error))?;
                (made.path().to_owned(), Some(made))
            }
        };
        let at = |name: &str| folder.join(name);
        let mut variables = vec![("GOCACHE", at("go-build")), ("npm_config_cache", at("npm"))];
        let setup = tests.settings.setup.as_deref().unwrap_or_default();
        let fetches = |program: &str| setup.iter().any(|word| word.contains(program));
        if !setup.is_empty() {
            variables.extend([("PIP_CACHE_DIR", at("pip")), ("UV_CACHE_DIR", at("uv"))]);
        }
        // The user's own are readable and full; they are given up only for one that can be filled.
        if fetches("go ") || setup.first().is_some_and(|program| program == "go") {
            variables.push(("GOMODCACHE", at("go-mod")));
        }
        if fetches("cargo") {
            variables.push(("CARGO_HOME", at("cargo")));
        }
        for (_, path) in &variables {
            std::fs::create_dir_all(path).map_err(|error| Error::io(path, &error))?;
        }
        if fetches("cargo") {
            copy_cargo_settings(tests, &at("cargo"))?;
        }
        Ok(Self {
            folder,
            variables,
            _temporary: temporary,
        })
    }
}

/// Which registry to use stands in the user's settings of cargo.
fn copy_cargo_settings(tests: &TestRunner, home: &Path) -> Result<()> {
    let host = tests.sandbox.host();
    let theirs = host
        .variable("CARGO_HOME")
        .map_or_else(|| host.home().join(".cargo"), PathBuf::from);
    if let Some(text) = small_file(&theirs.join("config.toml")) {
        let target = home.join("config.toml");
        std::fs::write(&target, text).map_err(|error| Error::io(&target, &error))?;
    }
    Ok(())
}
