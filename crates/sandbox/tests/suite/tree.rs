//! P5: no child survives its exit, its stop, its deadline or its drop. P7: a stop is graceful
//! first.

use std::time::Duration;

use tokio::time::Instant;

use windlass_sandbox::{ExitReason, Mechanism, ProcessLimits, Profile};

use super::support::{ALL, User, detached_tree, processes_with, time_to_vanish};

fn limits(deadline: u64, grace: u64) -> ProcessLimits {
    ProcessLimits {
        deadline: Duration::from_millis(deadline),
        grace: Duration::from_millis(grace),
        ..ProcessLimits::default()
    }
}

#[tokio::test]
async fn p5_dropping_child_kills_the_tree() {
    let user = User::new();
    for (mechanism, marker) in ALL.into_iter().zip(["5000101", "5000102", "5000103"]) {
        let sandbox = user.sandbox(mechanism).await;
        let mut child = sandbox
            .spawn(user.script(Profile::tool(), &detached_tree(marker)))
            .unwrap();
        child.stdout.next().await.unwrap();
        assert!(!processes_with(marker).is_empty());
        drop(child);
        assert!(time_to_vanish(marker).await.is_some(), "{mechanism}");
    }
}

#[tokio::test]
async fn p5_no_process_survives_command_exit() {
    let user = User::new();
    for (mechanism, marker) in ALL.into_iter().zip(["5000201", "5000202", "5000203"]) {
        let script = format!("(setsid sleep {marker} &) ; exit 7");
        let output = user.run(mechanism, Profile::tool(), &script).await;
        assert_eq!(
            (output.exit.code, output.exit.reason),
            (7, ExitReason::Exited)
        );
        assert_eq!(processes_with(marker), [0; 0], "{mechanism}");
    }
}

#[tokio::test]
async fn p5_deadline_kills_the_tree_and_is_reported() {
    let user = User::new();
    let mut running = Vec::new();
    for (mechanism, marker) in ALL.into_iter().zip(["5000301", "5000302", "5000303"]) {
        let spec = user
            .script(Profile::agent(), &detached_tree(marker))
            .limits(limits(2_000, 100));
        running.push((marker, user.sandbox(mechanism).await.spawn(spec).unwrap()));
    }
    for (marker, mut child) in running {
        assert_eq!(
            child.stdout.next().await.unwrap().unwrap().text(),
            "started"
        );
        assert_eq!(child.wait().await.unwrap().reason, ExitReason::Deadline);
        assert_eq!(processes_with(marker), [0; 0]);
    }
}

#[tokio::test]
async fn p7_stop_sends_sigterm_first() {
    let user = User::new();
    for mechanism in ALL {
        let script =
            "trap 'echo cleaned up; exit 9' TERM; echo ready; while :; do read -t 1 < <(:); done";
        let spec = user
            .script(Profile::agent(), script)
            .limits(limits(30_000, 5_000));
        let mut child = user.sandbox(mechanism).await.spawn(spec).unwrap();
        assert_eq!(child.stdout.next().await.unwrap().unwrap().text(), "ready");
        child.stop();
        assert_eq!(
            child.stdout.next().await.unwrap().unwrap().text(),
            "cleaned up",
            "{mechanism}"
        );
        let exit = child.wait().await.unwrap();
        assert_eq!((exit.code, exit.reason), (9, ExitReason::Stopped));
        assert!(exit.duration < Duration::from_secs(5));
    }
}

#[tokio::test]
async fn p7_stop_kills_after_grace_period() {
    let user = User::new();
    for (mechanism, marker) in ALL.into_iter().zip(["5000401", "5000402", "5000403"]) {
        let script = format!("trap '' TERM; echo ready; while :; do sleep {marker}; done");
        let spec = user
            .script(Profile::agent(), &script)
            .limits(limits(30_000, 200));
        let mut child = user.sandbox(mechanism).await.spawn(spec).unwrap();
        child.stdout.next().await.unwrap();
        child.control().stop();
        let exit = child.wait().await.unwrap();
        assert_eq!((exit.code, exit.reason), (137, ExitReason::Stopped));
        assert_eq!(processes_with(marker), [0; 0], "{mechanism}");
    }
}

#[tokio::test]
async fn stall_timer_ignores_output_without_reset() {
    let user = User::new();
    let stall = ProcessLimits {
        stall: Some(Duration::from_millis(1_000)),
        ..limits(30_000, 100)
    };
    let sandbox = user.sandbox(Mechanism::Bubblewrap).await;
    let chatty = user.script(
        Profile::agent(),
        "while :; do echo noise; read -t 0.05 < <(sleep 1); done",
    );
    let mut child = sandbox.spawn(chatty.limits(stall)).unwrap();
    for _ in 0..20 {
        child.stdout.next().await.unwrap().unwrap();
        child.control().reset_stall_timer();
    }
    let last_reset = Instant::now();
    while child.stdout.next().await.unwrap().is_some() {}
    assert_eq!(child.wait().await.unwrap().reason, ExitReason::Stalled);
    assert!(last_reset.elapsed() >= Duration::from_millis(1_000));
}
