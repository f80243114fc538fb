//! Real test runners, in the profile for tests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::task::{TestResult, TestStatus};
use windlass_core::workspace::{TestPlan, Verifier, WorkingCopy, Workspace};
use windlass_sandbox::{Host, Sandbox};
use windlass_workspace::{TestRunner, TestSettings};

use super::world::{World, attempt, put};

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn shell(script: &str) -> TestSettings {
    TestSettings {
        command: Some(["sh", "-c", script].map(str::to_owned).to_vec()),
        ..TestSettings::default()
    }
}

/// As the person who runs this suite, whose toolchains are real.
async fn real_tests(settings: TestSettings) -> TestRunner {
    TestRunner::new(Sandbox::detect(Host::current()).await.unwrap(), settings)
}

/// A place with these files, in a world of its own.
async fn place_with(world: &World, files: &[(&str, &str)]) -> Box<dyn WorkingCopy> {
    for (name, text) in files {
        world.write(name, text);
    }
    world.commit("project");
    world.open().await
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
async fn real_cargo_red_then_broken_then_green_without_network() {
    let world = World::new();
    let place = place_with(&world, CARGO).await;
    let tests = real_tests(TestSettings::default()).await;
    let red = tests.verify(place.root()).await.unwrap();
    assert_eq!(
        summary(&red),
        (TestStatus::Failed, 1, 1, 0),
        "{}",
        red.output
    );
    assert_eq!(red.failures[0].name, "adds");
    assert!(
        red.failures[0].message.contains("left: -1"),
        "{:?}",
        red.failures
    );
    let library = place.root().join("src/lib.rs");
    let text = std::fs::read_to_string(&library).unwrap();
    std::fs::write(&library, text.replace("a - b", "a + c")).unwrap();
    let broken = tests.verify(place.root()).await.unwrap();
    assert_eq!(
        summary(&broken),
        (TestStatus::Error, 0, 0, 1),
        "{}",
        broken.output
    );
    assert!(broken.failures[0].name.contains("cannot find value `c`"));
    std::fs::write(&library, text.replace("a - b", "a + b")).unwrap();
    let green = tests.verify(place.root()).await.unwrap();
    assert_eq!(
        summary(&green),
        (TestStatus::Passed, 2, 0, 0),
        "{}",
        green.output
    );
    let change = place.change().await.unwrap();
    assert_eq!(change.files, ["Cargo.lock", "src/lib.rs"]);
}

#[tokio::test]
async fn real_pytest_in_a_virtual_environment() {
    let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/matrix/own/python/.venv");
    let environment = cache
        .canonicalize()
        .unwrap_or_else(|error| panic!("{}: {error}: run `scripts/setup` first", cache.display()));
    let world = World::new();
    let test = "def test_one():\n    assert 1 + 1 == 3\n\n\ndef test_two():\n    pass\n";
    let place = place_with(&world, &[("tests/test_a.py", test)]).await;
    let python = environment.join("bin/python").display().to_string();
    let settings = TestSettings {
        command: Some(vec![python, "-m".into(), "pytest".into()]),
        read: vec![environment],
        ..TestSettings::default()
    };
    let red = real_tests(settings)
        .await
        .verify(place.root())
        .await
        .unwrap();
    assert_eq!(
        summary(&red),
        (TestStatus::Failed, 1, 1, 0),
        "{}",
        red.output
    );
    assert_eq!(red.failures[0].name, "tests/test_a.py::test_one");
    assert!(place.change().await.unwrap().is_empty());
}

#[tokio::test]
async fn real_npm_with_nodes_own_runner() {
    let world = World::new();
    let package = r#"{"name":"lab","scripts":{"test":"node --test"}}"#;
    let test = "const test = require('node:test');\nconst assert = require('node:assert');\n\
                test('sums', () => assert.strictEqual(1 + 1, 3));\ntest('zero', () => {});\n";
    let place = place_with(&world, &[("package.json", package), ("a.test.js", test)]).await;
    let tests = real_tests(TestSettings::default()).await;
    assert_eq!(
        tests.plan_in(place.root()),
        TestPlan::Command(words("npm test"))
    );
    let red = tests.verify(place.root()).await.unwrap();
    assert_eq!(
        summary(&red),
        (TestStatus::Failed, 1, 1, 0),
        "{}",
        red.output
    );
    assert_eq!(red.failures[0].name, "sums");
}

#[tokio::test]
async fn a_change_does_not_choose_its_own_judge() {
    let world = World::new();
    let place = place_with(
        &world,
        &[("tests/test_a.py", "def test_a(): assert False\n")],
    )
    .await;
    let tests = TestRunner::new(world.sandbox().await, TestSettings::default());
    let judge = TestPlan::Command(words("python3 -m pytest"));
    assert_eq!(tests.plan(place.root()).await.unwrap(), judge);
    put(place.root(), "Cargo.toml", "[package]\n");
    assert_eq!(tests.plan(place.root()).await.unwrap(), judge);

    // Where nothing was known before, what the change brings counts.
    let world = World::new();
    let place = world.open().await;
    assert_eq!(tests.plan(place.root()).await.unwrap(), TestPlan::Unknown);
    assert!(tests.verify(place.root()).await.is_err());
    put(place.root(), "go.mod", "module x\n");
    assert_eq!(
        tests.plan_in(place.root()),
        TestPlan::Command(words("go test -v ./..."))
    );
}

#[tokio::test]
async fn p5_a_run_that_does_not_end_is_ended_with_all_it_started() {
    let world = World::new();
    let place = world.open().await;
    let settings = TestSettings {
        timeout: Duration::from_secs(1),
        ..shell("echo begun; setsid sleep 8471 & sleep 8471")
    };
    let tests = TestRunner::new(world.sandbox().await, settings);
    let result = tests.verify(place.root()).await.unwrap();
    assert_eq!(
        (result.status, result.exit_code),
        (TestStatus::Timeout, None)
    );
    assert!(result.output.starts_with("begun\n"), "{}", result.output);
    assert!(result.failures[0].message.contains("not ended after"));
    let is_left = |folder: std::fs::DirEntry| {
        let line = std::fs::read(folder.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("sleep\u{0}8471")
    };
    assert!(!std::fs::read_dir("/proc").unwrap().flatten().any(is_left));
}

#[tokio::test]
async fn p12_a_flood_is_hashed_in_full_and_kept_at_both_ends() {
    let world = World::new();
    let place = world.open().await;
    let settings = shell("seq 1 200000; echo 2 passed, 0 failed");
    let tests = TestRunner::new(world.sandbox().await, settings);
    let first = tests.verify(place.root()).await.unwrap();
    assert_eq!(first.status, TestStatus::Passed);
    assert_eq!(first.counts.passed, 2);
    assert!(first.output.starts_with("1\n2\n") && first.output.len() < (1 << 20) + 100);
    assert!(first.output.contains("bytes cut"));
    let again = tests.verify(place.root()).await.unwrap();
    assert_eq!(first.output_sha256, again.output_sha256);
}

#[tokio::test]
async fn a_command_that_is_not_there_and_one_that_says_nothing() {
    let world = World::new();
    let place = world.open().await;
    let sandbox = world.sandbox().await;
    let missing = TestSettings {
        command: Some(vec!["no-such-runner".into()]),
        ..TestSettings::default()
    };
    let result = TestRunner::new(sandbox.clone(), missing)
        .verify(place.root())
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
    let result = TestRunner::new(sandbox, shell("echo last words >&2; exit 3"))
        .verify(place.root())
        .await
        .unwrap();
    assert_eq!(
        (result.status, result.exit_code),
        (TestStatus::Failed, Some(3))
    );
    assert_eq!(result.failures[0].message, "last words");
}

#[tokio::test]
async fn setup_comes_first_with_network_and_its_failure_is_told() {
    let world = World::new();
    let place = world.open().await;
    let sandbox = world.sandbox().await;
    // Without network there is no interface but the loopback.
    let links = "grep -c : /proc/net/dev";
    let setup = format!("mkdir -p node_modules && {links} > node_modules/links");
    let settings = TestSettings {
        setup: Some(["sh", "-c", &setup].map(str::to_owned).to_vec()),
        ..shell(&format!(
            "test $({links}) -lt $(cat node_modules/links) && echo 1 passed"
        ))
    };
    let result = TestRunner::new(sandbox.clone(), settings.clone())
        .verify(place.root())
        .await
        .unwrap();
    assert_eq!(result.status, TestStatus::Passed, "{}", result.output);
    let broken = TestSettings {
        setup: Some(
            words("sh -c exit\u{a0}4")
                .into_iter()
                .map(|word| word.replace('\u{a0}', " "))
                .collect(),
        ),
        ..settings
    };
    let result = TestRunner::new(sandbox, broken)
        .verify(place.root())
        .await
        .unwrap();
    assert_eq!(
        (result.status, result.exit_code),
        (TestStatus::Error, Some(4))
    );
    assert!(result.failures[0].name.starts_with("setup: "));
}

#[tokio::test]
async fn p16_tests_see_the_history_of_their_clone_and_not_the_rest_of_the_home_folder() {
    let world = World::new();
    // The repository lies in the home folder, as repositories do.
    let home: PathBuf = world.at("home");
    let inside = home.join("project");
    std::fs::rename(world.root(), &inside).unwrap();
    put(&home, "diary.txt", "secret\n");
    let project = windlass_core::task::Project {
        root: inside,
        ..world.project()
    };
    let place = world
        .clones()
        .await
        .open(&project, attempt(1))
        .await
        .unwrap();
    assert_eq!(windlass_workspace::readable_dirs(place.root()).len(), 1);
    let script = format!("git log --format=%s && ! cat {}/diary.txt", home.display());
    let result = TestRunner::new(world.sandbox().await, shell(&script))
        .verify(place.root())
        .await
        .unwrap();
    assert_eq!(result.status, TestStatus::Passed, "{}", result.output);
    assert!(result.output.starts_with("first\n"), "{}", result.output);
}
