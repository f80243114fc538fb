//! A change in a monorepo is tested in the projects that it touches.

use std::path::Path;

use windlass_sandbox::{Host, Sandbox};
use windlass_tasks::{Baseline, Check, CheckRequest, TestPlan, TestStatus, Verifier, WorkingCopy};
use windlass_workspace::{Judge, TestRunner, TestSettings};

use super::harness::{Harness, message, put};

const FILES: &[(&str, &str)] = &[
    ("api/requirements.txt", "pytest\n"),
    ("api/api.py", "def add(a, b):\n    return a + b\n"),
    (
        "api/tests/test_api.py",
        "from api import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n",
    ),
    (
        "web/package.json",
        r#"{"name":"web","scripts":{"test":"node --test"}}"#,
    ),
    ("web/sum.js", "exports.sum = (a, b) => a + b;\n"),
    (
        "web/sum.test.js",
        "const test = require('node:test');\nconst assert = require('node:assert');\n\
         const { sum } = require('./sum.js');\ntest('sums', () => assert.strictEqual(sum(1, 2), 3));\n",
    ),
];

const BAD_SUM: &str = "exports.sum = (a, b) => a - b;\n";
const BAD_ADD: &str = "def add(a, b):\n    return a - b\n";

/// A Python project and a node project in one repository.
struct Monorepo {
    harness: Harness,
    clone: Box<dyn WorkingCopy>,
}

impl Monorepo {
    async fn new() -> Self {
        Self::with(&[]).await
    }

    /// Creates the repository with more files.
    async fn with(files: &[(&str, &str)]) -> Self {
        let harness = Harness::new();
        for (name, text) in FILES.iter().chain(files) {
            harness.write(name, text);
        }
        harness.commit("projects");
        let clone = harness.open().await;
        Self { harness, clone }
    }

    /// Returns a judge with real programs: pytest is in a virtual environment.
    async fn judge(&self, command: Option<Vec<String>>) -> Judge {
        let venv =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/matrix/own/python/.venv");
        let venv = venv.canonicalize().unwrap_or_else(|error| {
            panic!("{}: {error}: run `scripts/setup` first", venv.display())
        });
        let path = format!(
            "{}:{}",
            venv.join("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let home = self.harness.path("home").display().to_string();
        let host = Host::new([("HOME", home.as_str()), ("PATH", path.as_str())]);
        let settings = TestSettings {
            command,
            read: vec![venv],
            ..TestSettings::default()
        };
        let tests = TestRunner::new(Sandbox::detect(host).await.unwrap(), settings);
        Judge::new(self.harness.clones().await, tests)
    }

    async fn baseline(&self, judge: &Judge) -> Baseline {
        let TestPlan::Command(command) = judge.plan(self.clone.root()).await.unwrap() else {
            panic!("no tests were detected");
        };
        judge.baseline(&*self.clone, &command).await.unwrap()
    }

    /// Makes a change, and tests it.
    async fn check(&self, judge: &Judge, files: &[(&str, &str)]) -> Check {
        let baseline = self.baseline(judge).await;
        for (name, text) in files {
            put(self.clone.root(), name, text);
        }
        let commit = self.clone.commit(message(1)).await.unwrap();
        let request = CheckRequest {
            commit: &commit,
            command: &baseline.result.command,
            baseline: &baseline,
            edits_tests: false,
        };
        judge.check(&*self.clone, request).await.unwrap()
    }
}

fn projects(check: &Check) -> Option<Vec<&str>> {
    let part = check.part.as_ref()?;
    Some(part.projects.iter().map(String::as_str).collect())
}

fn cases(check: &Check) -> Vec<(String, bool)> {
    let result = &check.own.result;
    let cases = result.cases.as_ref();
    let cases = cases.unwrap_or_else(|| panic!("{:?}\n{}", result.notes, result.output));
    let passed = windlass_tasks::CaseStatus::Passed;
    cases
        .iter()
        .map(|(name, status)| (name.to_owned(), status == passed))
        .collect()
}

#[tokio::test]
async fn real_monorepo_tests_the_touched_project_before_and_after() {
    let repository = Monorepo::new().await;
    let judge = repository.judge(None).await;
    let baseline = repository.baseline(&judge).await;
    let result = &baseline.result;
    assert_eq!(result.status, TestStatus::Passed, "{}", result.output);
    assert_eq!(result.counts.passed, 2, "{}", result.output);
    let dirs: Vec<&str> = baseline.projects.iter().map(|one| &*one.dir).collect();
    assert_eq!(dirs, ["api", "web"]);

    // The mistake in the other project is not the subject of these tests, nor is its runner started.
    let check = repository.check(&judge, &[("web/sum.js", BAD_SUM)]).await;
    assert_eq!(projects(&check), Some(vec!["web"]));
    let own = &check.own.result;
    assert_eq!(own.status, TestStatus::Failed, "{}", own.output);
    assert_eq!(own.command.join(" "), "env --chdir=web npm test");
    assert_eq!(cases(&check), [("sums".to_owned(), false)]);
    let before = &check.baseline(&baseline).result;
    assert_eq!((before.counts.passed, before.counts.total), (1, 1));
    assert_eq!(before.command, own.command);

    let repository = Monorepo::new().await;
    let judge = repository.judge(None).await;
    let check = repository.check(&judge, &[("api/api.py", BAD_ADD)]).await;
    assert_eq!(projects(&check), Some(vec!["api"]));
    assert_eq!(check.own.result.status, TestStatus::Failed);
    let all = cases(&check);
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].0.contains("test_adds") && !all[0].1, "{all:?}");
}

#[tokio::test]
async fn real_monorepo_is_tested_as_a_whole_if_the_change_is_not_in_one_project() {
    let repository = Monorepo::new().await;
    let judge = repository.judge(None).await;
    let whole = repository.baseline(&judge).await.result.command;
    // Both projects.
    let both = [("web/sum.js", BAD_SUM), ("api/api.py", BAD_ADD)];
    let check = repository.check(&judge, &both).await;
    assert_eq!(projects(&check), None);
    assert_eq!(check.own.result.command, whole);
    assert_eq!(check.own.result.counts.failed, 2);

    // A file of no project, which would make the repository another kind of project: the base decides.
    let repository = Monorepo::new().await;
    let judge = repository.judge(None).await;
    let root = [
        ("package.json", r#"{"scripts":{"test":"true"}}"#),
        ("web/sum.js", BAD_SUM),
    ];
    let check = repository.check(&judge, &root).await;
    assert_eq!(projects(&check), None);
    assert_eq!(check.own.result.command, whole);
    assert_eq!(check.own.result.status, TestStatus::Failed);
}

#[tokio::test]
async fn real_monorepo_with_a_configured_command_runs_this_command() {
    let repository = Monorepo::new().await;
    let command = ["sh", "-c", "cd api && python3 -m pytest"].map(str::to_owned);
    let judge = repository.judge(Some(command.to_vec())).await;
    let check = repository.check(&judge, &[("web/sum.js", BAD_SUM)]).await;
    assert_eq!(projects(&check), None);
    assert_eq!(check.own.result.command, command);
    assert_eq!(check.own.result.status, TestStatus::Passed);
}

#[tokio::test]
async fn real_monorepo_tests_projects_that_refer_to_the_touched_one() {
    let shop = [
        ("shop/requirements.txt", "pytest\n-e ../api\n"),
        // The same name as in the other project.
        ("shop/tests/test_api.py", "def test_adds():\n    pass\n"),
    ];
    let repository = Monorepo::with(&shop).await;
    let judge = repository.judge(None).await;
    let harmless = "def add(a, b):\n    return b + a\n";
    let check = repository.check(&judge, &[("api/api.py", harmless)]).await;
    assert_eq!(projects(&check), Some(vec!["api", "shop"]));
    let own = &check.own.result;
    assert_eq!(own.status, TestStatus::Passed, "{}", own.output);
    assert_eq!(own.counts.passed, 2, "{}", own.output);
    assert_eq!(own.notes, []);
    let names = ["api", "shop"].map(|dir| format!("{dir} tests/test_api.py::test_adds"));
    assert_eq!(cases(&check), names.map(|name| (name, true)));
}
