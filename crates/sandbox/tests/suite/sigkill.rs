//! P5: nothing survives our own SIGKILL, however early it comes.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;
use windlass_sandbox::Mechanism;

use super::support::{ALL, User, detached_tree, example, processes_with, time_to_vanish};

/// How many parents there are at once.
const PARENTS: u32 = 50;

#[tokio::test]
async fn p5_no_child_survives_our_sigkill_under_bubblewrap() {
    check(Mechanism::Bubblewrap, "agent", ["5000501", "5000502"]).await;
    check(Mechanism::Bubblewrap, "tool", ["5000503", "5000504"]).await;
}

#[tokio::test]
async fn p5_no_child_survives_our_sigkill_under_landlock() {
    check(Mechanism::Landlock, "agent", ["5000505", "5000506"]).await;
}

#[tokio::test]
async fn p5_no_child_survives_our_sigkill_without_walls() {
    check(Mechanism::None, "agent", ["5000507", "5000508"]).await;
}

#[tokio::test]
async fn p5_our_sigkill_leaves_nothing_on_disk() {
    for (mechanism, mark) in ALL.into_iter().zip(["5000511", "5000512", "5000513"]) {
        let user = User::new();
        let mut parent = start_parent(&user, mechanism, "tool", mark);
        while processes_with(mark).len() < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_ne!(
            left_on_disk(&user),
            [""; 0],
            "there was nothing to clear up"
        );
        parent.kill().unwrap();
        parent.wait().unwrap();
        time_to_vanish(mark).await.unwrap();
        let deadline = Instant::now() + Duration::from_secs(2);
        while !left_on_disk(&user).is_empty() && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(left_on_disk(&user), [""; 0], "{mechanism}");
    }
}

/// `pkill -9 windlass` also kills the init programs, which would have cleaned up.
#[tokio::test]
async fn p5_what_a_killed_init_program_left_is_removed_by_the_next_start() {
    for (mechanism, mark) in ALL.into_iter().zip(["5000514", "5000515", "5000516"]) {
        let user = User::new();
        let mut parent = start_parent(&user, mechanism, "tool", mark);
        while processes_with(mark).len() < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        kill_init_of(parent.id());
        parent.kill().unwrap();
        parent.wait().unwrap();
        assert_ne!(left_on_disk(&user), [""; 0], "there was nothing to remove");

        // What was killed holds its locks until the kernel has ended it.
        let deadline = Instant::now() + Duration::from_secs(5);
        while !left_on_disk(&user).is_empty() && Instant::now() < deadline {
            user.sandbox(mechanism).await;
        }
        assert_eq!(left_on_disk(&user), [""; 0], "{mechanism}");
        // Without namespaces the tree outlives its killed init program.
        for pid in processes_with(mark) {
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
        }
    }
}

/// Kills the init program, which is a child of the parent or, with namespaces, a grandchild.
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

/// What is in the repository, which was empty, and in the folder for temporary files.
fn left_on_disk(user: &User) -> Vec<String> {
    let entries =
        [user.repository(), user.home().join("tmp")].map(|folder| folder.read_dir().unwrap());
    let names = entries
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

/// Fifty killed while they start, fifty with their trees standing.
async fn check(mechanism: Mechanism, profile: &'static str, marks: [&'static str; 2]) {
    let early = |number| Duration::from_micros(u64::from(number) * 15_000 / u64::from(PARENTS - 1));
    let late = |_| Duration::from_millis(300);
    no_survivors(mechanism, profile, marks[0], early).await;
    let standing = no_survivors(mechanism, profile, marks[1], late).await;
    assert!(
        standing > 0,
        "no tree stood when its parent was killed: nothing was tried"
    );
}

/// Kills the parents, and returns how many processes stood just before the last was killed.
async fn no_survivors(
    mechanism: Mechanism,
    profile: &'static str,
    mark: &'static str,
    delay: impl Fn(u32) -> Duration + Send + Sync + 'static,
) -> usize {
    let when = format!("{:?} to {:?}", delay(0), delay(PARENTS - 1));
    let kill = move || kill_parents(mechanism, profile, mark, &delay);
    let standing = tokio::task::spawn_blocking(kill).await.unwrap();
    let seen = watch(mark).await;
    let left = processes_with(mark).len();
    println!(
        "P5 {mechanism} {profile}, {PARENTS} killed after {when}: {standing} stood, {left} left, last seen after {seen:?}"
    );
    assert_eq!(
        left, 0,
        "{mechanism} {profile}: survivors two seconds after our SIGKILL"
    );
    standing
}

/// Looks for two seconds, and says when it last saw a process with the mark.
///
/// One look that sees none proves nothing: a process that is just being started has no command
/// line yet.
async fn watch(mark: &str) -> Duration {
    let start = Instant::now();
    let mut seen = Duration::ZERO;
    while start.elapsed() < Duration::from_secs(2) {
        if !processes_with(mark).is_empty() {
            seen = start.elapsed();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    seen
}

fn kill_parents(
    mechanism: Mechanism,
    profile: &str,
    mark: &str,
    delay: &(impl Fn(u32) -> Duration + Sync),
) -> usize {
    let user = User::new();
    std::thread::scope(|scope| {
        let kill = |number| {
            let mut parent = start_parent(&user, mechanism, profile, mark);
            std::thread::sleep(delay(number));
            let standing = if number == PARENTS - 1 {
                processes_with(mark).len()
            } else {
                0
            };
            parent.kill().unwrap();
            parent.wait().unwrap();
            standing
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

/// A parent that is just about to start its tree.
#[expect(
    clippy::disallowed_methods,
    reason = "the parent must be a program that can be killed"
)]
fn start_parent(user: &User, mechanism: Mechanism, profile: &str, mark: &str) -> Child {
    let mut parent = Command::new(example("run"))
        .args([
            mechanism.as_str(),
            profile,
            "bash",
            "-c",
            &detached_tree(mark),
        ])
        .current_dir(user.repository())
        .env("HOME", user.home())
        .env("TMPDIR", user.home().join("tmp"))
        .env_remove("XDG_STATE_HOME")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(parent.stderr.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert!(said.starts_with("starting"), "{said}");
    parent
}
