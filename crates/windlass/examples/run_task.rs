//! Runs a whole task: an agent edits a private clone, the tests run, and the change becomes a branch with a proof.
//!
//! Run it with `cargo run -p windlass --example run_task`. It needs git and sh. A scripted agent replaces a real
//! one; everything else is what `windlass task` uses.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use windlass_core::AgentHandle;
use windlass_index::CodebaseContext;
use windlass_runner::{ResultStatus, Runner, StopSignals};
use windlass_sandbox::{CommandSpec, Host, Profile, Sandbox, init};
use windlass_scripted::Script;
use windlass_tasks::{NewProject, NewTask, WorkerKind};
use windlass_testkit::ScriptedAgent;
use windlass_workspace::{Clones, Judge, TestRunner, TestSettings};

const PROGRAM: &str = "echo \"Hello, $1!\"\n";
const TEST: &str = "test \"$(sh greet.sh)\" = 'Hello, world!'\n";

/// What the agent does in its turn: it edits the file, then reports.
const SCRIPT: &str = r#"{ "turns": [
  { "answer": [{ "edit_file": { "path": "greet.sh", "old": "$1", "new": "${1:-world}" } }] },
  { "answer": [{ "text": "greet.sh greets the world if no name is given." }] }
] }"#;

fn main() -> anyhow::Result<()> {
    // A program that uses the sandbox is also its init process. In that case this call does not return.
    init::run_if_invoked();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> anyhow::Result<()> {
    // Not in the system's temporary directory: each sandboxed process has its own.
    let program = std::env::current_exe()?;
    let base = program.parent().context("the program has no directory")?;
    let dir = tempfile::tempdir_in(base)?;
    let sandbox = Sandbox::detect(Host::current()).await?;
    create_repository(&sandbox, dir.path()).await?;

    // The queue: a database, a project and a task.
    let url = format!("sqlite:{}", dir.path().join("tasks.db").display());
    let store = windlass_store::open(&url).await?;
    let project = NewProject {
        name: "hello".to_owned(),
        root: dir.path().join("hello"),
    };
    let project = store.add_project(project).await?;
    let task = NewTask::new(project.id, "Greet the world if no name is given");
    let added = store.enqueue(vec![task]).await?;
    let task = &added.first().context("the task was not added")?.task;

    // The runner: where attempts work, how they are tested, and which agent runs them.
    let tests = TestSettings {
        command: Some(vec!["sh".to_owned(), "test.sh".to_owned()]),
        ..TestSettings::default()
    };
    let agent = AgentHandle::wrap(ScriptedAgent::new(Script::parse(SCRIPT, "script")?));
    let clones = Clones::new(sandbox.clone(), dir.path().join("clones"))?;
    let runner = Runner::new(
        Arc::clone(&store),
        Arc::new(clones.clone()),
        Arc::new(Judge::new(clones.clone(), TestRunner::new(sandbox, tests))),
        Arc::new(CodebaseContext::without_cache()),
        Arc::new(move |_: Option<&str>, _: WorkerKind| Ok(agent.clone())),
    );
    let result = runner.execute_task(task, StopSignals::default()).await?;
    ensure!(result.status == ResultStatus::Completed, "{result:?}");

    // The checkout is unchanged. The change is a branch, and the store has its proof.
    let proof = store.proof(task.id).await?.context("there is no proof")?;
    let diff = clones.diff(&project.root, Some(&proof.base), &proof.commit);
    let diff = diff.await?;
    write!(std::io::stdout(), "{}\n{diff}", task.title)?;
    ensure!(std::fs::read_to_string(project.root.join("greet.sh"))? == PROGRAM);
    Ok(())
}

/// Creates a repository with a failing test in the subdirectory `hello` of `dir`.
async fn create_repository(sandbox: &Sandbox, dir: &Path) -> anyhow::Result<()> {
    let root = dir.join("hello");
    std::fs::create_dir(&root)?;
    std::fs::write(root.join("greet.sh"), PROGRAM)?;
    std::fs::write(root.join("test.sh"), TEST)?;
    let script = "cd hello && git init --quiet && git add --all && \
        git -c user.name=me -c user.email=me@localhost commit --quiet --message='Greet people by name'";
    let spec = CommandSpec::new("sh", dir, Profile::tool())
        .args(["-c", script])
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = sandbox.run(spec).await?;
    ensure!(output.exit.success(), "git: {}", output.stderr.text());
    Ok(())
}
