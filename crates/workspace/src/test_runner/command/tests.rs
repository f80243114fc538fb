//! Recognizes commands, and selects cases.

use super::*;

const PACKAGE: &str = r#"{"scripts":{
    "test":"NODE_ENV=test jest --ci",
    "unit":"npm run lint && npm run vitest",
    "lint":"eslint .",
    "vitest":"vitest run",
    "node":"node --test",
    "files":"node --test 'test/**/*.js'",
    "mixed":"jest; exit 0",
    "piped":"jest | tee log",
    "quoted":"mocha \"a b\"",
    "loop":"npm run loop"
}}"#;

fn split(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("package.json"), PACKAGE).unwrap();
    std::fs::create_dir(dir.path().join("tests")).unwrap();
    std::fs::write(dir.path().join("tests/test_a.py"), "").unwrap();
    dir
}

#[test]
fn runner_is_recognized_by_the_command_or_its_script() {
    let dir = project();
    for (command, runner) in [
        ("python3 -m pytest -q", Some(RunnerKind::Pytest)),
        ("uv run --frozen pytest", Some(RunnerKind::Pytest)),
        (
            "/home/me/.venv/bin/python -X dev -m unittest discover",
            Some(RunnerKind::Unittest),
        ),
        (
            "cargo +nightly test --no-fail-fast",
            Some(RunnerKind::Cargo),
        ),
        ("cargo nextest run", Some(RunnerKind::Nextest)),
        ("cargo build", None),
        ("go test -v ./...", Some(RunnerKind::Go)),
        ("go vet ./...", None),
        ("npx jest", Some(RunnerKind::Jest)),
        (
            "node --experimental-vm-modules node_modules/jest/bin/jest.js",
            Some(RunnerKind::Jest),
        ),
        ("node --test", Some(RunnerKind::Node)),
        ("node test.js --test", None),
        ("vitest bench", None),
        ("./mvnw -B verify", Some(RunnerKind::Maven)),
        ("./gradlew test", Some(RunnerKind::Gradle)),
        ("npm test", Some(RunnerKind::Jest)),
        ("pnpm test", Some(RunnerKind::Jest)),
        ("npm run unit", Some(RunnerKind::Vitest)),
        ("npm run node", Some(RunnerKind::Node)),
        ("npm run mixed", None),
        ("npm run piped", None),
        ("npm run loop", None),
        ("npm run missing", None),
        ("yarn run quoted", Some(RunnerKind::Mocha)),
        ("make test", None),
        ("sh -c pytest", None),
        ("env", None),
    ] {
        let invocation = Invocation::new(dir.path(), &split(command));
        assert_eq!(
            invocation.map(|invocation| invocation.runner),
            runner,
            "{command}"
        );
    }
}

#[track_caller]
fn check(command: &str, cases: &[&str], expected: Option<&str>) {
    let dir = project();
    let cases: Vec<String> = cases.iter().map(|case| (*case).to_owned()).collect();
    let selected = select(dir.path(), &split(command), &cases);
    let selected = selected.map(|words| words.join("·"));
    assert_eq!(selected.as_deref(), expected);
}

#[test]
fn cases_are_selected_in_the_way_of_each_runner() {
    check(
        "python3 -m pytest",
        &["tests/test_a.py::test_one[a b]"],
        Some("python3·-m·pytest·tests/test_a.py::test_one[a b]"),
    );
    check(
        "python3 -m pytest",
        &["elsewhere/test_a.py::test_one"],
        None,
    );
    check(
        "python3 -m unittest discover",
        &["test_a (u.T.test_a)"],
        Some("python3·-m·unittest·discover·-k·u.T.test_a"),
    );
    check(
        "cargo test --no-fail-fast",
        &["lab tests::a", "tests/it b"],
        Some("cargo·test·--no-fail-fast·--·--exact·b·tests::a"),
    );
    check(
        "cargo test -- --nocapture",
        &["doc/lab src/lib.rs - add"],
        Some("cargo·test·--·--nocapture·src/lib.rs - add"),
    );
    check(
        "cargo nextest run --profile ci",
        &["lab a::b", "lab::it c"],
        Some("cargo·nextest·run·-E·test(=a::b) | test(=c)·--profile·ci"),
    );
    check("cargo nextest run", &["lab a) | all("], None);
    check(
        "go test ./... -args -x",
        &["lab TestA/sub", "lab/ok TestB"],
        Some("go·test·./...·-count=1·-run=^(TestA|TestB)$·-args·-x"),
    );
}

#[test]
fn cases_are_selected_behind_scripts_and_build_tools() {
    check(
        "npm test",
        &["a.test.js > add > sums (1.5)"],
        Some(r"npm·test·--·--testNamePattern=^(add( > | )sums \(1\.5\))$"),
    );
    check(
        "npm run unit",
        &["a.mjs > x"],
        Some("npm·run·unit·--·--·--testNamePattern=^(x)$"),
    );
    check(
        "mocha",
        &["add > sums #2"],
        Some("mocha·--grep·^(add( > | )sums)$"),
    );
    check(
        "node --test a.js",
        &["add > sums"],
        Some("node·--test-name-pattern=sums·--test·a.js"),
    );
    check(
        "npm run node",
        &["sums"],
        Some("npm·run·node·--·--test-name-pattern=sums"),
    );
    check("npm run files", &["sums"], None);
    // A command that selects cases is still understood.
    check(
        "npm run unit -- -- --x",
        &["a.mjs > x"],
        Some("npm·run·unit·--·--·--x·--testNamePattern=^(x)$"),
    );
    check(
        "mvn -B test",
        &["com.x.AddTest#sums[1]", "com.x.AddTest#zero"],
        Some(
            "mvn·-B·test·-Dtest=com.x.AddTest#sums,com.x.AddTest#zero·-Dsurefire.failIfNoSpecifiedTests=false",
        ),
    );
    check(
        "./gradlew test",
        &["com.x.AddTest#sums()"],
        Some("./gradlew·test·--tests·com.x.AddTest.sums"),
    );
    check("./gradlew build", &["com.x.AddTest#sums()"], None);
    check("make test", &["x"], None);
    check("cargo test", &[], None);
}
