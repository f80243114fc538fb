//! SIGKILL at any time: acknowledged tasks are stored.

use std::collections::BTreeSet;
use std::time::Duration;

use windlass_store::{StoreSettings, open_with};
use windlass_tasks::{TaskFilter, TaskId, TaskStatus};

use super::child_process;

fn long_timeouts() -> StoreSettings {
    let mut settings = StoreSettings::default();
    settings.query_timeout = Duration::from_secs(60);
    settings.commit_timeout = Duration::from_secs(60);
    settings
}

#[test]
fn p1_acknowledged_tasks_survive_sigkill() {
    let rounds = if std::env::var_os("WINDLASS_FULL").is_some() {
        200
    } else {
        12
    };
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged: BTreeSet<TaskId> = BTreeSet::new();
    for round in 0..rounds {
        // From before the file is created to the middle of many transactions.
        let timeout = Duration::from_millis(5 + round * 37 % 400);
        let output = child_process::run("add", dir.path(), timeout);
        assert!(!output.status.success(), "it should have been killed");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        // A truncated last line is not an acknowledgement.
        let complete = stdout
            .rsplit_once('\n')
            .map_or("", |(complete, _)| complete);
        for line in complete.lines() {
            let Some((_, ids)) = line.split_once("added ") else {
                continue;
            };
            acknowledged.extend(ids.split(' ').map(|id| id.parse::<TaskId>().unwrap()));
        }
    }
    assert!(
        !acknowledged.is_empty(),
        "no task was added before the first kill"
    );

    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let url = format!("sqlite:{}/windlass.db", dir.path().display());
        let store = open_with(&url, long_timeouts()).await.unwrap();
        let mut found: BTreeSet<TaskId> = BTreeSet::new();
        let mut titles = [0, 0];
        loop {
            let filter = TaskFilter {
                after: found.last().copied(),
                status: Some(TaskStatus::Pending),
                ..TaskFilter::default()
            };
            let page = store.tasks(filter).await.unwrap();
            if page.is_empty() {
                break;
            }
            for task in page {
                titles[usize::from(task.title == "two")] += 1;
                found.insert(task.id);
            }
        }
        let lost: Vec<_> = acknowledged.difference(&found).collect();
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
        assert_eq!(titles[0], titles[1], "all of a batch, or none of it");
        println!(
            "{} acknowledged, {} found, {rounds} kills",
            acknowledged.len(),
            found.len()
        );
    });
}
