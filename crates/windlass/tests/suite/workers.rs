//! Registered workers: what the store knows of them, what they claim, and how they are drained.

use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::output_schema::check;
use super::remote_project::Machines;
use super::task_harness::{INSTANT, TaskHarness};

/// How often something is looked at, every 100 ms, until it must have happened.
const MAX_POLLS: u32 = 1_200;

/// Calls the function until it returns a value.
#[track_caller]
fn wait_for<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    for _ in 0..MAX_POLLS {
        if let Some(value) = poll() {
            return value;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    unreachable!("{what} did not happen");
}

fn workers(harness: &TaskHarness) -> Vec<Value> {
    let listed = harness.json(&["worker", "list", "--json"]);
    check("workers", &listed);
    listed.as_array().unwrap().clone()
}

/// Returns the only worker, as soon as it has this state.
#[track_caller]
fn worker_in(harness: &TaskHarness, state: &str) -> Value {
    wait_for(state, || {
        let mut found = workers(harness).into_iter();
        found.rfind(|worker| worker["state"] == state)
    })
}

fn task(harness: &TaskHarness, id: &str) -> Value {
    harness.json(&["task", "show", id, "--json"])["task"].clone()
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[test]
fn worker_is_listed_while_it_runs_and_lost_after_a_kill() {
    let harness = TaskHarness::new("true", INSTANT);
    harness.lease(3);
    assert_eq!(workers(&harness), Vec::<Value>::new());
    let mut worker = harness.worker_with(&["--label", "linux", "--label", "gpu", "--kind", "test"]);
    let found = worker_in(&harness, "active");
    let name = found["name"].as_str().unwrap();
    assert_eq!(
        name,
        format!("{}/{}", found["machine"].as_str().unwrap(), worker.id())
    );
    assert_eq!(found["labels"], json!(["gpu", "linux"]));
    assert_eq!(found["kinds"], json!(["test"]));
    assert_eq!((&found["lanes"], &found["running"]), (&json!(1), &json!(0)));
    let agents = found["agents"].as_array().unwrap();
    assert!(agents.contains(&json!("player")), "{found}");
    let shown = harness.run(&["worker", "list"]);
    assert!(shown.stdout.contains("gpu linux"), "{}", shown.stdout);
    assert!(shown.stdout.contains("0 of 1"), "{}", shown.stdout);

    signal(&worker, Signal::KILL);
    worker.wait().unwrap();
    worker_in(&harness, "lost");
    // A worker that ends by itself is not listed; the killed one still is.
    assert_eq!(harness.run(&["worker", "--once"]).code, 0);
    assert_eq!(workers(&harness).len(), 1);
}

#[test]
fn task_that_no_worker_can_take_says_why() {
    let harness = TaskHarness::new("true", INSTANT);
    let odd = harness.run(&["task", "add", "Train", "--needs", "A,B"]);
    assert_eq!(odd.code, 2, "{odd:?}");
    assert!(odd.stderr.contains("lowercase"), "{odd:?}");
    let added = harness.json(&["task", "add", "Train", "--needs", "gpu", "--json"]);
    check("task", &added);
    assert_eq!(added["needs"], json!(["gpu"]));
    let reason = "no worker has the label gpu";
    let idle = harness.run(&["worker", "--once"]);
    assert_eq!(idle.code, 0, "{idle:?}");
    assert!(idle.stderr.contains(reason), "{idle:?}");
    let waiting = task(&harness, "1");
    check("task", &waiting);
    assert_eq!(
        (&waiting["waiting"], &waiting["attempt"]),
        (&json!(reason), &json!(0))
    );
    for args in [&["task", "list"][..], &["task", "show", "1"]] {
        let shown = harness.run(args).stdout;
        assert!(shown.contains(reason), "{shown}");
    }

    // An agent that is not installed is no agent of a worker.
    let file = harness.path("named.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let gone = "[agents.gone]\nbackend = \"codex\"\nbin = \"/nonexistent/codex\"\n";
    std::fs::write(&file, format!("{config}{gone}")).unwrap();
    harness.json(&["task", "add", "Other", "--agent", "gone", "--json"]);
    let mut worker = harness.worker();
    worker_in(&harness, "active");
    let other = wait_for("a reason", || task(&harness, "2").get("waiting").cloned());
    assert_eq!(other, "no worker has the agent gone");
    signal(&worker, Signal::TERM);
    assert_eq!(worker.wait().unwrap().code(), Some(0));
    assert_eq!(workers(&harness), Vec::<Value>::new());

    let labelled = harness.run(&["worker", "--once", "--label", "gpu"]);
    assert_eq!(labelled.code, 0, "{labelled:?}");
    let done = task(&harness, "1");
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(task(&harness, "2")["attempt"], 0);
}

#[test]
fn drained_worker_finishes_its_task_and_exits_with_0() {
    let harness = TaskHarness::new("sleep 5", INSTANT);
    harness.lease(6);
    harness.json(&["task", "add", "One", "--json"]);
    let mut worker = harness.worker();
    wait_for("the claim", || {
        (task(&harness, "1")["status"] == "in_progress").then_some(())
    });
    harness.json(&["task", "add", "Two", "--json"]);
    let unknown = harness.run(&["worker", "drain", "unknown"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
    let name = worker_in(&harness, "active")["name"].clone();
    // It does not answer for a while, and the request waits for it.
    signal(&worker, Signal::STOP);
    let drained = harness.json(&["worker", "drain", name.as_str().unwrap(), "--json"]);
    check("workers", &drained);
    assert_eq!(drained[0]["state"], "draining");
    signal(&worker, Signal::CONT);
    assert_eq!(worker_in(&harness, "draining")["name"], name);
    assert_eq!(worker.wait().unwrap().code(), Some(0));
    assert_eq!(task(&harness, "1")["status"], "completed");
    let left = task(&harness, "2");
    assert_eq!(
        (&left["status"], &left["attempt"]),
        (&json!("pending"), &json!(0))
    );
    assert_eq!(workers(&harness), Vec::<Value>::new());
    let log = harness.json(&["audit", "--json"]);
    assert_eq!(log[0]["action"], "worker drain", "{log}");
    assert_eq!(log[0]["subject"], name);

    // The next worker of the machine is not drained.
    let next = harness.run(&["worker", "--once"]);
    assert_eq!(next.code, 0, "{next:?}");
    assert_eq!(task(&harness, "2")["status"], "completed");
}

#[test]
fn worker_leaves_projects_that_its_machine_cannot_reach() {
    let machines = Machines::unregistered();
    machines.json(&["task", "add", "Do it", "--json"]);
    let worker = machines.elsewhere(&["worker", "--all", "--once"]);
    assert_eq!(worker.code, 0, "{worker:?}");
    assert!(
        worker.stderr.contains("left to other machines"),
        "{worker:?}"
    );
    let left = &machines.task()["task"];
    assert_eq!(
        (&left["status"], &left["attempt"]),
        (&json!("pending"), &json!(0))
    );
}
