//! The whole way on the real thing: a git repository, a clone of it, a shell's tests behind walls, a database on disk.
//! Only the agent is made up, and it really edits.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use tempfile::TempDir;
use windlass_core::task::{NewProject, NewTask, TaskStatus, WorkerKind};
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, Capabilities, EventStream, Prompt, Result, SessionId,
    SessionOptions, SystemClock, ready_events,
};
use windlass_runner::{Bus, ResultStatus, Runner, RunnerSettings, Worker, branch_name, trace_id};
use windlass_sandbox::{Host, Sandbox};
use windlass_workspace::{Clones, TestRunner, TestSettings};

use super::sim::place::SimContext;

/// Adds wrongly at first, then rightly.
struct Editor {
    turns: AtomicUsize,
}

impl AgentBackend for Editor {
    fn name(&self) -> &'static str {
        "editor"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            tools: true,
            ..Capabilities::default()
        }
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        let root = options.cwd.unwrap().to_str().unwrap().to_owned();
        Box::pin(async move { Ok(root.into()) })
    }

    fn load_session<'a>(
        &'a self,
        _: &'a SessionId,
        _: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn prompt<'a>(&'a self, id: &'a SessionId, _: Prompt) -> BoxFuture<'a, Result<EventStream>> {
        let sign = ["-", "+"][self.turns.fetch_add(1, Ordering::Relaxed).min(1)];
        let file = Path::new(id.as_str()).join("add.sh");
        std::fs::write(file, format!("echo $(($1 {sign} $2))\n")).unwrap();
        let said = ready_events([AgentEvent::result(format!("it uses {sign} now"))]);
        Box::pin(async { Ok(said) })
    }

    fn cancel<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the user's own git, from outside"
)]
fn git(root: &Path, home: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(args)
        .current_dir(root)
        .env("HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A project whose test fails, and a home beside it.
fn project(folder: &Path) -> (PathBuf, PathBuf) {
    let (root, home) = (folder.join("project"), folder.join("home"));
    std::fs::create_dir(&root).unwrap();
    std::fs::create_dir(&home).unwrap();
    std::fs::write(root.join("add.sh"), "echo 0\n").unwrap();
    let check = "test \"$(sh add.sh 2 2)\" = 4 && test \"$(sh add.sh 1 2)\" = 3\n";
    std::fs::write(root.join("check.sh"), check).unwrap();
    git(&root, &home, &["init", "-q", "-b", "main"]);
    git(&root, &home, &["add", "-A"]);
    let name = ["-c", "user.name=u", "-c", "user.email=u@localhost"];
    git(
        &root,
        &home,
        &[&name[..], &["commit", "-q", "-m", "first"]].concat(),
    );
    (root, home)
}

#[tokio::test]
async fn real_clone_real_tests_real_store_from_red_to_proof() {
    let folder = TempDir::with_prefix_in("runner-", env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let (root, home) = project(&folder);
    let path = std::env::var("PATH").unwrap();
    let host = Host::new([("HOME", home.to_str().unwrap()), ("PATH", &path)]);
    let sandbox = Sandbox::detect(host)
        .await
        .unwrap_or_else(|error| panic!("{error}: run `cargo build -p windlass-sandbox` first"));
    let clones = Clones::new(sandbox.clone(), folder.join("places")).unwrap();
    let command = Some(vec!["sh".to_owned(), "check.sh".to_owned()]);
    let tests = TestRunner::new(
        sandbox,
        TestSettings {
            command,
            ..TestSettings::default()
        },
    );
    let url = format!("sqlite:{}", folder.join("state/windlass.db").display());
    let store = windlass_store::open(&url).await.unwrap();
    let agent = AgentHandle::wrap(Editor {
        turns: AtomicUsize::new(0),
    });
    let runner = Arc::new(Runner {
        store: Arc::clone(&store),
        workspace: Arc::new(clones.clone()),
        verifier: Arc::new(tests.clone()),
        context: Arc::new(SimContext),
        agents: Arc::new(move |_: Option<&str>, _: WorkerKind| Ok(agent.clone())),
        clock: Arc::new(SystemClock::new()),
        bus: Bus::disabled(),
        settings: RunnerSettings::default(),
    });
    let new = NewProject {
        name: "project".to_owned(),
        root: root.clone(),
    };
    let project = store.add_project(new).await.unwrap();
    let new = NewTask::new(project.id, "add two numbers");
    let task = store.enqueue(vec![new]).await.unwrap()[0].task.id;

    let worker = Worker {
        once: true,
        ..Worker::new(runner)
    };
    let report = worker.run(Default::default()).await.unwrap();
    let (_, result) = &report.results[0];
    assert_eq!(result.status, ResultStatus::Completed, "{result:?}");
    assert_eq!(result.files_modified, ["add.sh"]);
    assert_eq!(
        store.task(task).await.unwrap().status,
        TaskStatus::Completed
    );
    assert_eq!(store.test_results(task).await.unwrap().len(), 2);
    assert_eq!(store.corrections(task).await.unwrap().len(), 1);

    let branch = branch_name(task);
    let show = format!("{branch}:add.sh");
    assert_eq!(git(&root, &home, &["show", &show]), "echo $(($1 + $2))");
    let grep = ["log", "--all", "--format=%s", "--grep", "Task-Id: 1"];
    assert_eq!(git(&root, &home, &grep), "add two numbers");
    assert_eq!(
        git(&root, &home, &["status", "--porcelain"]),
        "",
        "the checkout was touched"
    );
    let proof = store.proof(task).await.unwrap().unwrap();
    let again = clones.verify(&root, &proof, &tests).await.unwrap();
    assert!(again.is_valid(), "{again:?}");
    let at = windlass_core::task::AttemptRef { task, number: 1 };
    let trace = store.trace(trace_id(at)).await.unwrap();
    assert_eq!(trace.children.last().unwrap().name, "publish");
}
