//! `windlass eval from-history`: makes tasks of past commits. A commit that changed code and tests becomes a task: the
//! agent gets the files before the commit with the tests of the commit, and the tests decide.

use std::path::{Path, PathBuf};

use clap::Args;
use windlass_core::escape_line;
use windlass_sandbox::Sandbox;
use windlass_tasks::{TestStatus, WorkerKind};
use windlass_workspace::{TestRunner, is_test_file};

use super::repository;
use super::suite::{AgentChoice, EvalTask, Suite};
use crate::cli::app::App;
use crate::cli::console::QUIET;
use crate::cli::exit::{CliError, Exit};
use crate::cli::interrupt::Interrupts;
use crate::cli::repository::repository as user_repository;
use crate::cli::task_runtime::test_settings;
use crate::git_history::GitHistory;
use crate::registry;

/// Starts a commit, and ends each of its fields.
const RECORD: char = '\u{1e}';
const FIELD: char = '\u{1f}';
/// A commit with more files is rarely one task.
const MAX_FILES: usize = 20;
/// Maximum length of a description.
const MAX_DESCRIPTION: usize = 4_000;

#[derive(Debug, Args)]
pub(super) struct FromHistory {
    /// How many tasks to make
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=200))]
    tasks: u32,
    /// How many commits to look at, the newest first
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    commits: u32,
    /// Agent to list in the file; NAME or NAME:MODEL (repeatable)
    #[arg(short, long, value_name = "NAME")]
    agent: Vec<AgentChoice>,
    /// Write the file here instead of to stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A commit that may become a task.
#[derive(Debug, PartialEq)]
struct TaskCommit {
    id: String,
    parent: String,
    subject: String,
    body: String,
    tests: Vec<String>,
}

impl FromHistory {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let mut interrupts = Interrupts::listen()?;
        tokio::select! {
            exit = self.make(app) => exit,
            () = interrupts.next() => Ok(Exit::Interrupted),
        }
    }

    async fn make(&self, app: &App<'_>) -> Result<Exit, CliError> {
        let root = user_repository(&app.inputs.cwd)?;
        let config = app.config()?;
        let sandbox = registry::sandbox(config).await.map_err(CliError::failed)?;
        let count = format!("-n{}", self.commits);
        let format = format!("--format={RECORD}%H{FIELD}%P{FIELD}%s{FIELD}%b{FIELD}");
        let log = [
            "-c",
            "core.quotePath=false",
            "log",
            "--no-merges",
            "--no-renames",
            "--name-status",
            &count,
            &format,
        ];
        let log = GitHistory::new(sandbox.clone()).run(&root, &log).await;
        let Some(log) = log else {
            return Err(CliError::failed(
                "git cannot read the history of this repository",
            ));
        };
        let mut tests = TestRunner::new(sandbox.clone(), test_settings(config));
        if let Some(state) = app.inputs.state_dir() {
            tests = tests.with_setup_store(state.join("setup"));
        }
        let checker = Checker {
            sandbox: &sandbox,
            tests,
            root: &root,
        };
        let mut suite = Suite {
            agents: self.agent.clone(),
            repeats: 3,
            tasks: Vec::new(),
        };
        for commit in parse_log(&log) {
            if suite.tasks.len() >= self.tasks as usize {
                break;
            }
            let task = commit.task();
            let problem = checker.problem(app, &task, &commit.id).await?;
            let verdict = problem.as_deref().unwrap_or("a task");
            let line = format!("{} {}: {verdict}", task.name, commit.subject);
            app.console.progress(QUIET, &escape_line(&line));
            if problem.is_none() {
                suite.tasks.push(task);
            }
        }
        if suite.tasks.is_empty() {
            return Err(CliError::failed(format!(
                "none of the last {} commits is a task: it must change code and tests, and the tests must fail before and pass after it",
                self.commits
            )));
        }
        let text = toml::to_string(&suite).map_err(|error| CliError::failed(error.to_string()))?;
        match &self.output {
            Some(path) => std::fs::write(path, text)
                .map_err(|error| CliError::failed(format!("{}: {error}", path.display())))?,
            None => app.console.text(&text)?,
        }
        Ok(Exit::Done)
    }
}

/// Runs the tests before and after a commit.
struct Checker<'a> {
    sandbox: &'a Sandbox,
    tests: TestRunner,
    root: &'a Path,
}

impl Checker<'_> {
    /// Returns why a commit is no task.
    async fn problem(
        &self,
        app: &App<'_>,
        task: &EvalTask,
        commit: &str,
    ) -> Result<Option<String>, CliError> {
        let solved = EvalTask {
            base: Some(commit.to_owned()),
            tests_from: None,
            test_files: Vec::new(),
            ..task.clone()
        };
        if self.status(app, task).await? != TestStatus::Failed {
            return Ok(Some("its tests do not fail without it".to_owned()));
        }
        if self.status(app, &solved).await? != TestStatus::Passed {
            return Ok(Some("its tests do not pass with it".to_owned()));
        }
        Ok(None)
    }

    /// Tests the repository of a task.
    async fn status(&self, app: &App<'_>, task: &EvalTask) -> Result<TestStatus, CliError> {
        let state = app
            .inputs
            .state_dir()
            .ok_or_else(|| CliError::usage("no state directory: set HOME or XDG_STATE_HOME"))?;
        std::fs::create_dir_all(&state)?;
        let dir = tempfile::Builder::new()
            .prefix("eval-")
            .tempdir_in(&state)?;
        let root = repository::create(self.sandbox, dir.path(), task, Some(self.root)).await?;
        let tested = self.tests.verify(&root).await;
        Ok(tested.map_err(windlass_core::Error::from)?.status)
    }
}

impl TaskCommit {
    fn task(&self) -> EvalTask {
        let description = self.body.trim().to_owned();
        let description = windlass_core::cut_middle(description, MAX_DESCRIPTION);
        EvalTask {
            name: self.id.chars().take(10).collect(),
            title: self.subject.clone(),
            description,
            kind: WorkerKind::default(),
            tests: None,
            base: Some(self.parent.clone()),
            tests_from: Some(self.id.clone()),
            test_files: self.tests.clone(),
            files: std::collections::BTreeMap::new(),
        }
    }
}

/// Returns the commits that changed code and tests, in the order of the log.
fn parse_log(log: &str) -> Vec<TaskCommit> {
    log.split(RECORD).filter_map(parse_commit).collect()
}

fn parse_commit(record: &str) -> Option<TaskCommit> {
    let mut fields = record.splitn(5, FIELD);
    let (id, parent) = (fields.next()?, fields.next()?);
    let (subject, body, files) = (fields.next()?, fields.next()?, fields.next()?);
    // The first commit has no parent.
    if parent.is_empty() || parent.contains(' ') || subject.trim().is_empty() {
        return None;
    }
    let changes: Vec<(&str, &str)> = files
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .collect();
    // Git quotes paths with special characters.
    if changes.len() > MAX_FILES || changes.iter().any(|(_, path)| path.starts_with('"')) {
        return None;
    }
    let is_test = |change: &&(&str, &str)| is_test_file(change.1);
    let tests = changes.iter().filter(is_test);
    let tests: Vec<String> = tests
        .filter(|(status, _)| matches!(*status, "A" | "M"))
        .map(|(_, path)| (*path).to_owned())
        .collect();
    let has_code = changes.iter().any(|change| !is_test(&change));
    (has_code && !tests.is_empty()).then(|| TaskCommit {
        id: id.to_owned(),
        parent: parent.to_owned(),
        subject: subject.to_owned(),
        body: body.to_owned(),
        tests,
    })
}

#[cfg(test)]
mod tests {
    use super::{TaskCommit, parse_log};

    #[test]
    fn commits_with_code_and_tests_are_found() {
        let record = |id: &str, parent: &str, files: &str| {
            format!("\u{1e}{id}\u{1f}{parent}\u{1f}Fix it\u{1f}A body\n\u{1f}\n{files}\n")
        };
        let log = [
            record(
                "c4",
                "c3",
                "M\tsrc/a.py\nM\ttests/test_a.py\nD\ttests/test_b.py\n",
            ),
            record("c3", "c2", "M\tsrc/a.py\n"),
            record("c2", "c1", "M\ttests/test_a.py\n"),
            record("c1", "", "A\tsrc/a.py\nA\ttests/test_a.py\n"),
        ];
        let expected = TaskCommit {
            id: "c4".to_owned(),
            parent: "c3".to_owned(),
            subject: "Fix it".to_owned(),
            body: "A body\n".to_owned(),
            tests: vec!["tests/test_a.py".to_owned()],
        };
        assert_eq!(parse_log(&log.concat()), [expected]);
    }
}
