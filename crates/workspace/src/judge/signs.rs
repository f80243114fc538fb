//! Signs in a change that tests are weakened or deceived. They are reasons for a review, not proofs.

use windlass_tasks::{Warning, WarningKind};

use super::files::ChangedFile;
use super::overlay::is_code;
use super::roles::FileRole;

/// Maximum number of warnings of one kind.
const MAX_WARNINGS: usize = 20;

/// Code that changes how a test runner collects, runs or reports tests.
const TAMPERING: &[&str] = &[
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "pytest_runtest_call",
    "pytest_pyfunc_call",
    "pytest_report_teststatus",
    "pytest_collection_modifyitems",
    "pytest_ignore_collect",
    "pytest_sessionfinish",
    "collect_ignore",
    "AssertionRewritingHook",
    "PYTEST_DONT_REWRITE",
    "builtins.AssertionError",
    "AssertionError =",
    "TestCase.assert",
    "TestCase.fail",
    "TestCase.run =",
    "assert.equal =",
    ".strictEqual =",
    ".deepEqual =",
    ".deepStrictEqual =",
    "assert.ok =",
    "process.exitCode = 0",
    "panic::set_hook",
    "testFailureIgnore",
    "maven.test.skip",
    "skipTests",
    "ignoreFailures",
];

/// Code in a test file that ends the test process before the tests do.
const EXITS: &[&str] = &[
    "os._exit(",
    "sys.exit(0",
    "raise SystemExit",
    "process.exit(0",
    "process.reallyExit",
    "process::exit(0",
    "os.Exit(0",
    "System.exit(0",
];

/// Code outside tests that behaves differently under test.
const DETECTION: &[&str] = &[
    "PYTEST_CURRENT_TEST",
    "\"pytest\" in sys.modules",
    "'pytest' in sys.modules",
    "\"unittest\" in sys.modules",
    "'unittest' in sys.modules",
    "JEST_WORKER_ID",
    "VITEST_WORKER_ID",
    "NODE_TEST_CONTEXT",
    "process.env.VITEST",
    "=== 'test'",
    "=== \"test\"",
    "cfg!(test)",
    "testing.Testing()",
];

/// Files that run something, or that programs trust, once they are checked out.
const RISKY_FILES: &[&str] = &[
    ".envrc",
    ".gitattributes",
    ".gitmodules",
    ".gitlab-ci.yml",
    ".mcp.json",
    ".pre-commit-config.yaml",
    "azure-pipelines.yml",
    "Jenkinsfile",
    "lefthook.yml",
    "windlass.toml",
];
const RISKY_DIRS: &[&str] = &[
    ".husky/",
    ".githooks/",
    ".github/workflows/",
    ".circleci/",
    ".claude/",
    ".codex/",
    ".cursor/",
    ".devcontainer/",
    ".vscode/",
    ".idea/",
];

/// Returns the warnings that the files of a change give a reviewer.
pub(super) fn warnings(files: &[ChangedFile], edits_tests: bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut add = |kind: WarningKind, details: Vec<String>| {
        let details = details.into_iter().take(MAX_WARNINGS);
        warnings.extend(details.map(|detail| Warning::new(kind, detail)));
    };
    let find = |what: fn(&ChangedFile) -> Vec<String>| files.iter().flat_map(what).collect();
    if !edits_tests {
        add(WarningKind::ChangedRunner, find(runner_change));
    }
    add(WarningKind::TestTampering, find(tampering));
    add(WarningKind::DetectsTests, find(detection));
    add(WarningKind::RiskyFiles, find(risk));
    add(WarningKind::Other, find(unread));
    warnings
}

fn runner_change(file: &ChangedFile) -> Vec<String> {
    let path = file.path();
    let texts = file.base.as_deref().zip(file.new.as_deref());
    let what = match (file.role, texts) {
        (FileRole::Runner, _) if file.is_added() => "adds",
        (FileRole::Runner | FileRole::Targets, _) if file.is_deleted() => "deletes",
        (FileRole::Runner, _) => "changes",
        (FileRole::Targets, Some((base, new))) if !only_adds_targets(base, new) => "changes",
        (FileRole::Manifest, Some((base, new)))
            if super::manifest::with_base_settings(path, base, new).is_some() =>
        {
            return vec![format!("{path}: changes how the tests are run")];
        }
        _ => return Vec::new(),
    };
    vec![format!(
        "{what} {path}, which decides how the tests are run"
    )]
}

/// Returns `true` if a build file keeps all its lines, and the new ones only add other targets.
fn only_adds_targets(base: &str, new: &str) -> bool {
    let mut left = base.lines().peekable();
    let mut added = Vec::new();
    for line in new.lines() {
        if left.peek() == Some(&line) {
            left.next();
        } else {
            added.push(line);
        }
    }
    let old_targets: Vec<&str> = base.lines().filter_map(target).collect();
    left.peek().is_none()
        && added.iter().all(|line| match target(line) {
            Some(name) => !old_targets.contains(&name) && !name.starts_with('.'),
            None => line.trim().is_empty() || line.starts_with(['\t', ' ', '#']),
        })
        && added
            .first()
            .is_none_or(|line| !line.starts_with(['\t', ' ']))
}

/// Returns the name of the target that a line defines.
fn target(line: &str) -> Option<&str> {
    if line.starts_with(['\t', ' ', '#']) || line.contains('=') {
        return None;
    }
    Some(line.split_once(':')?.0.trim())
}

fn tampering(file: &ChangedFile) -> Vec<String> {
    let lines = file.added_lines();
    let mut found = mentions(file.path(), &lines, TAMPERING);
    if file.role == FileRole::Test {
        found.extend(mentions(file.path(), &lines, EXITS));
    }
    if is_equal_to_everything(&lines) {
        found.push(format!(
            "{}: adds an object that equals every other",
            file.path()
        ));
    }
    found
}

fn detection(file: &ChangedFile) -> Vec<String> {
    if matches!(file.role, FileRole::Test | FileRole::Runner) || !is_code(file.path()) {
        return Vec::new();
    }
    mentions(file.path(), &file.added_lines(), DETECTION)
}

fn mentions(path: &str, lines: &[&str], texts: &[&str]) -> Vec<String> {
    let found = texts
        .iter()
        .filter(|text| lines.iter().any(|line| line.contains(**text)));
    found.map(|text| format!("{path}: adds `{text}`")).collect()
}

/// Returns `true` if an added comparison always succeeds.
fn is_equal_to_everything(lines: &[&str]) -> bool {
    let is_comparison = |line: &str| line.starts_with("def __eq__") || line.contains("__eq__ = ");
    let always = |line: &str| line.ends_with("return True") || line.ends_with(": True");
    let mut pairs = lines.windows(2);
    lines.iter().any(|line| is_comparison(line) && always(line))
        || pairs.any(|pair| is_comparison(pair[0]) && always(pair[1]))
}

fn risk(file: &ChangedFile) -> Vec<String> {
    let path = file.path();
    let name = path.rsplit('/').next().unwrap_or(path);
    if file.is_deleted() {
        return Vec::new();
    }
    if file.is_link() {
        let is_risk = leaves(path, file.new.as_deref().unwrap_or_default());
        let text = || format!("{path}: a link out of the repository");
        return is_risk.then(text).into_iter().collect();
    }
    let mut found = Vec::new();
    let is_sample = [".example", ".sample", ".template", ".dist"]
        .iter()
        .any(|end| name.ends_with(end));
    let is_env = (name == ".env" || name.starts_with(".env.")) && !is_sample;
    let in_dir = |dir: &&str| path.starts_with(*dir) || path.contains(&format!("/{dir}"));
    if RISKY_FILES.contains(&name) || is_env || RISKY_DIRS.iter().any(in_dir) {
        found.push(format!("{path}: runs or is trusted once it is checked out"));
    }
    if name == "package.json" && changes_install_script(file) {
        found.push(format!(
            "{path}: changes what runs when the package is installed"
        ));
    }
    found
}

fn changes_install_script(file: &ChangedFile) -> bool {
    let scripts = |text: &Option<String>| -> Vec<serde_json::Value> {
        let text = text.as_deref().unwrap_or_default();
        let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        ["preinstall", "install", "postinstall", "prepare"]
            .iter()
            .map(|name| value["scripts"][*name].clone())
            .collect()
    };
    scripts(&file.base) != scripts(&file.new)
}

/// Returns `true` if a link at `path` leads out of the repository.
fn leaves(path: &str, target: &str) -> bool {
    let mut depth = path.matches('/').count();
    if target.starts_with('/') {
        return true;
    }
    for part in target.split('/') {
        match part {
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            "" | "." => {}
            _ => depth += 1,
        }
    }
    false
}

/// Code that is too large to be searched.
fn unread(file: &ChangedFile) -> Vec<String> {
    let is_hidden = file.is_unread() && is_code(file.path()) && file.path().contains('.');
    let text = || format!("{}: too large to be searched", file.path());
    is_hidden.then(text).into_iter().collect()
}
