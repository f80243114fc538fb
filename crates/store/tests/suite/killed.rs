//! SIGKILL at any moment: what was acknowledged is there.

use std::collections::BTreeSet;
use std::time::Duration;

use windlass_core::task::{TaskFilter, TaskStatus};
use windlass_store::{StoreSettings, open_with};

use super::again;

fn patient() -> StoreSettings {
    let mut settings = StoreSettings::default();
    settings.query_timeout = Duration::from_secs(60);
    settings.commit_timeout = Duration::from_secs(60);
    settings
}

#[test]
fn p1_what_was_acknowledged_survives_sigkill() {
    let rounds = if std::env::var_os("WINDLASS_FULL").is_some() {
        200
    } else {
        12
    };
    let folder = tempfile::tempdir().unwrap();
    let mut kept: BTreeSet<i64> = BTreeSet::new();
    for round in 0..rounds {
        // From before the file is made to the middle of many transactions.
        let until = Duration::from_millis(5 + round * 37 % 400);
        let output = again::play("add", folder.path(), until);
        assert!(!output.status.success(), "it should have been killed");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        // A last line that was cut short is no acknowledgement.
        let whole = said.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for line in whole.lines() {
            let Some((_, numbers)) = line.split_once("kept ") else {
                continue;
            };
            kept.extend(
                numbers
                    .split(' ')
                    .map(|number| number.parse::<i64>().unwrap()),
            );
        }
    }
    assert!(
        !kept.is_empty(),
        "it was never quick enough to add something"
    );

    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let url = format!("sqlite:{}/windlass.db", folder.path().display());
        let store = open_with(&url, patient()).await.unwrap();
        let mut found: BTreeSet<i64> = BTreeSet::new();
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
        let lost: Vec<_> = kept.difference(&found).collect();
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
        assert_eq!(titles[0], titles[1], "all of a batch, or none of it");
        println!(
            "{} acknowledged, {} found, {rounds} kills",
            kept.len(),
            found.len()
        );
    });
}
