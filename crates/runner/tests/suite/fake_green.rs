//! Changes that try to look green, and honest changes, each a file in `tests/fake_green`.
//!
//! A trick is refused, or completed with a warning that names it. An honest change is completed without a
//! warning. Everything but the agent is real: the repository, the checkouts, the test runners, the store.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use tempfile::TempDir;
use windlass_core::{AgentHandle, SystemClock};
use windlass_runner::{Bus, HeldLeases, ResultStatus, Runner, RunnerSettings, StopSignals};
use windlass_sandbox::{Host, Sandbox};
use windlass_tasks::{NewProject, NewTask, ProjectId, Task, TaskStore, WarningKind, WorkerKind};
use windlass_workspace::{Clones, Judge, TestRunner, TestSettings};

use super::editing_agent::EditingAgent;
use super::real::git;
use super::sim::repo::SimContext;

/// A project, as its file describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectFile {
    command: Vec<String>,
    write: BTreeMap<String, String>,
}

/// A change, as its file describes it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ChangeFile {
    project: String,
    /// A part of the question with which a trick is refused.
    refused: Option<String>,
    /// The warnings that a trick must have, at least.
    warnings: Vec<String>,
    edits_tests: bool,
    delete: Vec<String>,
    write: BTreeMap<String, String>,
    link: BTreeMap<String, String>,
    /// Files of this many bytes.
    large: BTreeMap<String, usize>,
}

impl ChangeFile {
    /// Makes the change in a directory.
    fn apply(&self, root: &Path) {
        for path in &self.delete {
            fs::remove_file(root.join(path)).unwrap();
        }
        for (path, text) in &self.write {
            put(root, path, text);
        }
        for (path, target) in &self.link {
            symlink(target, root.join(path)).unwrap();
        }
        for (path, size) in &self.large {
            put(root, path, &"x".repeat(*size));
        }
    }
}

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn data_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_green")
}

/// Reads all changes of a kind for a project, with their names.
fn changes(kind: &str, project: &str) -> Vec<(String, ChangeFile)> {
    let entries = fs::read_dir(data_dir().join(kind)).unwrap();
    let mut all: Vec<(String, ChangeFile)> = entries
        .map(|entry| {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let change = toml::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, change)
        })
        .filter(|(_, change): &(String, ChangeFile)| change.project == project)
        .collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all
}

/// A project with a store and a runner whose agent makes a given change.
struct Bench {
    store: Arc<dyn TaskStore>,
    runner: Runner,
    project: ProjectId,
    /// What the agent does next.
    change: Arc<Mutex<ChangeFile>>,
    _dir: TempDir,
}

impl Bench {
    async fn new(project: &str) -> Self {
        let dir = TempDir::with_prefix_in("fake-green-", env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = dir.path().canonicalize().unwrap();
        let file = data_dir().join(format!("projects/{project}.toml"));
        let file: ProjectFile = toml::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let (root, home) = (path.join("project"), path.join("home"));
        fs::create_dir(&home).unwrap();
        for (name, text) in &file.write {
            put(&root, name, text);
        }
        git(&root, &home, &["init", "-q", "-b", "main"]);
        git(&root, &home, &["add", "-A"]);
        let user = ["-c", "user.name=u", "-c", "user.email=u@localhost"];
        let commit = [&user[..], &["commit", "-q", "-m", "first"]].concat();
        git(&root, &home, &commit);

        let sandbox = Sandbox::detect(Host::current())
            .await
            .unwrap_or_else(|error| panic!("{error}: run `cargo build -p windlass-sandbox` first"));
        let clones = Clones::new(sandbox.clone(), path.join("clones")).unwrap();
        let tests = TestRunner::new(sandbox, settings(file.command));
        let url = format!("sqlite:{}", path.join("state/windlass.db").display());
        let store = windlass_store::open(&url).await.unwrap();
        let change: Arc<Mutex<ChangeFile>> = Arc::default();
        let next = Arc::clone(&change);
        let agent = AgentHandle::wrap(EditingAgent(move |root: &Path| {
            next.lock().unwrap().apply(root);
            "done".to_owned()
        }));
        let runner = Runner {
            store: Arc::clone(&store),
            workspace: Arc::new(clones.clone()),
            verifier: Arc::new(Judge::new(clones, tests)),
            context: Arc::new(SimContext),
            agents: Arc::new(move |_: Option<&str>, _: WorkerKind| Ok(agent.clone())),
            clock: Arc::new(SystemClock::new()),
            bus: Bus::disabled(),
            settings: RunnerSettings {
                rounds: 0,
                ..RunnerSettings::default()
            },
            leases: HeldLeases::default(),
        };
        let name = project.to_owned();
        let project = store.add_project(NewProject { name, root }).await.unwrap();
        Self {
            store,
            runner,
            project: project.id,
            change,
            _dir: dir,
        }
    }

    /// Lets the agent make a change, and returns the task, the output of its attempt and the warnings.
    async fn run(&self, change: &ChangeFile) -> (Task, String, Vec<String>) {
        *self.change.lock().unwrap() = change.clone();
        let task = NewTask {
            edits_tests: change.edits_tests,
            ..NewTask::new(self.project, "change it")
        };
        let task = self.store.enqueue(vec![task]).await.unwrap().remove(0).task;
        let signals = StopSignals::default();
        let result = self.runner.execute_task(&task, signals).await.unwrap();
        let is_expected = [ResultStatus::Completed, ResultStatus::Blocked].contains(&result.status);
        assert!(is_expected, "{result:?}");
        let proof = self.store.proof(task.id).await.unwrap();
        let warnings = proof.into_iter().flat_map(|proof| proof.warnings);
        let warnings = warnings.map(|warning| warning.to_string()).collect();
        let task = self.store.task(task.id).await.unwrap();
        (task, result.output, warnings)
    }
}

fn settings(command: Vec<String>) -> TestSettings {
    let is_python = command.first().is_some_and(|program| program == "PYTHON");
    if !is_python {
        return TestSettings {
            command: Some(command),
            ..TestSettings::default()
        };
    }
    let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/matrix/own/python/.venv");
    let environment = cache
        .canonicalize()
        .unwrap_or_else(|error| panic!("{}: {error}: run `scripts/setup` first", cache.display()));
    let python = environment.join("bin/python").display().to_string();
    TestSettings {
        command: Some([&[python], &command[1..]].concat()),
        read: vec![environment],
        ..TestSettings::default()
    }
}

/// Runs all tricks for a project, and reports every one that is not caught.
async fn check_tricks(project: &str) {
    let bench = Bench::new(project).await;
    let mut missed = Vec::new();
    for (name, trick) in changes("tricks", project) {
        let (task, output, warnings) = bench.run(&trick).await;
        let has = |kind: &String| {
            warnings
                .iter()
                .any(|text| text.starts_with(&format!("{kind}: ")))
        };
        let is_caught = match (&trick.refused, trick.warnings.as_slice()) {
            (None, [_, ..]) => task.needs_review && trick.warnings.iter().all(has),
            (part, _) => {
                let part = part.clone().unwrap_or_default();
                task.branch.is_none() && output.contains(&part)
            }
        };
        if !is_caught {
            missed.push(format!("{name}: {} {warnings:#?} {output}", task.status));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}

/// Runs all honest changes of a project, and reports every one that has a warning or is refused.
async fn check_honest(project: &str) {
    let bench = Bench::new(project).await;
    let mut alarms = Vec::new();
    for (name, change) in changes("honest", project) {
        let (task, output, warnings) = bench.run(&change).await;
        if task.branch.is_none() || !warnings.is_empty() {
            alarms.push(format!("{name}: {} {warnings:#?} {output}", task.status));
        }
    }
    assert!(alarms.is_empty(), "{}", alarms.join("\n\n"));
}

#[tokio::test]
async fn shell_tricks_are_caught() {
    check_tricks("shell").await;
}

#[tokio::test]
async fn honest_shell_changes_have_no_warning() {
    check_honest("shell").await;
}

mod real {
    use super::*;

    #[tokio::test]
    async fn pytest_tricks_are_caught() {
        check_tricks("python").await;
    }

    #[tokio::test]
    async fn node_tricks_are_caught() {
        check_tricks("node").await;
    }

    #[tokio::test]
    async fn cargo_tricks_are_caught() {
        check_tricks("cargo").await;
    }

    #[tokio::test]
    async fn honest_pytest_changes_have_no_warning() {
        check_honest("python").await;
    }

    #[tokio::test]
    async fn honest_node_changes_have_no_warning() {
        check_honest("node").await;
    }

    #[tokio::test]
    async fn honest_cargo_changes_have_no_warning() {
        check_honest("cargo").await;
    }
}

#[test]
fn suite_is_large_enough_and_names_known_warnings() {
    let all = |kind: &str| -> Vec<(String, ChangeFile)> {
        let projects = ["python", "node", "cargo", "shell"];
        projects
            .iter()
            .flat_map(|project| changes(kind, project))
            .collect()
    };
    let tricks = all("tricks");
    assert!(tricks.len() >= 25 && all("honest").len() >= 25);
    for (name, trick) in tricks {
        for kind in trick.warnings {
            let known: WarningKind = serde_json::from_value(kind.clone().into()).unwrap();
            assert_eq!(known.as_str(), kind, "{name}");
        }
    }
}
