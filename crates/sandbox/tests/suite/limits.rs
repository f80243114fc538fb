//! P26: a process tree that uses more than its limits is killed, and the limit is named.

use std::time::Duration;

use windlass_sandbox::{
    ExitReason, LimitOverrides, Mechanism, Output, ProcessLimits, Profile, Resource,
};

use super::support::{ALL, ISOLATING, User, output_text, processes_with};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Runs a script that should be killed long before its deadline.
async fn run(
    user: &User,
    mechanism: Mechanism,
    profile: Profile,
    limits: LimitOverrides,
    script: &str,
) -> Output {
    let sandbox = user.sandbox(mechanism).await.with_limits(limits);
    let times = ProcessLimits {
        deadline: Duration::from_secs(120),
        ..ProcessLimits::default()
    };
    let spec = user.script(profile, script).limits(times);
    sandbox.run(spec).await.unwrap()
}

#[track_caller]
fn assert_exceeded(output: &Output, resource: Resource, case: impl std::fmt::Display) {
    let text = output_text(output);
    match output.exit.reason {
        ExitReason::Limit(exceeded) => assert_eq!(exceeded.resource, resource, "{case}: {text}"),
        other => assert_eq!(other, ExitReason::Stopped, "{case}: not killed: {text}"),
    }
    assert!(
        !output.exit.success() && !text.contains("survived"),
        "{case}"
    );
}

#[tokio::test]
async fn p26_memory_hog_is_killed() {
    let user = User::new();
    let limits = LimitOverrides {
        memory_bytes: Some(256 * MIB),
        ..LimitOverrides::default()
    };
    let in_one_process = format!(
        "/usr/bin/python3 -c 'held = bytearray(b\"x\") * {}; import time; time.sleep(60)'; echo survived",
        2 * GIB
    );
    let in_many_processes = "for i in $(seq 8); do
        /usr/bin/python3 -c 'held = bytearray(b\"x\") * (64 << 20); import time; time.sleep(60)' &
        done; wait; echo survived";
    // Content of a file that is in memory and has no name, which no process maps.
    let in_a_file = "/usr/bin/python3 -c '
import os, time
held = os.memfd_create(\"held\")
for _ in range(2048): os.write(held, b\"x\" * (1 << 20))
time.sleep(60)'; echo survived";
    for mechanism in ALL {
        for script in [in_one_process.as_str(), in_many_processes, in_a_file] {
            let output = run(&user, mechanism, Profile::test(), limits, script).await;
            assert_exceeded(&output, Resource::Memory, mechanism);
        }
    }
}

/// A program that forks workers after it has loaded its data.
#[tokio::test]
async fn p26_shared_memory_counts_once() {
    let user = User::new();
    let limits = LimitOverrides {
        memory_bytes: Some(384 * MIB),
        ..LimitOverrides::default()
    };
    let script = "/usr/bin/python3 -c '
import os, time
held = bytearray(b\"x\") * (128 << 20)
for _ in range(8):
    if os.fork() == 0:
        time.sleep(1.5)
        os._exit(0)
for _ in range(8): os.wait()
print(\"shared\")'";
    for mechanism in ISOLATING {
        let output = run(&user, mechanism, Profile::test(), limits, script).await;
        assert_eq!(output_text(&output), "shared", "{mechanism}");
    }
}

/// Private directories are in memory under bubblewrap.
#[tokio::test]
async fn p26_filled_private_dir_is_killed() {
    let user = User::new();
    let limits = LimitOverrides {
        memory_bytes: Some(128 * MIB),
        ..LimitOverrides::default()
    };
    for profile in [Profile::agent(), Profile::tool(), Profile::test()] {
        for file in ["/dev/shm/fill", "/tmp/fill", "/var/tmp/fill"] {
            let script = format!("head -c {GIB} /dev/zero > {file}; sleep 60; echo survived");
            let output = run(
                &user,
                Mechanism::Bubblewrap,
                profile.clone(),
                limits,
                &script,
            )
            .await;
            assert_exceeded(&output, Resource::Memory, file);
        }
    }
    let script = "(echo x > /dev/fill) 2>/dev/null || echo refused";
    let output = run(
        &user,
        Mechanism::Bubblewrap,
        Profile::test(),
        limits,
        script,
    )
    .await;
    assert_eq!(output_text(&output), "refused", "/dev has no limit");
}

/// The kernel limits the number of processes in a namespace. Elsewhere the tree may not grow
/// without bounds between two measurements, so only bubblewrap gets the bomb.
#[tokio::test]
async fn p26_fork_bomb_is_killed() {
    let user = User::new();
    let limits = LimitOverrides {
        processes: Some(100),
        ..LimitOverrides::default()
    };
    let bomb = "bomb() { bomb | bomb & }; bomb; sleep 5000601; echo survived";
    let output = run(&user, Mechanism::Bubblewrap, Profile::test(), limits, bomb).await;
    assert_exceeded(&output, Resource::Processes, "bomb");
    assert_eq!(processes_with("5000601"), [0; 0]);
    let many = "for i in $(seq 150); do sleep 60 & done; wait; echo survived";
    let threads = "/usr/bin/python3 -c '
import threading, time
for _ in range(150): threading.Thread(target=time.sleep, args=(60,)).start()'; echo survived";
    for mechanism in ALL {
        for script in [many, threads] {
            let output = run(&user, mechanism, Profile::test(), limits, script).await;
            assert_exceeded(&output, Resource::Processes, mechanism);
        }
    }
}

#[tokio::test]
async fn p26_filled_disk_is_killed() {
    let user = User::new();
    let limits = LimitOverrides {
        disk_bytes: Some(64 * MIB),
        ..LimitOverrides::default()
    };
    let many_files = "for i in $(seq 30); do head -c 10000000 /dev/urandom > file$i; done; sync
        sleep 60; echo survived";
    let unnamed_file = "exec 3> unnamed; rm unnamed; head -c 100000000 /dev/urandom >&3; sync
        sleep 60; echo survived";
    for mechanism in ALL {
        for script in [many_files, unnamed_file] {
            let output = run(&user, mechanism, Profile::test(), limits, script).await;
            assert_exceeded(&output, Resource::Disk, format!("{mechanism}: {script}"));
        }
    }
}

#[tokio::test]
async fn p26_large_file_is_refused() {
    let user = User::new();
    let limits = LimitOverrides {
        file_bytes: Some(MIB),
        ..LimitOverrides::default()
    };
    for mechanism in ALL {
        let script = "exec head -c 5000000 /dev/zero > big";
        let output = run(&user, mechanism, Profile::tool(), limits, script).await;
        assert_exceeded(&output, Resource::FileSize, mechanism);
        let size = user.repository().join("big").metadata().unwrap().len();
        assert_eq!(size, MIB, "{mechanism}");
    }
}

#[tokio::test]
async fn p26_busy_loop_is_killed() {
    let user = User::new();
    let limits = LimitOverrides {
        cpu_time: Some(Duration::from_secs(1)),
        ..LimitOverrides::default()
    };
    let one_process = "while :; do :; done; echo survived";
    // The time of processes that have ended counts too.
    let many_processes =
        "while :; do bash -c 'for i in {1..20000}; do :; done'; done; echo survived";
    for mechanism in ALL {
        for script in [one_process, many_processes] {
            let output = run(&user, mechanism, Profile::tool(), limits, script).await;
            assert_exceeded(&output, Resource::CpuTime, mechanism);
        }
    }
}
