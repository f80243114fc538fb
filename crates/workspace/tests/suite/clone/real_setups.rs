//! Set-ups with the real package managers, which download packages.

use windlass_sandbox::{Host, Sandbox};
use windlass_tasks::{TestStatus, Workspace};
use windlass_workspace::{
    Preparation, Source, TestRunner, TestSettings, propose_tests, readable_dirs,
};

use super::harness::{Harness, attempt};

/// Prepares two clones with the detected set-up, runs the tests in both, and returns the outputs.
async fn outputs_of_two(files: &[(&str, &str)]) -> [String; 2] {
    let harness = Harness::new();
    for (name, text) in files {
        harness.write(name, text);
    }
    harness.commit("project");
    let proposal = propose_tests(&harness.root()).unwrap();
    let settings = TestSettings {
        setup: proposal.setup,
        ..TestSettings::default()
    };
    let sandbox = Sandbox::detect(Host::current()).await.unwrap();
    let tests = TestRunner::new(sandbox, settings).with_setup_store(harness.path("setup"));
    let clones = harness.clones().await;
    let mut outputs = Vec::new();
    let mut keys = Vec::new();
    for number in [1, 2] {
        let clone = clones
            .open(&harness.project(), attempt(number), None)
            .await
            .unwrap();
        let source = Source::Base(clone.base());
        match tests.prepare(clone.root(), source).await.unwrap() {
            Preparation::Ready(prepared) => keys.push(prepared.key),
            Preparation::Failed(result) => panic!("{}", result.output),
        }
        assert_eq!(readable_dirs(clone.root()).len(), 3);
        let result = tests.run(clone.root(), &proposal.command).await.unwrap();
        assert_eq!(result.status, TestStatus::Passed, "{}", result.output);
        assert!(clone.change().await.unwrap().is_empty());
        let root = clone.root().display().to_string();
        assert!(result.output.contains(&root), "{}", result.output);
        outputs.push(result.output.replace(&root, "ROOT"));
    }
    assert_eq!(keys[0], keys[1]);
    outputs.try_into().unwrap()
}

#[tokio::test]
#[ignore = "full: downloads packages of the npm registry"]
async fn npm_packages_are_shared() {
    let package = r#"{"name":"lab","version":"1.0.0","scripts":{"test":"node --test a.test.js"},
        "dependencies":{"is-odd":"3.0.1","@sindresorhus/is":"4.6.0"}}"#;
    let test = "const test = require('node:test');\nconst assert = require('node:assert');\n\
                test('odd', () => assert(require('is-odd')(3)));\n\
                test('scope', () => assert(require('@sindresorhus/is').default.string('a')));\n\
                console.log(__dirname);\n";
    outputs_of_two(&[("package.json", package), ("a.test.js", test)]).await;
}

#[tokio::test]
#[ignore = "full: downloads packages of the Python package index"]
async fn python_environment_is_shared_and_the_project_is_the_one_of_the_checkout() {
    let project = "[project]\nname = \"lab\"\nversion = \"1.0.0\"\ndependencies = [\"six\"]\n\
        [project.optional-dependencies]\ntest = [\"pytest\"]\n\
        [build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n\
        [tool.setuptools.packages.find]\nwhere = [\"src\"]\n";
    let test = "import lab, six, sys\n\n\ndef test_a():\n    assert lab.__file__.startswith(sys.path[0][:1])\n\n\n\
                def test_place(capsys):\n    with capsys.disabled():\n        print(lab.__file__, sys.prefix)\n";
    let files = [
        ("pyproject.toml", project),
        ("src/lab/__init__.py", "ONE = 1\n"),
        ("tests/test_a.py", test),
    ];
    for output in outputs_of_two(&files).await {
        let place = "ROOT/src/lab/__init__.py ROOT/.venv";
        assert!(output.contains(place), "{output}");
    }
}
