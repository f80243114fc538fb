//! Registered workers, and what they may claim.

use std::time::Duration;

use futures::future::join_all;
use windlass_tasks::{
    Claim, Dependency, NewTask, NewWorker, RegisteredWorker, StoreError, WorkerId, WorkerKind,
    WorkerRenewal, WorkerState,
};

use super::{
    CaseFailure, CaseResult, StoreUnderTest, add, any, check, completed, fail_case, failed, finish,
    project, same,
};

const INTERVAL: Duration = Duration::from_secs(10);

fn new_worker(name: &str, labels: &[&str]) -> NewWorker {
    NewWorker {
        name: name.to_owned(),
        machine: "a machine".to_owned(),
        version: "0.1.0".to_owned(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        kinds: vec![WorkerKind::Test, WorkerKind::Backend],
        agents: vec!["codex".to_owned()],
        project_id: None,
        lanes: 4,
        interval: INTERVAL,
    }
}

fn state_of(workers: &[RegisteredWorker], id: WorkerId) -> Option<WorkerState> {
    let found = workers.iter().find(|worker| worker.id == id);
    found.map(|worker| worker.state)
}

pub(super) async fn worker_is_known_while_it_renews(on: StoreUnderTest) -> CaseResult {
    let new = new_worker("w", &["linux", "gpu", "gpu"]);
    let id = on.store.register_worker(new.clone()).await?;
    let listed = on.other.workers().await?;
    let [found] = listed.as_slice() else {
        return fail_case(format!("one worker was expected: {listed:?}"));
    };
    same!((found.id, found.state), (id, WorkerState::Active));
    same!((&found.name, &found.machine), (&new.name, &new.machine));
    same!(found.version, new.version);
    same!(found.labels, ["gpu", "linux"]);
    same!((&found.kinds, &found.agents), (&new.kinds, &new.agents));
    same!((found.lanes, found.running, found.project_id), (4, 0, None));

    // A renewal has the number of running tasks, and keeps it alive.
    for _ in 0..5 {
        on.pass(INTERVAL);
        same!(on.store.renew_worker(id, 3).await?, WorkerRenewal::Renewed);
    }
    let now = on.elsewhere.workers().await?;
    same!((now[0].running, now[0].state), (3, WorkerState::Active));
    check!(now[0].seen_at > now[0].started_at, "{now:?}");

    // A clean end leaves nothing, and may be repeated.
    on.store.remove_worker(id).await?;
    on.store.remove_worker(id).await?;
    same!(on.other.workers().await?, vec![]);
    same!(on.store.renew_worker(id, 0).await?, WorkerRenewal::Unknown);
    let invalid = on.store.register_worker(new_worker("w", &["A B"])).await;
    check!(
        matches!(invalid, Err(StoreError::Refused(_))),
        "{invalid:?}"
    );
    Ok(())
}

pub(super) async fn killed_worker_is_lost_and_removed_later(on: StoreUnderTest) -> CaseResult {
    let lost = on.store.register_worker(new_worker("one", &[])).await?;
    let twin = on.store.register_worker(new_worker("one", &[])).await?;
    check!(lost != twin, "two processes with one name share an entry");
    on.pass(INTERVAL * 2);
    same!(
        state_of(&on.other.workers().await?, lost),
        Some(WorkerState::Active)
    );
    on.store.renew_worker(twin, 0).await?;
    on.pass(INTERVAL + Duration::from_secs(1));
    let workers = on.elsewhere.workers().await?;
    same!(state_of(&workers, lost), Some(WorkerState::Lost));
    same!(state_of(&workers, twin), Some(WorkerState::Active));

    // It was only slow.
    same!(
        on.store.renew_worker(lost, 0).await?,
        WorkerRenewal::Renewed
    );
    same!(
        state_of(&on.store.workers().await?, lost),
        Some(WorkerState::Active)
    );

    // The next process of the same name replaces it; others see it for a day.
    on.pass(INTERVAL * 4);
    let next = on.store.register_worker(new_worker("one", &[])).await?;
    same!(state_of(&on.store.workers().await?, lost), None);
    same!(state_of(&on.store.workers().await?, twin), None);
    on.pass(Duration::from_secs(23 * 60 * 60));
    let other = on.store.register_worker(new_worker("two", &[])).await?;
    same!(
        state_of(&on.store.workers().await?, next),
        Some(WorkerState::Lost)
    );
    on.pass(Duration::from_secs(2 * 60 * 60));
    on.store.register_worker(new_worker("three", &[])).await?;
    same!(state_of(&on.store.workers().await?, next), None);
    same!(
        state_of(&on.store.workers().await?, other),
        Some(WorkerState::Lost)
    );
    Ok(())
}

fn claim_with(labels: &[&str], agents: Option<&[&str]>) -> Claim {
    let owned = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect();
    Claim {
        labels: owned(labels),
        agents: agents.map(owned),
        ..any("w")
    }
}

fn needing(new: NewTask, labels: &[&str]) -> NewTask {
    NewTask {
        needs: labels.iter().map(|label| (*label).to_owned()).collect(),
        ..new
    }
}

/// Returns the title of the task that a claim takes.
async fn taken(on: &StoreUnderTest, claim: Claim) -> Result<Option<String>, CaseFailure> {
    let claimed = on.store.claim(claim).await?;
    Ok(claimed.map(|claimed| claimed.task.title))
}

pub(super) async fn worker_claims_only_what_it_has_the_labels_for(
    on: StoreUnderTest,
) -> CaseResult {
    let id = project(&on.store).await?.id;
    let new = |title: &str| NewTask::new(id, title);
    let both = needing(new("both"), &["linux", "gpu"]);
    let both = add(&on.store, both).await?;
    same!(both.needs, ["gpu", "linux"]);
    add(&on.store, needing(new("gpu"), &["gpu"])).await?;
    add(&on.store, needing(new("gpux"), &["gpux"])).await?;
    add(&on.store, new("plain")).await?;
    let refused = on.store.enqueue(vec![needing(new("odd"), &["a%b"])]).await;
    check!(
        matches!(refused, Err(StoreError::Refused(_))),
        "{refused:?}"
    );

    let title = |title: &str| Some(title.to_owned());
    same!(taken(&on, any("w")).await?, title("plain"));
    same!(taken(&on, any("w")).await?, None);
    same!(taken(&on, claim_with(&["linux"], None)).await?, None);
    let in_project = Claim {
        project_id: Some(id),
        ..claim_with(&["gpu"], None)
    };
    same!(taken(&on, in_project).await?, title("gpu"));
    same!(taken(&on, claim_with(&["gpu"], None)).await?, None);
    let all = claim_with(&["a", "gpu", "linux"], None);
    same!(taken(&on, all).await?, title("both"));

    // A person may run it anywhere.
    let rest = on.store.tasks(Default::default()).await?;
    let rest = rest.into_iter().find(|task| task.title == "gpux");
    let named = Claim {
        task: rest.map(|task| task.id),
        ..any("w")
    };
    same!(taken(&on, named).await?, title("gpux"));
    Ok(())
}

pub(super) async fn labels_change_neither_order_nor_dependencies(on: StoreUnderTest) -> CaseResult {
    let id = project(&on.store).await?.id;
    let new = |title: &str, priority: u8, labels: &[&str]| NewTask {
        priority,
        ..needing(NewTask::new(id, title), labels)
    };
    let first = add(&on.store, new("first", 2, &[])).await?;
    let mut after = new("after", 0, &["gpu"]);
    after.dependencies = vec![Dependency::Task(first.id)];
    add(&on.store, after).await?;
    add(&on.store, new("urgent", 1, &["gpu"])).await?;
    add(&on.store, new("last", 3, &["gpu"])).await?;
    add(&on.store, new("plain", 2, &[])).await?;
    let gpu = || claim_with(&["gpu"], None);
    let title = |title: &str| Some(title.to_owned());
    same!(taken(&on, gpu()).await?, title("urgent"));
    let Some(one) = on.other.claim(any("w")).await? else {
        return fail_case("there was nothing to claim");
    };
    same!(one.task.id, first.id);
    let batch = join_all((0..2).map(|_| on.store.claim(gpu()))).await;
    let mut titles = Vec::new();
    for claimed in batch {
        titles.extend(claimed?.map(|claimed| claimed.task.title));
    }
    titles.sort();
    same!(titles, ["last", "plain"]);
    same!(taken(&on, gpu()).await?, None, "its dependency runs");
    finish(&on.store, &one, completed()).await?;
    same!(taken(&on, any("w")).await?, None);
    let Some(again) = on.store.claim(gpu()).await? else {
        return fail_case("the dependency is met");
    };
    same!(again.task.title, "after");
    finish(&on.store, &again, failed(true)).await?;
    same!(
        taken(&on, any("w")).await?,
        None,
        "it still needs its label"
    );
    same!(taken(&on, gpu()).await?, title("after"));
    Ok(())
}

pub(super) async fn worker_claims_only_tasks_of_its_agents(on: StoreUnderTest) -> CaseResult {
    let id = project(&on.store).await?.id;
    for agent in [Some("codex/o4"), Some("codexes"), Some("a_b"), None] {
        let new = NewTask {
            agent: agent.map(str::to_owned),
            ..NewTask::new(id, agent.unwrap_or("none"))
        };
        add(&on.store, new).await?;
    }
    let title = |title: &str| Some(title.to_owned());
    same!(taken(&on, claim_with(&[], Some(&[]))).await?, title("none"));
    same!(taken(&on, claim_with(&[], Some(&[]))).await?, None);
    let wrong = claim_with(&[], Some(&["axb", "code", "%", "codex/o"]));
    same!(taken(&on, wrong).await?, None);
    let codex = claim_with(&[], Some(&["claude", "codex"]));
    same!(taken(&on, codex.clone()).await?, title("codex/o4"));
    same!(taken(&on, codex).await?, None);
    let underscore = claim_with(&[], Some(&["a_b"]));
    same!(taken(&on, underscore).await?, title("a_b"));
    same!(taken(&on, any("w")).await?, title("codexes"));
    Ok(())
}

pub(super) async fn waiting_task_says_what_no_worker_has(on: StoreUnderTest) -> CaseResult {
    let id = project(&on.store).await?.id;
    let plain = add(&on.store, NewTask::new(id, "plain")).await?;
    let gpu = needing(NewTask::new(id, "gpu"), &["gpu"]);
    let gpu = add(&on.store, gpu).await?;
    let reason = async |task| Ok::<_, CaseFailure>(on.other.task(task).await?.waiting);
    let no_gpu = Some("no worker has the label gpu".to_owned());
    same!(reason(plain.id).await?, None);
    same!(reason(gpu.id).await?, no_gpu);

    let with = on
        .store
        .register_worker(new_worker("with", &["gpu"]))
        .await?;
    on.store.register_worker(new_worker("without", &[])).await?;
    same!(reason(gpu.id).await?, None);
    on.store.drain_worker(with).await?;
    same!(reason(gpu.id).await?, no_gpu, "it drains");
    let listed = on.other.tasks(Default::default()).await?;
    let reasons: Vec<_> = listed.into_iter().map(|task| task.waiting).collect();
    same!(reasons, [None, no_gpu]);

    let claimed = on.store.claim(claim_with(&["gpu"], None)).await?;
    check!(claimed.is_some(), "a claim without an entry works");
    Ok(())
}

pub(super) async fn draining_worker_claims_nothing_more(on: StoreUnderTest) -> CaseResult {
    let id = project(&on.store).await?.id;
    for n in 0..40 {
        add(&on.store, NewTask::new(id, format!("task {n}"))).await?;
    }
    let worker = on.store.register_worker(new_worker("w", &[])).await?;
    let twin = on.store.register_worker(new_worker("w", &[])).await?;
    let claim = |id: WorkerId| Claim {
        worker_id: Some(id),
        ..any("w")
    };
    check!(
        on.store.claim(claim(worker)).await?.is_some(),
        "not claimed"
    );

    // Claims that run while it is drained may succeed; no later one does.
    let claims = (0..10).map(|_| on.store.claim(claim(worker)));
    let (claims, drained) = futures::join!(join_all(claims), on.other.drain_worker(worker));
    for claim in claims {
        claim?;
    }
    same!(drained?.state, WorkerState::Draining);
    for store in [&on.store, &on.other, &on.elsewhere] {
        same!(store.claim(claim(worker)).await?, None);
    }
    let batch = join_all((0..5).map(|_| on.store.claim(claim(worker)))).await;
    for claim in batch {
        same!(claim?, None);
    }

    // It is slow, and finds the request whenever it comes back.
    on.pass(INTERVAL * 100);
    same!(
        on.store.renew_worker(worker, 1).await?,
        WorkerRenewal::DrainRequested
    );
    same!(
        state_of(&on.store.workers().await?, worker),
        Some(WorkerState::Draining)
    );

    // Another process of the same name and machine works on, and so does the next one.
    check!(on.store.claim(claim(twin)).await?.is_some(), "the twin");
    on.store.remove_worker(worker).await?;
    let next = on.store.register_worker(new_worker("w", &[])).await?;
    check!(next != worker, "an id is used again");
    check!(on.store.claim(claim(next)).await?.is_some(), "the next");
    let unknown = on.store.drain_worker(worker).await;
    check!(
        matches!(unknown, Err(StoreError::NotFound { .. })),
        "{unknown:?}"
    );
    Ok(())
}

pub(super) async fn many_workers_renew_at_once(on: StoreUnderTest) -> CaseResult {
    const COUNT: usize = 200;
    let names: Vec<String> = (0..COUNT).map(|n| format!("w{n}")).collect();
    let added = names
        .iter()
        .map(|name| on.store.register_worker(new_worker(name, &["linux"])));
    let mut ids = Vec::new();
    for id in join_all(added).await {
        ids.push(id?);
    }
    for running in [1, 2] {
        let stores = [&on.store, &on.other, &on.elsewhere].into_iter().cycle();
        let renewals = ids.iter().zip(stores);
        let renewals = renewals.map(|(id, store)| store.renew_worker(*id, running));
        for renewal in join_all(renewals).await {
            same!(renewal?, WorkerRenewal::Renewed);
        }
    }
    let workers = on.store.workers().await?;
    same!(workers.len(), COUNT);
    check!(
        workers.iter().all(|worker| worker.running == 2),
        "a renewal was lost"
    );
    Ok(())
}
