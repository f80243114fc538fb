//! P5: no child survives its end, its stop, its deadline or its drop; P7: gently first.

use std::time::Duration;

use tokio::time::Instant;

use windlass_sandbox::{CommandSpec, ExitReason, Mechanism, ProcessLimits, Profile};

use super::support::{ALL, User, detached_tree, processes_with, time_to_vanish};

fn limits(deadline: u64, grace: u64) -> ProcessLimits {
    ProcessLimits {
        deadline: Duration::from_millis(deadline),
        grace: Duration::from_millis(grace),
        ..ProcessLimits::default()
    }
}

#[tokio::test]
async fn p5_dropping_the_child_ends_the_tree() {
    let user = User::new();
    for (mechanism, mark) in ALL.into_iter().zip(["5000101", "5000102", "5000103"]) {
        let sandbox = user.sandbox(mechanism).await;
        let mut child = sandbox
            .spawn(user.script(Profile::tool(), &detached_tree(mark)))
            .unwrap();
        child.stdout.next().await.unwrap();
        assert!(!processes_with(mark).is_empty());
        drop(child);
        assert!(time_to_vanish(mark).await.is_some(), "{mechanism}");
    }
}

#[tokio::test]
async fn p5_nothing_outlives_the_command_itself() {
    let user = User::new();
    for (mechanism, mark) in ALL.into_iter().zip(["5000201", "5000202", "5000203"]) {
        let script = format!("(setsid sleep {mark} &) ; exit 7");
        let output = user.run(mechanism, Profile::tool(), &script).await;
        assert_eq!((output.exit.code, output.exit.why), (7, ExitReason::Exited));
        assert_eq!(processes_with(mark), [0; 0], "{mechanism}");
    }
}

#[tokio::test]
async fn p5_a_deadline_ends_the_tree_and_says_so() {
    let user = User::new();
    let mut running = Vec::new();
    for (mechanism, mark) in ALL.into_iter().zip(["5000301", "5000302", "5000303"]) {
        let spec = user
            .script(Profile::agent(), &detached_tree(mark))
            .limits(limits(2_000, 100));
        running.push((mark, user.sandbox(mechanism).await.spawn(spec).unwrap()));
    }
    for (mark, mut child) in running {
        assert_eq!(
            child.stdout.next().await.unwrap().unwrap().text(),
            "started"
        );
        assert_eq!(child.wait().await.unwrap().why, ExitReason::Deadline);
        assert_eq!(processes_with(mark), [0; 0]);
    }
}

#[tokio::test]
async fn p7_a_stop_is_gentle_first() {
    let user = User::new();
    for mechanism in ALL {
        let script =
            "trap 'echo tidied up; exit 9' TERM; echo ready; while :; do read -t 1 < <(:); done";
        let spec = user
            .script(Profile::agent(), script)
            .limits(limits(30_000, 5_000));
        let mut child = user.sandbox(mechanism).await.spawn(spec).unwrap();
        assert_eq!(child.stdout.next().await.unwrap().unwrap().text(), "ready");
        child.stop();
        assert_eq!(
            child.stdout.next().await.unwrap().unwrap().text(),
            "tidied up",
            "{mechanism}"
        );
        let exit = child.wait().await.unwrap();
        assert_eq!((exit.code, exit.why), (9, ExitReason::Stopped));
        assert!(exit.duration < Duration::from_secs(5));
    }
}

#[tokio::test]
async fn p7_and_then_firm() {
    let user = User::new();
    for (mechanism, mark) in ALL.into_iter().zip(["5000401", "5000402", "5000403"]) {
        let script = format!("trap '' TERM; echo ready; while :; do sleep {mark}; done");
        let spec = user
            .script(Profile::agent(), &script)
            .limits(limits(30_000, 200));
        let mut child = user.sandbox(mechanism).await.spawn(spec).unwrap();
        child.stdout.next().await.unwrap();
        child.control().stop();
        let exit = child.wait().await.unwrap();
        assert_eq!((exit.code, exit.why), (137, ExitReason::Stopped));
        assert_eq!(processes_with(mark), [0; 0], "{mechanism}");
    }
}

#[tokio::test]
async fn the_stall_clock_counts_events_and_not_bytes() {
    let user = User::new();
    let stall = ProcessLimits {
        stall: Some(Duration::from_millis(1_000)),
        ..limits(30_000, 100)
    };
    let sandbox = user.sandbox(Mechanism::Bubblewrap).await;
    let chatter = user.script(
        Profile::agent(),
        "while :; do echo noise; read -t 0.05 < <(sleep 1); done",
    );
    let mut child = sandbox.spawn(chatter.limits(stall)).unwrap();
    for _ in 0..20 {
        child.stdout.next().await.unwrap().unwrap();
        child.control().reset_stall_timer();
    }
    let last_pulse = Instant::now();
    while child.stdout.next().await.unwrap().is_some() {}
    assert_eq!(child.wait().await.unwrap().why, ExitReason::Stalled);
    assert!(last_pulse.elapsed() >= Duration::from_millis(1_000));
}

#[tokio::test]
async fn p26_a_fork_bomb_ends_with_its_deadline() {
    let user = User::new();
    let bomb = ProcessLimits {
        processes: 100,
        ..limits(1_500, 100)
    };
    let sandbox = user.sandbox(Mechanism::Bubblewrap).await;
    let spec = user
        .script(
            Profile::tool(),
            "bomb() { bomb | bomb & }; bomb; sleep 5000601",
        )
        .limits(bomb);
    let output = sandbox.run(spec).await.unwrap();
    assert_eq!(output.exit.why, ExitReason::Deadline);
    assert_eq!(processes_with("5000601"), [0; 0]);
    let after = CommandSpec::new("true", user.repository(), Profile::tool());
    assert!(sandbox.run(after).await.unwrap().exit.success());
}
