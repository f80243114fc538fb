//! The full lifecycle with a git repository, a clone, a sandboxed shell test and a database on disk. Only the
//! agent is fake, and it edits files.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;
use windlass_core::AgentHandle;
use windlass_runner::{ResultStatus, Runner, Worker, branch_name, trace_id};
use windlass_sandbox::{Host, Sandbox};
use windlass_tasks::{NewProject, NewTask, TaskStatus, WorkerKind};
use windlass_workspace::{Clones, Judge, TestRunner, TestSettings};

use super::editing_agent::EditingAgent;
use super::sim::repo::SimContext;

#[expect(
    clippy::disallowed_methods,
    reason = "the user's own git, from outside"
)]
pub(crate) fn git(root: &Path, home: &Path, args: &[&str]) -> String {
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

/// Creates a project with a failing test, and a home directory next to it.
fn project(dir: &Path) -> (PathBuf, PathBuf) {
    let (root, home) = (dir.join("project"), dir.join("home"));
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
async fn failing_test_to_proof_with_real_clone_tests_and_store() {
    let dir = TempDir::with_prefix_in("runner-", env!("CARGO_TARGET_TMPDIR")).unwrap();
    let dir = dir.path().canonicalize().unwrap();
    let (root, home) = project(&dir);
    let path = std::env::var("PATH").unwrap();
    let host = Host::new([("HOME", home.to_str().unwrap()), ("PATH", &path)]);
    let sandbox = Sandbox::detect(host)
        .await
        .unwrap_or_else(|error| panic!("{error}: run `cargo build -p windlass-sandbox` first"));
    let clones = Clones::new(sandbox.clone(), dir.join("clones")).unwrap();
    let command = Some(vec!["sh".to_owned(), "check.sh".to_owned()]);
    let tests = TestRunner::new(
        sandbox,
        TestSettings {
            command,
            ..TestSettings::default()
        },
    );
    let url = format!("sqlite:{}", dir.join("state/windlass.db").display());
    let store = windlass_store::open(&url).await.unwrap();
    // Its first edit is wrong, its second one is right.
    let turns = AtomicUsize::new(0);
    let agent = AgentHandle::wrap(EditingAgent(move |root: &Path| {
        let sign = ["-", "+"][turns.fetch_add(1, Ordering::Relaxed).min(1)];
        std::fs::write(root.join("add.sh"), format!("echo $(($1 {sign} $2))\n")).unwrap();
        format!("it uses {sign} now")
    }));
    let runner = Arc::new(Runner::new(
        Arc::clone(&store),
        Arc::new(clones.clone()),
        Arc::new(Judge::new(clones.clone(), tests.clone())),
        Arc::new(SimContext),
        Arc::new(move |_: Option<&str>, _: WorkerKind| Ok(agent.clone())),
    ));
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

    let branch = branch_name(None, task);
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
    let verification = clones.verify(&root, &proof, &tests).await.unwrap();
    assert!(verification.is_valid(), "{verification:?}");
    let at = windlass_tasks::AttemptRef { task, number: 1 };
    let trace = store.trace(trace_id(at)).await.unwrap();
    assert_eq!(trace.children.last().unwrap().name, "publish");
}
