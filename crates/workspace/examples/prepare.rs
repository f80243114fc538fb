//! Prepares one clone in its own process, for tests that kill it or start it twice.
//!
//! Usage: `prepare DIR ATTEMPT SCRIPT`, where `DIR` contains the repository `project`.
#![expect(clippy::unwrap_used, reason = "a test program fails by panicking")]

use std::path::PathBuf;

use windlass_core::Timestamp;
use windlass_sandbox::{Host, Sandbox, init};
use windlass_tasks::{AttemptRef, Project, ProjectId, TaskId, Workspace};
use windlass_workspace::{Clones, Preparation, Source, TestRunner, TestSettings};

fn main() {
    init::run_if_invoked();
    tokio::runtime::Runtime::new().unwrap().block_on(prepare());
}

async fn prepare() {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().unwrap());
    let number = args.next().unwrap().parse().unwrap();
    let script = args.next().unwrap();
    let sandbox = Sandbox::detect(Host::current()).await.unwrap();
    let clones = Clones::new(sandbox.clone(), dir.join("clones")).unwrap();
    let settings = TestSettings {
        setup: Some(vec!["sh".into(), "-c".into(), script]),
        ..TestSettings::default()
    };
    let store = dir.join("home/.local/state/windlass/setup");
    let tests = TestRunner::new(sandbox, settings).with_setup_store(store);
    let project = Project::new(
        ProjectId::from(1),
        "project",
        dir.join("project"),
        Timestamp(0),
    );
    let attempt = AttemptRef {
        task: TaskId::from(7),
        number,
    };
    let clone = clones.open(&project, attempt, None).await.unwrap();
    let source = Source::Base(clone.base());
    let preparation = tests.prepare(clone.root(), source).await.unwrap();
    assert!(matches!(preparation, Preparation::Ready(_)));
}
