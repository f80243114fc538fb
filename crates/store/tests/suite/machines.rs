//! Machines that share a store have the files of a project at paths of their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use windlass_store::{LocalMachine, StoreSettings, open_with};
use windlass_tasks::{
    Claim, NewProject, NewTask, NewWorker, Project, ProjectCheckout, ProjectIdentity, StoreError,
    TaskStore,
};

use super::cluster::Cluster;

async fn on(url: &str, machine: &str) -> Arc<dyn TaskStore> {
    let mut settings = StoreSettings::default();
    settings.machine = LocalMachine {
        name: machine.to_owned(),
        mirrors: Some(PathBuf::from("/state").join(machine)),
    };
    open_with(url, settings).await.unwrap()
}

async fn add(store: &dyn TaskStore, name: &str, root: &str) -> Project {
    let new = NewProject {
        name: name.to_owned(),
        root: root.into(),
    };
    store.add_project(new).await.unwrap()
}

fn identity(name: &str, remote: Option<&str>) -> ProjectIdentity {
    ProjectIdentity {
        name: name.to_owned(),
        root_commit: Some("c".repeat(40)),
        remote: remote.map(str::to_owned),
    }
}

async fn exercise(url: &str) {
    let (one, two) = (on(url, "one").await, on(url, "two").await);
    let shop = add(&*one, "shop", "/home/me/shop").await;
    assert_eq!(add(&*one, "other name", "/home/me/shop").await, shop);
    assert!(shop.here && shop.remote.is_none());

    // The same path on another machine is another project.
    let theirs = add(&*two, "unrelated", "/home/me/shop").await;
    assert_ne!(theirs.id, shop.id);
    let seen = two.project(shop.id).await.unwrap();
    assert!(!seen.here, "{seen:?}");

    // With a remote, a machine without a checkout has a mirror, and later a checkout of its own.
    let remote = Some("/srv/shop.git");
    let shared = one.identify_project(shop.id, identity("shop", remote));
    let shared = shared.await.unwrap();
    assert_eq!(shared.root, Path::new("/home/me/shop"));
    let mirror = two.project(shop.id).await.unwrap();
    let dir = Path::new("/state/two")
        .join(shop.id.to_string())
        .join("shop");
    assert_eq!((mirror.here, mirror.root), (false, dir));
    let mapped = two.set_checkout(shop.id, Some("/src/shop".into())).await;
    let mapped = mapped.unwrap();
    assert_eq!((mapped.here, &*mapped.root), (true, Path::new("/src/shop")));
    assert_eq!(add(&*two, "shop", "/src/shop").await, mapped);
    let checkout = |machine: &str, root: &str| ProjectCheckout {
        machine: machine.to_owned(),
        root: root.into(),
    };
    let expected = [
        checkout("one", "/home/me/shop"),
        checkout("two", "/src/shop"),
    ];
    assert_eq!(one.checkouts(shop.id).await.unwrap(), expected);
    two.set_checkout(shop.id, None).await.unwrap();
    assert!(!two.project(shop.id).await.unwrap().here);
    assert!(one.project(shop.id).await.unwrap().here);

    // A project without any checkout is added once.
    let only = identity("mirrored", Some("/srv/mirrored.git"));
    let added = two.add_remote_project(only.clone()).await.unwrap();
    assert!(!added.here);
    assert_eq!(two.add_remote_project(only).await.unwrap(), added);
    let incomplete = two.add_remote_project(identity("x", None)).await;
    assert!(matches!(incomplete, Err(StoreError::Refused(_))));

    // A project with tasks keeps them.
    one.enqueue(vec![NewTask::new(shop.id, "sell tea")])
        .await
        .unwrap();
    let refused = one.remove_project(shop.id).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))));
    two.remove_project(added.id).await.unwrap();
    reachable_projects_are_claimed(&one, &two, (&shop, &theirs)).await;
    let gone = one.project(added.id).await;
    assert!(matches!(gone, Err(StoreError::NotFound { .. })));
}

/// A worker for all projects claims the tasks of those that its machine can reach: by a checkout, or by a remote.
async fn reachable_projects_are_claimed(
    one: &Arc<dyn TaskStore>,
    two: &Arc<dyn TaskStore>,
    (shared, theirs): (&Project, &Project),
) {
    let claim = |project_id| Claim {
        project_id,
        lease: Duration::from_secs(30),
        ..Claim::default()
    };
    let first = two.claim(claim(None)).await.unwrap().unwrap();
    assert_eq!(first.task.project_id, shared.id, "it has a remote");
    let added = one.enqueue(vec![NewTask::new(theirs.id, "only on two")]);
    let added = added.await.unwrap().remove(0).task.id;
    let new = NewWorker {
        name: "w".to_owned(),
        machine: "one".to_owned(),
        version: "0.1.0".to_owned(),
        labels: Vec::new(),
        kinds: Vec::new(),
        agents: Vec::new(),
        project_id: None,
        lanes: 1,
        interval: Duration::from_secs(10),
    };
    let worker = one.register_worker(new.clone()).await.unwrap();
    let reason = one.task(added).await.unwrap().waiting.unwrap_or_default();
    assert!(reason.contains("checkout or a remote"), "{reason:?}");
    assert_eq!(one.claim(claim(None)).await.unwrap(), None);
    let machine = "two".to_owned();
    two.register_worker(NewWorker { machine, ..new })
        .await
        .unwrap();
    assert_eq!(one.task(added).await.unwrap().waiting, None);
    let claimed = two.claim(claim(None)).await.unwrap().unwrap();
    assert_eq!(claimed.task.id, added);
    one.remove_worker(worker).await.unwrap();
}

fn run<F: Future>(test: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(test)
}

#[test]
fn each_machine_has_its_own_paths_on_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    run(exercise(&format!(
        "sqlite:{}/windlass.db",
        dir.path().display()
    )));
}

/// The paths of a store from before machines had names count on the first machine that claims them.
#[test]
fn paths_of_an_earlier_version_become_those_of_this_machine() {
    run(async {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/v1/windlass.db");
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(fixture, dir.path().join("windlass.db")).unwrap();
        let url = format!("sqlite:{}/windlass.db", dir.path().display());
        let one = on(&url, "one").await;
        let known = one.projects().await.unwrap().remove(0);
        assert!(known.here && known.root_commit.is_none(), "{known:?}");
        let root = known.root.clone();
        assert_eq!(add(&*one, "x", root.to_str().unwrap()).await, known);
        let mapped = one.set_checkout(known.id, Some(root)).await.unwrap();
        assert!(mapped.here);
        let two = on(&url, "two").await;
        assert!(!two.project(known.id).await.unwrap().here);
    });
}

mod real {
    use super::*;

    #[test]
    fn each_machine_has_its_own_paths_on_postgresql() {
        run(async {
            let cluster = Cluster::shared();
            let database = cluster.database().await;
            exercise(&cluster.url(&database)).await;
        });
    }
}
