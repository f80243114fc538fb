//! The set-up of a second checkout compared with the first, with real packages: an npm project with
//! more than 300 packages, and a Python project with a virtual environment.
//!
//! Run with `cargo bench -p windlass-workspace --bench setup`. It downloads the packages.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark panics if it cannot measure, and prints its figures"
)]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::runtime::Runtime;
use windlass_core::Timestamp;
use windlass_sandbox::{Host, Sandbox, init};
use windlass_tasks::{AttemptRef, Project, ProjectId, TaskId, Workspace};
use windlass_workspace::{Clones, Preparation, Source, TestRunner, TestSettings, propose_tests};

const NPM: &[(&str, &str)] = &[
    (
        "package.json",
        r#"{"name":"bench","version":"1.0.0","scripts":{"test":"jest"},
            "devDependencies":{"jest":"29","eslint":"8","typescript":"5"}}"#,
    ),
    ("a.test.js", "test('one', () => {});\n"),
];

const PYTHON: &[(&str, &str)] = &[
    (
        "pyproject.toml",
        "[project]\nname = \"bench\"\nversion = \"1.0.0\"\ndependencies = [\"flask\", \"requests\", \
         \"sqlalchemy\"]\n[project.optional-dependencies]\ntest = [\"pytest\", \"hypothesis\"]\n\
         [build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n\
         [tool.setuptools]\npackages = [\"bench\"]\n",
    ),
    ("bench/__init__.py", ""),
    ("tests/test_a.py", "import bench\ndef test_a(): pass\n"),
];

fn main() {
    init::run_if_invoked();
    let runtime = Runtime::new().unwrap();
    for (name, files) in [("npm", NPM), ("python", PYTHON)] {
        let times = runtime.block_on(measure(files));
        let first = times[0].as_secs_f64();
        for (number, time) in times.iter().enumerate() {
            let (time, ratio) = (time.as_secs_f64(), 100.0 * time.as_secs_f64() / first);
            println!("{name}: checkout {}: {time:.3} s, {ratio:.1} %", number + 1);
        }
    }
}

/// Returns how long it takes to prepare each of four checkouts.
async fn measure(files: &[(&str, &str)]) -> Vec<Duration> {
    let dir = TempDir::with_prefix_in("bench-", env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = dir.path().canonicalize().unwrap().join("project");
    std::fs::create_dir(&root).unwrap();
    for (name, text) in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let user = [
        "-c",
        "user.name=Bench",
        "-c",
        "user.email=bench@example.org",
    ];
    git(&root, &["init", "-q"]);
    git(&root, &["add", "-A"]);
    git(
        &root,
        &[&user[..], &["commit", "-q", "-m", "first"]].concat(),
    );

    let sandbox = Sandbox::detect(Host::current()).await.unwrap();
    let clones = Clones::new(sandbox.clone(), dir.path().join("clones")).unwrap();
    let settings = TestSettings {
        setup: propose_tests(&root).unwrap().setup,
        ..TestSettings::default()
    };
    let tests = TestRunner::new(sandbox, settings).with_setup_store(dir.path().join("setup"));
    let project = Project::new(ProjectId::from(1), "project", root, Timestamp(0));
    let mut times = Vec::new();
    for number in 1..=4 {
        let attempt = AttemptRef {
            task: TaskId::from(1),
            number,
        };
        let clone = clones.open(&project, attempt, None).await.unwrap();
        let start = Instant::now();
        let source = Source::Base(clone.base());
        let preparation = tests.prepare(clone.root(), source).await.unwrap();
        times.push(start.elapsed());
        if let Preparation::Failed(result) = preparation {
            panic!("{}", result.output);
        }
    }
    times
}

fn git(dir: &Path, args: &[&str]) {
    let status = Command::new("git").args(args).current_dir(dir).status();
    assert!(status.unwrap().success(), "git {args:?}");
}
