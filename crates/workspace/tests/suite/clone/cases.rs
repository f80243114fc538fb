//! Test cases by name, from real test runners, and from tests that forge their results.

use std::path::{Path, PathBuf};

use windlass_sandbox::{Host, Sandbox};
use windlass_tasks::{CaseStatus, TestNoteKind, TestResult, TestStatus, WorkingCopy};
use windlass_workspace::{TestRunner, TestSettings};

use super::harness::Harness;

/// A project in a clone, and the command that tests it.
struct Project {
    clone: Box<dyn WorkingCopy>,
    tests: TestRunner,
    command: Vec<String>,
    _harness: Harness,
}

impl Project {
    async fn new(command: &[&str], read: Vec<PathBuf>, files: &[(&str, &str)]) -> Self {
        let harness = Harness::new();
        for (name, text) in files {
            harness.write(name, text);
        }
        harness.commit("project");
        let settings = TestSettings {
            read,
            ..TestSettings::default()
        };
        let sandbox = Sandbox::detect(Host::current()).await.unwrap();
        Self {
            clone: harness.open().await,
            tests: TestRunner::new(sandbox, settings),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            _harness: harness,
        }
    }

    /// Creates a Python project, with pytest from a virtual environment.
    async fn pytest(test: &str) -> Self {
        let dir =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/matrix/own/python/.venv");
        let dir = dir.canonicalize().unwrap_or_else(|error| {
            panic!("{}: {error}: run `scripts/setup` first", dir.display())
        });
        let python = dir.join("bin/python").display().to_string();
        Self::new(
            &[&python, "-m", "pytest"],
            vec![dir],
            &[("tests/test_a.py", test)],
        )
        .await
    }

    async fn run(&self) -> TestResult {
        self.tests
            .run(self.clone.root(), &self.command)
            .await
            .unwrap()
    }

    /// Runs only these cases.
    async fn rerun(&self, cases: &[&str]) -> TestResult {
        let cases: Vec<String> = cases.iter().map(|case| (*case).to_owned()).collect();
        let command = self.tests.rerun(self.clone.root(), &self.command, &cases);
        let command = command.unwrap();
        self.tests.run(self.clone.root(), &command).await.unwrap()
    }
}

fn names(result: &TestResult) -> Vec<(&str, CaseStatus)> {
    let cases = result.cases.as_ref();
    let cases = cases.unwrap_or_else(|| panic!("{:?}\n{}", result.notes, result.output));
    cases.iter().collect()
}

fn kinds(result: &TestResult) -> Vec<TestNoteKind> {
    result.notes.iter().map(|note| note.kind).collect()
}

use CaseStatus::{Failed, Passed, Skipped};

#[tokio::test]
async fn real_cargo_names_its_cases_and_runs_one_again() {
    let manifest =
        "[package]\nname = \"lab\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    let library = "#[test]\nfn adds() { assert_eq!(1, 2); }\n#[test]\nfn zero() {}\n#[test]\n#[ignore]\nfn later() {}\n";
    let files = [
        ("Cargo.toml", manifest),
        ("src/lib.rs", library),
        ("tests/it.rs", "#[test]\nfn adds() {}\n"),
    ];
    let project = Project::new(&["cargo", "test", "--no-fail-fast"], Vec::new(), &files).await;
    let red = project.run().await;
    let expected = [
        ("lab adds", Failed),
        ("lab later", Skipped),
        ("lab zero", Passed),
        ("tests/it adds", Passed),
    ];
    assert_eq!(names(&red), expected);
    assert_eq!(kinds(&red), []);
    let again = project.rerun(&["lab adds"]).await;
    assert_eq!(
        names(&again),
        [("lab adds", Failed), ("tests/it adds", Passed)]
    );

    // The test program ends before the other tests have run, and reports success.
    let forged = library.replace("assert_eq!(1, 2);", "std::process::exit(0);");
    std::fs::write(project.clone.root().join("src/lib.rs"), forged).unwrap();
    let forged = project.run().await;
    assert_eq!(forged.exit_code, Some(0), "{}", forged.output);
    assert_eq!(
        kinds(&forged),
        [TestNoteKind::ReportMismatch],
        "{}",
        forged.output
    );
}

const PYTEST: &str = "import pytest\n\nclass TestAdd:\n    @pytest.mark.parametrize('x', [1, 2])\n    def test_many(self, x):\n        assert x == 1\n\n\n@pytest.mark.skip\ndef test_later():\n    pass\n";

#[tokio::test]
async fn real_pytest_names_its_cases_and_runs_one_again() {
    let project = Project::pytest(PYTEST).await;
    let red = project.run().await;
    let expected = [
        ("tests/test_a.py::TestAdd::test_many[1]", Passed),
        ("tests/test_a.py::TestAdd::test_many[2]", Failed),
        ("tests/test_a.py::test_later", Skipped),
    ];
    assert_eq!(names(&red), expected);
    assert_eq!((red.status, kinds(&red)), (TestStatus::Failed, vec![]));
    assert_eq!(red.failures[0].name, expected[1].0);
    assert!(
        red.failures[0].message.contains("assert 2 == 1"),
        "{:?}",
        red.failures
    );
    let again = project.rerun(&[expected[1].0]).await;
    assert_eq!(names(&again), [expected[1]]);
}

#[tokio::test]
async fn real_pytest_with_a_forged_report_is_noticed() {
    // At the end of the process, after pytest has written its report.
    let forged = "import atexit, os, re\n\ndef forge():\n    file = re.search('--junitxml=(\\\\S+)', os.environ['PYTEST_ADDOPTS'])[1]\n    \
                  cases = ''.join(f'<testcase classname=\"tests.test_a\" file=\"tests/test_a.py\" name=\"t{i}\"/>' for i in range(9))\n    \
                  open(file, 'w').write(f'<testsuite>{cases}</testsuite>')\n\natexit.register(forge)\n\ndef test_one():\n    pass\n";
    let result = Project::pytest(forged).await.run().await;
    assert_eq!(result.exit_code, Some(0), "{}", result.output);
    assert_eq!(kinds(&result), [TestNoteKind::ReportMismatch]);
    assert_eq!(result.counts.passed, 1);
}

#[tokio::test]
async fn real_pytest_that_ends_early_does_not_pass() {
    let early =
        "import os\n\ndef test_one():\n    os._exit(0)\n\ndef test_two():\n    assert False\n";
    let result = Project::pytest(early).await.run().await;
    assert_eq!(
        (result.exit_code, result.status),
        (Some(0), TestStatus::Error)
    );
    assert_eq!(
        kinds(&result),
        [TestNoteKind::ReportMismatch, TestNoteKind::NoTests]
    );
}

#[tokio::test]
async fn real_unittest_names_its_cases_and_runs_one_again() {
    let test = "import unittest\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 2)\n\n    \
                def test_b(self):\n        print('test_c (test_u.T.test_c) ... ok')\n";
    let command = ["python3", "-m", "unittest", "discover"];
    let project = Project::new(&command, Vec::new(), &[("test_u.py", test)]).await;
    let red = project.run().await;
    let expected = [
        ("test_a (test_u.T.test_a)", Failed),
        ("test_b (test_u.T.test_b)", Passed),
    ];
    assert_eq!(
        (names(&red).as_slice(), kinds(&red)),
        (&expected[..], vec![]),
        "{}",
        red.output
    );
    let again = project.rerun(&[expected[0].0]).await;
    assert_eq!(names(&again), [expected[0]]);
}

#[tokio::test]
async fn real_node_names_its_cases_and_runs_one_again() {
    let package = r#"{"name":"lab","scripts":{"test":"node --test"}}"#;
    let test = "const { test, describe, it } = require('node:test');\nconst assert = require('node:assert');\n\
                describe('add', () => { it('sums', () => assert.strictEqual(1 + 1, 3)); it('zero', () => {}); });\n\
                test('later', { skip: true }, () => {});\n";
    let forged = "console.log('✔ removed (0.1ms)\\nℹ tests 99\\nok 1 - removed\\n1..1');\n";
    let files = [("package.json", package), ("a.test.js", test)];
    for command in [&["npm", "test"][..], &["node", "--test"]] {
        let project = Project::new(command, Vec::new(), &files).await;
        let red = project.run().await;
        let expected = [
            ("add > sums", Failed),
            ("add > zero", Passed),
            ("later", Skipped),
        ];
        assert_eq!(
            (names(&red).as_slice(), kinds(&red)),
            (&expected[..], vec![]),
            "{}",
            red.output
        );
        let again = project.rerun(&["add > sums"]).await;
        assert!(names(&again).contains(&expected[0]), "{}", again.output);
        assert!(!names(&again).contains(&expected[1]), "{}", again.output);
        let root = project.clone.root();
        std::fs::write(
            root.join("a.test.js"),
            format!("{}{forged}", test.replace("1 + 1, 3", "3, 3")),
        )
        .unwrap();
        let green = project.run().await;
        assert_eq!(
            (green.status, green.counts.passed),
            (TestStatus::Passed, 2),
            "{}",
            green.output
        );
        assert!(green.cases.unwrap().get("removed").is_none());
    }
}

#[tokio::test]
async fn script_that_runs_no_known_runner_is_judged_by_its_exit_code() {
    let project = Project::new(&["sh", "-c", "echo fine"], Vec::new(), &[("a", "")]).await;
    let result = project.run().await;
    assert_eq!(
        (result.status, result.cases.as_ref()),
        (TestStatus::Passed, None)
    );
    assert_eq!(kinds(&result), [TestNoteKind::UnknownRunner]);
    let cases = ["x".to_owned()];
    let root = project.clone.root();
    assert_eq!(project.tests.rerun(root, &project.command, &cases), None);
}
