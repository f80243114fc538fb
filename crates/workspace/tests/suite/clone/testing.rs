//! Real test runners, in the profile for tests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_sandbox::{Host, Sandbox};
use windlass_tasks::{TestPlan, TestResult, TestStatus, WorkingCopy, Workspace};
use windlass_workspace::{TestRunner, TestSettings};

use super::harness::{Harness, attempt, put};

fn split(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn shell(script: &str) -> TestSettings {
    TestSettings {
        command: Some(["sh", "-c", script].map(str::to_owned).to_vec()),
        ..TestSettings::default()
    }
}

/// Creates a test runner for the current user, with real toolchains.
async fn real_tests(settings: TestSettings) -> TestRunner {
    TestRunner::new(Sandbox::detect(Host::current()).await.unwrap(), settings)
}

/// Opens a clone of a project with these files.
async fn clone_with(harness: &Harness, files: &[(&str, &str)]) -> Box<dyn WorkingCopy> {
    for (name, text) in files {
        harness.write(name, text);
    }
    harness.commit("project");
    harness.open().await
}

fn summary(result: &TestResult) -> (TestStatus, u64, u64, u64) {
    let counts = result.counts;
    (result.status, counts.passed, counts.failed, counts.errors)
}

const CARGO: &[(&str, &str)] = &[
    (
        "Cargo.toml",
        "[package]\nname = \"lab\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    ),
    (
        "src/lib.rs",
        "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n#[test]\nfn zero() {\n    assert_eq!(add(0, 0), 0);\n}\n",
    ),
];

#[tokio::test]
async fn real_cargo_failing_then_broken_then_passing_without_network() {
    let harness = Harness::new();
    let clone = clone_with(&harness, CARGO).await;
    let tests = real_tests(TestSettings::default()).await;
    let red = tests.verify(clone.root()).await.unwrap();
    assert_eq!(
        summary(&red),
        (TestStatus::Failed, 1, 1, 0),
        "{}",
        red.output
    );
    assert_eq!(red.failures[0].name, "lab adds");
    assert!(
        red.failures[0].message.contains("left: -1"),
        "{:?}",
        red.failures
    );
    let library = clone.root().join("src/lib.rs");
    let text = std::fs::read_to_string(&library).unwrap();
    std::fs::write(&library, text.replace("a - b", "a + c")).unwrap();
    let broken = tests.verify(clone.root()).await.unwrap();
    assert_eq!(
        summary(&broken),
        (TestStatus::Error, 0, 0, 1),
        "{}",
        broken.output
    );
    assert!(broken.failures[0].name.contains("cannot find value `c`"));
    std::fs::write(&library, text.replace("a - b", "a + b")).unwrap();
    let green = tests.verify(clone.root()).await.unwrap();
    assert_eq!(
        summary(&green),
        (TestStatus::Passed, 2, 0, 0),
        "{}",
        green.output
    );
    let change = clone.change().await.unwrap();
    assert_eq!(change.files, ["Cargo.lock", "src/lib.rs"]);
}

#[tokio::test]
async fn real_pytest_in_a_virtual_environment() {
    let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/matrix/own/python/.venv");
    let environment = cache
        .canonicalize()
        .unwrap_or_else(|error| panic!("{}: {error}: run `scripts/setup` first", cache.display()));
    let harness = Harness::new();
    let test = "def test_one():\n    assert 1 + 1 == 3\n\n\ndef test_two():\n    pass\n";
    let clone = clone_with(&harness, &[("tests/test_a.py", test)]).await;
    let python = environment.join("bin/python").display().to_string();
    let settings = TestSettings {
        command: Some(vec![python, "-m".into(), "pytest".into()]),
        read: vec![environment],
        ..TestSettings::default()
    };
    let red = real_tests(settings)
        .await
        .verify(clone.root())
        .await
        .unwrap();
    assert_eq!(
        summary(&red),
        (TestStatus::Failed, 1, 1, 0),
        "{}",
        red.output
    );
    assert_eq!(red.failures[0].name, "tests/test_a.py::test_one");
    assert!(clone.change().await.unwrap().is_empty());
}

#[tokio::test]
async fn real_npm_with_nodes_own_runner() {
    let harness = Harness::new();
    let package = r#"{"name":"lab","scripts":{"test":"node --test"}}"#;
    let test = "const test = require('node:test');\nconst assert = require('node:assert');\n\
                test('sums', () => assert.strictEqual(1 + 1, 3));\ntest('zero', () => {});\n";
    let clone = clone_with(&harness, &[("package.json", package), ("a.test.js", test)]).await;
    let tests = real_tests(TestSettings::default()).await;
    assert_eq!(
        tests.plan_in(clone.root()),
        TestPlan::Command(split("npm test"))
    );
    let red = tests.verify(clone.root()).await.unwrap();
    assert_eq!(
        summary(&red),
        (TestStatus::Failed, 1, 1, 0),
        "{}",
        red.output
    );
    assert_eq!(red.failures[0].name, "sums");
}

#[tokio::test]
async fn change_cannot_replace_its_test_command() {
    let harness = Harness::new();
    let clone = clone_with(
        &harness,
        &[("tests/test_a.py", "def test_a(): assert False\n")],
    )
    .await;
    let tests = TestRunner::new(harness.sandbox().await, TestSettings::default());
    let test_plan = TestPlan::Command(split("python3 -m pytest"));
    assert_eq!(tests.plan_in(clone.root()), test_plan);
    put(clone.root(), "Cargo.toml", "[package]\n");
    assert_eq!(tests.plan_in(clone.root()), test_plan);

    // If nothing was known before, the files of the change count.
    let harness = Harness::new();
    let clone = harness.open().await;
    assert_eq!(tests.plan_in(clone.root()), TestPlan::Unknown);
    assert!(tests.verify(clone.root()).await.is_err());
    put(clone.root(), "go.mod", "module x\n");
    assert_eq!(
        tests.plan_in(clone.root()),
        TestPlan::Command(split("go test -v ./..."))
    );
}

#[tokio::test]
async fn p5_timed_out_run_is_killed_with_its_processes() {
    let harness = Harness::new();
    let clone = harness.open().await;
    let settings = TestSettings {
        timeout: Duration::from_secs(1),
        ..shell("echo started; setsid sleep 8471 & sleep 8471")
    };
    let tests = TestRunner::new(harness.sandbox().await, settings);
    let result = tests.verify(clone.root()).await.unwrap();
    assert_eq!(
        (result.status, result.exit_code),
        (TestStatus::Timeout, None)
    );
    assert!(result.output.starts_with("started\n"), "{}", result.output);
    assert!(result.failures[0].message.contains("timed out after"));
    let is_left = |entry: std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("sleep\u{0}8471")
    };
    assert!(!std::fs::read_dir("/proc").unwrap().flatten().any(is_left));
}

#[tokio::test]
async fn p12_long_output_is_hashed_completely_and_truncated() {
    let harness = Harness::new();
    let clone = harness.open().await;
    let settings = shell("seq 1 200000; echo 2 passed, 0 failed");
    let tests = TestRunner::new(harness.sandbox().await, settings);
    let first = tests.verify(clone.root()).await.unwrap();
    assert_eq!(first.status, TestStatus::Passed);
    assert_eq!(first.counts.passed, 2);
    assert!(first.output.starts_with("1\n2\n") && first.output.len() < (1 << 20) + 100);
    assert!(first.output.contains("bytes cut"));
    let again = tests.verify(clone.root()).await.unwrap();
    assert_eq!(first.output_sha256, again.output_sha256);
}

#[tokio::test]
async fn missing_command_and_unparsable_output_are_reported() {
    let harness = Harness::new();
    let clone = harness.open().await;
    let sandbox = harness.sandbox().await;
    let missing = TestSettings {
        command: Some(vec!["no-such-runner".into()]),
        ..TestSettings::default()
    };
    let result = TestRunner::new(sandbox.clone(), missing)
        .verify(clone.root())
        .await
        .unwrap();
    assert_eq!(
        (result.status, result.exit_code),
        (TestStatus::Error, Some(127))
    );
    assert!(
        result.failures[0].message.contains("not found"),
        "{result:?}"
    );
    let result = TestRunner::new(sandbox, shell("echo error text >&2; exit 3"))
        .verify(clone.root())
        .await
        .unwrap();
    assert_eq!(
        (result.status, result.exit_code),
        (TestStatus::Failed, Some(3))
    );
    assert_eq!(result.failures[0].message, "error text");
}

#[tokio::test]
async fn setup_runs_first_with_network_and_its_failure_is_reported() {
    let harness = Harness::new();
    let clone = harness.open().await;
    let sandbox = harness.sandbox().await;
    // Without network access, the loopback is the only interface.
    let links = "grep -c : /proc/net/dev";
    let setup = format!("mkdir -p node_modules && {links} > node_modules/links");
    let settings = TestSettings {
        setup: Some(["sh", "-c", &setup].map(str::to_owned).to_vec()),
        ..shell(&format!(
            "test $({links}) -lt $(cat node_modules/links) && echo 1 passed"
        ))
    };
    let result = TestRunner::new(sandbox.clone(), settings.clone())
        .verify(clone.root())
        .await
        .unwrap();
    assert_eq!(result.status, TestStatus::Passed, "{}", result.output);
    let broken = TestSettings {
        setup: Some(
            split("sh -c exit\u{a0}4")
                .into_iter()
                .map(|arg| arg.replace('\u{a0}', " "))
                .collect(),
        ),
        ..settings
    };
    let result = TestRunner::new(sandbox, broken)
        .verify(clone.root())
        .await
        .unwrap();
    assert_eq!(
        (result.status, result.exit_code),
        (TestStatus::Error, Some(4))
    );
    assert!(result.failures[0].name.starts_with("setup: "));
}

#[tokio::test]
async fn p16_tests_see_history_but_not_the_home_directory() {
    let harness = Harness::new();
    // The repository is in the home directory, as usual.
    let home: PathBuf = harness.path("home");
    let inside = home.join("project");
    std::fs::rename(harness.root(), &inside).unwrap();
    put(&home, "diary.txt", "secret\n");
    let project = windlass_tasks::Project {
        root: inside,
        ..harness.project()
    };
    let clone = harness
        .clones()
        .await
        .open(&project, attempt(1), None)
        .await
        .unwrap();
    assert_eq!(windlass_workspace::readable_dirs(clone.root()).len(), 1);
    let script = format!("git log --format=%s && ! cat {}/diary.txt", home.display());
    let result = TestRunner::new(harness.sandbox().await, shell(&script))
        .verify(clone.root())
        .await
        .unwrap();
    assert_eq!(result.status, TestStatus::Passed, "{}", result.output);
    assert!(result.output.starts_with("first\n"), "{}", result.output);
}
