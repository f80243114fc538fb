//! P5: no process survives a SIGKILL of the parent, however early it comes.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;
use windlass_sandbox::Mechanism;

use super::support::{ALL, User, detached_tree, example, processes_with, time_to_vanish};

/// Number of concurrent parents.
const PARENTS: u32 = 50;

#[tokio::test]
async fn p5_no_child_survives_sigkill_with_bubblewrap() {
    check(Mechanism::Bubblewrap, "agent", ["5000501", "5000502"]).await;
    check(Mechanism::Bubblewrap, "tool", ["5000503", "5000504"]).await;
}

#[tokio::test]
async fn p5_no_child_survives_sigkill_with_landlock() {
    check(Mechanism::Landlock, "agent", ["5000505", "5000506"]).await;
}

#[tokio::test]
async fn p5_no_child_survives_sigkill_unsandboxed() {
    check(Mechanism::None, "agent", ["5000507", "5000508"]).await;
}

#[tokio::test]
async fn p5_sigkill_leaves_no_files() {
    for (mechanism, marker) in ALL.into_iter().zip(["5000511", "5000512", "5000513"]) {
        let user = User::new();
        let mut parent = start_parent(&user, mechanism, "tool", marker);
        while processes_with(marker).len() < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_ne!(
            left_on_disk(&user),
            [""; 0],
            "there was nothing to clean up"
        );
        parent.kill().unwrap();
        parent.wait().unwrap();
        time_to_vanish(marker).await.unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while !left_on_disk(&user).is_empty() && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(left_on_disk(&user), [""; 0], "{mechanism}");
    }
}

/// `pkill -9 windlass` also kills the init processes, which would have cleaned up.
#[tokio::test]
async fn p5_files_of_killed_init_process_are_removed_by_next_start() {
    for (mechanism, marker) in ALL.into_iter().zip(["5000514", "5000515", "5000516"]) {
        let user = User::new();
        let mut parent = start_parent(&user, mechanism, "tool", marker);
        while processes_with(marker).len() < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        kill_init_of(parent.id());
        parent.kill().unwrap();
        parent.wait().unwrap();
        assert_ne!(left_on_disk(&user), [""; 0], "there was nothing to remove");

        // A killed process holds its locks until the kernel has removed it.
        let deadline = Instant::now() + Duration::from_secs(20);
        while !left_on_disk(&user).is_empty() && Instant::now() < deadline {
            user.sandbox(mechanism).await;
        }
        assert_eq!(left_on_disk(&user), [""; 0], "{mechanism}");
        // Without namespaces the tree survives its killed init process.
        for pid in processes_with(marker) {
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
        }
    }
}

/// Kills the init process, which is a child of the parent or, with namespaces, a grandchild.
fn kill_init_of(parent: u32) {
    let children = |pid: u32| -> Vec<u32> {
        let tasks = format!("/proc/{pid}/task");
        let tasks = std::fs::read_dir(tasks).into_iter().flatten().flatten();
        let lists = tasks.map(|task| std::fs::read_to_string(task.path().join("children")));
        let text: String = lists.map(Result::unwrap_or_default).collect();
        text.split_whitespace()
            .map(|pid| pid.parse().unwrap())
            .collect()
    };
    for child in children(parent) {
        for pid in children(child).into_iter().chain([child]) {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let starts_init = String::from_utf8_lossy(&line).contains("__windlass_init");
            if starts_init {
                let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// Returns the files in the repository, which was empty, and in the temporary directory.
fn left_on_disk(user: &User) -> Vec<String> {
    let entries = [user.repository(), user.home().join("tmp")].map(|dir| dir.read_dir().unwrap());
    let names = entries
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

/// Kills 50 parents while they start, and 50 while their trees are running.
async fn check(mechanism: Mechanism, profile: &'static str, markers: [&'static str; 2]) {
    let early = |number| Duration::from_micros(u64::from(number) * 15_000 / u64::from(PARENTS - 1));
    let late = |_| Duration::from_millis(300);
    no_survivors(mechanism, profile, markers[0], early).await;
    let running = no_survivors(mechanism, profile, markers[1], late).await;
    assert!(
        running > 0,
        "no tree was running when its parent was killed: nothing was tested"
    );
}

/// Kills the parents, and returns the number of processes that were running before the last kill.
async fn no_survivors(
    mechanism: Mechanism,
    profile: &'static str,
    marker: &'static str,
    delay: impl Fn(u32) -> Duration + Send + Sync + 'static,
) -> usize {
    let when = format!("{:?} to {:?}", delay(0), delay(PARENTS - 1));
    let kill = move || kill_parents(mechanism, profile, marker, &delay);
    let running = tokio::task::spawn_blocking(kill).await.unwrap();
    let last_seen = watch(marker).await;
    let left = processes_with(marker).len();
    println!(
        "P5 {mechanism} {profile}, {PARENTS} killed after {when}: {running} running, {left} left, last seen after {last_seen:?}"
    );
    assert_eq!(
        left, 0,
        "{mechanism} {profile}: survivors two seconds after the SIGKILL"
    );
    running
}

/// Watches for two seconds, and returns when it last saw a process with the marker.
///
/// A single check that finds no process proves nothing: a process that is being started has no
/// command line yet.
async fn watch(marker: &str) -> Duration {
    let start = Instant::now();
    let mut last_seen = Duration::ZERO;
    while start.elapsed() < Duration::from_secs(2) {
        if !processes_with(marker).is_empty() {
            last_seen = start.elapsed();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    last_seen
}

fn kill_parents(
    mechanism: Mechanism,
    profile: &str,
    marker: &str,
    delay: &(impl Fn(u32) -> Duration + Sync),
) -> usize {
    let user = User::new();
    std::thread::scope(|scope| {
        let kill = |number| {
            let mut parent = start_parent(&user, mechanism, profile, marker);
            std::thread::sleep(delay(number));
            let running = if number == PARENTS - 1 {
                processes_with(marker).len()
            } else {
                0
            };
            parent.kill().unwrap();
            parent.wait().unwrap();
            running
        };
        let killers: Vec<_> = (0..PARENTS)
            .map(|number| scope.spawn(move || kill(number)))
            .collect();
        killers
            .into_iter()
            .map(|killer| killer.join().unwrap())
            .sum()
    })
}

/// Starts a parent that is about to start its tree.
#[expect(
    clippy::disallowed_methods,
    reason = "the parent must be a program that can be killed"
)]
fn start_parent(user: &User, mechanism: Mechanism, profile: &str, marker: &str) -> Child {
    let mut parent = Command::new(example("run"))
        .args([
            mechanism.as_str(),
            profile,
            "bash",
            "-c",
            &detached_tree(marker),
        ])
        .current_dir(user.repository())
        .env("HOME", user.home())
        .env("TMPDIR", user.home().join("tmp"))
        .env_remove("XDG_STATE_HOME")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(parent.stderr.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.starts_with("starting"), "{line}");
    parent
}
