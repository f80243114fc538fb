//! `windlass scenario from-task`: makes a scenario of a recorded attempt at a task. It has the files before the attempt, the
//! prompts, the model's answers as a script, and the tree that the agent must reach again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use windlass_cassette::{Cassette, Interaction, Normalizer, Substitutions};
use windlass_core::AgentEvent;
use windlass_sandbox::Sandbox;
use windlass_scripted::Script;
use windlass_tasks::{Attempt, AttemptNumber, AttemptRef, Task, TaskId};
use windlass_testkit::scenario::{
    EventMatcher, FollowUp, FollowUpSession, Scenario, ScenarioAssertions, ScenarioSetup,
};

use crate::cli::app::App;
use crate::cli::console::QUIET;
use crate::cli::exit::{CliError, Exit};
use crate::cli::new_repository::{self, NewGit};
use crate::cli::queue::ProjectQueue;
use crate::cli::{masking, recordings, remote};
use crate::git_history::GitHistory;
use crate::registry;

/// The shortest time limit of a turn.
const MIN_TIMEOUT: Duration = Duration::from_secs(60);
/// How many times longer than the recorded turn a turn may take.
const TIMEOUT_FACTOR: u32 = 3;

#[derive(Debug, Args)]
pub(super) struct FromTask {
    /// Task number
    id: TaskId,
    /// Attempt to repeat (default: the last one)
    #[arg(long, value_name = "NUMBER")]
    attempt: Option<AttemptNumber>,
    /// Directory for the scenario and its files
    #[arg(short, long, value_name = "DIR", default_value = "scenarios")]
    output: PathBuf,
    /// Overwrite existing files
    #[arg(long)]
    force: bool,
}

impl FromTask {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let task = queue.store.task(self.id).await?;
        let number = self.attempt.unwrap_or(task.attempt);
        let at = AttemptRef {
            task: task.id,
            number,
        };
        if number == 0 {
            return Err(CliError::usage(format!(
                "task {} was not attempted yet: run a worker with --record",
                task.id
            )));
        }
        let attempts = queue.store.attempts(task.id).await?;
        let start = start_commit(&attempts, &task, number)?;
        let Some(cassette) = recordings::read(app, &queue, at)? else {
            return Err(CliError::usage(format!(
                "attempt {number} of task {} was not recorded on this machine: run the worker with --record",
                task.id
            )));
        };
        let end = match attempts.into_iter().find(|one| one.number == number) {
            Some(Attempt {
                commit: Some(commit),
                ..
            }) => commit,
            // The change of a completed task is stored shortly after its proof. Without both, nothing changed.
            _ => match queue.store.proof_of(at).await? {
                Some(proof) => proof.commit,
                None => start.clone(),
            },
        };
        let root = remote::root_of(&*queue.store, &task).await?;
        let sandbox = registry::sandbox(app.config()?).await;
        let sandbox = sandbox.map_err(CliError::failed)?;
        let name = format!("task-{}", task.id);
        let bundle = format!("{name}.bundle");
        let files = [format!("{name}.json"), bundle.clone()];
        self.check_output(&files)?;
        let scenario = Scenario {
            setup: Some(ScenarioSetup {
                repository: Some(bundle.clone()),
                ..ScenarioSetup::default()
            }),
            assertions: Some(ScenarioAssertions {
                tree: Some(tree(&sandbox, &root, &end).await?),
                ..ScenarioAssertions::default()
            }),
            ..recorded_scenario(&cassette, &name, &task)?
        };
        let secrets = masking::secret_substitutions(&app.inputs, &queue.config);
        let scenario = normalized(&scenario, &cassette, secrets)?;
        let text = serde_json::to_string_pretty(&scenario)
            .map_err(|error| CliError::failed(error.to_string()))?;
        write_bundle(&sandbox, &root, &start, &self.output.join(&bundle)).await?;
        let file = self.output.join(&files[0]);
        std::fs::write(&file, text + "\n").map_err(|error| failed(&file, error))?;
        app.console.line(&file.display().to_string())?;
        let hint = hint(&file, &task, &scenario);
        app.console.progress(QUIET, &hint);
        Ok(Exit::Done)
    }

    /// Creates the directory. Existing files are replaced only on request.
    fn check_output(&self, files: &[String]) -> Result<(), CliError> {
        std::fs::create_dir_all(&self.output).map_err(|error| failed(&self.output, error))?;
        let existing = files.iter().map(|file| self.output.join(file));
        match existing.into_iter().find(|file| file.exists()) {
            Some(file) if !self.force => Err(CliError::usage(format!(
                "{} already exists: choose another directory, or pass --force to replace it",
                file.display()
            ))),
            _ => Ok(()),
        }
    }
}

/// Says what the scenario has, and how to run it.
fn hint(file: &Path, task: &Task, scenario: &Scenario) -> String {
    let agent = task.agent.as_deref();
    let agent = agent.map_or_else(String::new, |agent| format!(" -a {agent}"));
    let script = scenario.script.as_ref();
    let mut file = file.display().to_string();
    if file.contains(char::is_whitespace) {
        file = format!("'{file}'");
    }
    format!(
        "{} and {}; repeat it with windlass scenario run {file}{agent}",
        counted(scenario.then.len() + 1, "prompt"),
        counted(script.map_or(0, |script| script.turns.len()), "model call"),
    )
}

/// Returns the commit with the files that an attempt started from: its base, or the change of the attempt before.
fn start_commit(
    attempts: &[Attempt],
    task: &Task,
    number: AttemptNumber,
) -> Result<String, CliError> {
    let id = task.id;
    let refused = |why: &str| CliError::usage(format!("attempt {number} of task {id} {why}"));
    let attempt = attempts.iter().find(|one| one.number == number);
    let Some(attempt) = attempt else {
        return Err(CliError::usage(format!(
            "task {id} has no attempt {number}"
        )));
    };
    if attempt.outcome.is_none() {
        return Err(refused("has not ended yet"));
    }
    let Some(base) = &attempt.base else {
        return Err(refused("ended before it had files"));
    };
    if task.merges {
        return Err(refused(
            "started with conflicts, which a scenario cannot have",
        ));
    }
    let mut earlier = attempts.iter().rev().filter(|one| one.number < number);
    match earlier.find_map(|one| Some((one.base.as_ref(), one.commit.as_ref()?))) {
        None => Ok(base.clone()),
        Some((earlier_base, commit)) if earlier_base == Some(base) => Ok(commit.clone()),
        Some(_) => Err(refused(
            "continued a change on another base: choose an earlier one with --attempt",
        )),
    }
}

/// Returns the scenario of a recording, without its files.
fn recorded_scenario(cassette: &Cassette, name: &str, task: &Task) -> Result<Scenario, CliError> {
    let script = Script::from_exchanges(cassette.exchanges());
    let script = script.map_err(|error| CliError::failed(error.to_string()))?;
    if script.turns.is_empty() {
        return Err(CliError::usage(
            "no model call was recorded: the agent does not call its model through Windlass (docs/bridge.md)",
        ));
    }
    let mut prompts = prompts(cassette)?;
    let first = prompts.remove(0);
    Ok(Scenario {
        name: name.to_owned(),
        description: Some(task.title.clone()),
        setup: None,
        prompt: first.prompt,
        expected_events: first.expected_events,
        then: prompts,
        cancel_on: None,
        assertions: None,
        not_for: Default::default(),
        timeout_ms: Some(timeout_ms(cassette)),
        script: Some(script),
    })
}

/// Replaces the agent's directory and secrets in what prompts and answers say. This is done here and not in the recording,
/// because a stream splits them.
fn normalized(
    scenario: &Scenario,
    cassette: &Cassette,
    secrets: Substitutions,
) -> Result<Scenario, CliError> {
    let dirs = cassette.interactions();
    let dirs = dirs.filter_map(|turn| turn.options.cwd.as_ref());
    let substitutions = dirs.fold(secrets, Substitutions::workspace);
    let mut normalizer = Normalizer::new(&substitutions).keeping_ids();
    let failed = |error: serde_json::Error| CliError::failed(error.to_string());
    let mut value = serde_json::to_value(scenario).map_err(failed)?;
    normalizer.normalize_value(&mut value);
    serde_json::from_value(value).map_err(failed)
}

/// Returns the prompts of the turns that edited files, at least one. Structured calls, such as a choice, edit none.
fn prompts(cassette: &Cassette) -> Result<Vec<FollowUp>, CliError> {
    let mut prompts = Vec::new();
    let mut session = None;
    let turns = cassette.interactions();
    for turn in turns.filter(|turn| turn.options.output_schema.is_none()) {
        let number = prompts.len() + 1;
        if turn.resumed && session.is_none() {
            return Err(CliError::usage(
                "the attempt continued a session of an earlier one: choose that one with --attempt",
            ));
        }
        if turn.cut.is_some() {
            return Err(CliError::usage(format!(
                "turn {number} was interrupted, so it cannot be repeated"
            )));
        }
        let is_same = session.replace(last_session(turn)) == Some(turn.session.to_string());
        prompts.push(FollowUp {
            prompt: turn.prompt.clone(),
            session: if is_same || number == 1 {
                FollowUpSession::Same
            } else {
                FollowUpSession::New
            },
            expected_events: vec![end_of(turn)],
        });
    }
    if prompts.is_empty() {
        return Err(CliError::usage(
            "no turn of the agent was recorded that edits files itself",
        ));
    }
    Ok(prompts)
}

/// Returns the session after a turn.
fn last_session(turn: &Interaction) -> String {
    let changed = turn
        .events
        .iter()
        .rev()
        .find_map(|timed| match &timed.event {
            AgentEvent::SessionChanged { new_session_id } => Some(new_session_id.clone()),
            _ => None,
        });
    changed.unwrap_or_else(|| turn.session.to_string())
}

/// Returns how a turn must end: as it did.
fn end_of(turn: &Interaction) -> EventMatcher {
    match turn.events.last().map(|timed| &timed.event) {
        Some(AgentEvent::Error { code, .. }) => EventMatcher::Error { code: Some(*code) },
        Some(AgentEvent::SessionInvalid { .. }) => EventMatcher::Error { code: None },
        _ => EventMatcher::Result {
            contains: String::new(),
        },
    }
}

fn timeout_ms(cassette: &Cassette) -> u64 {
    let ends = cassette.interactions();
    let ends = ends.filter_map(|turn| turn.events.last().map(|last| last.at));
    let longest = ends.max().unwrap_or_default();
    let timeout = longest.saturating_mul(TIMEOUT_FACTOR).max(MIN_TIMEOUT);
    u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the id of the tree of a commit.
async fn tree(sandbox: &Sandbox, root: &Path, commit: &str) -> Result<String, CliError> {
    let tree = format!("{commit}^{{tree}}");
    let args = ["rev-parse", "--verify", "--quiet", &tree];
    let found = GitHistory::new(sandbox.clone()).run(root, &args).await;
    match found {
        Some(tree) => Ok(tree.trim().to_owned()),
        None => Err(CliError::failed(format!(
            "commit {commit} is not in this repository any more"
        ))),
    }
}

/// Writes the files of a commit as a bundle with a single commit, without the history.
async fn write_bundle(
    sandbox: &Sandbox,
    root: &Path,
    commit: &str,
    file: &Path,
) -> Result<(), CliError> {
    let parent = tempfile::Builder::new().prefix("scenario-").tempdir()?;
    let objects = new_repository::objects_dir(sandbox, root).await?;
    let git = NewGit {
        sandbox,
        parent: parent.path(),
        name: "new",
        objects: Some(&objects),
    };
    std::fs::create_dir(parent.path().join(git.name))?;
    git.init().await?;
    git.run(&["read-tree", commit]).await?;
    git.commit("Begin").await?;
    git.run(&["bundle", "create", "--quiet", "../bundle", "main"])
        .await?;
    std::fs::copy(parent.path().join("bundle"), file).map_err(|error| failed(file, error))?;
    Ok(())
}

/// Formats a number with a noun, such as `1 prompt` or `2 prompts`.
fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

fn failed(path: &Path, error: std::io::Error) -> CliError {
    CliError::failed(format!("{}: {error}", path.display()))
}
