//! Whole processes whose store is behind a real PgBouncer.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use windlass_core::{Clock, SystemClock};

use super::cluster::Cluster;
use super::task_harness::TaskHarness;

/// A script with a delay, so that the worker can be killed during it.
const SLOW: &str = r#"{"turns": [
  {"when": {"turn": 1}, "or_more": true, "answer": [{"write_file": {"path": "done.txt", "content": "done\n"}}, {"wait_ms": 1000}]},
  {"or_more": true, "answer": [{"text": "Done."}]}
]}"#;
/// Long enough for a busy machine.
const LIMIT: Duration = Duration::from_secs(90);

fn show(harness: &TaskHarness) -> Value {
    harness.json(&["task", "show", "1", "--json"])
}

#[test]
fn p2_p4_killed_worker_loses_nothing_through_a_pooler() {
    let cluster = Cluster::start("pooler");
    let harness = TaskHarness::new("true", SLOW);
    harness.configure(&cluster.pooler_url(), "test -f done.txt");
    harness.lease(2);
    harness.json(&["task", "add", "Do it", "--json"]);
    let mut killed = harness.worker();
    let clock = SystemClock::new();
    while show(&harness)["task"]["status"] != "in_progress" {
        assert!(clock.elapsed() < LIMIT, "the task was not claimed");
    }
    let pid = Pid::from_raw(i32::try_from(killed.id()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    killed.wait().unwrap();

    // A worker that waits for events claims it when its lease has ended.
    let mut worker = harness.worker();
    while show(&harness)["task"]["status"] != "completed" {
        assert!(clock.elapsed() < LIMIT, "{}", show(&harness));
    }
    let pid = Pid::from_raw(i32::try_from(worker.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    worker.wait().unwrap();
    let shown = show(&harness);
    assert_eq!(shown["attempts"][0]["outcome"], "lost", "{shown}");
    assert_eq!(shown["attempts"][1]["outcome"], "completed", "{shown}");
    let found = harness.git(&["log", "--all", "--format=%H", "--grep=^Task-Id: 1$"]);
    assert!(found.lines().count() >= 1, "{found}");
    let branches = harness.git(&["for-each-ref", "--format=%(refname)", "refs/heads/windlass"]);
    assert_eq!(branches.lines().count(), 1, "published once: {branches}");
    let check = harness.run(&["store", "check"]);
    assert_eq!(check.code, 0, "{check:?}");
}
