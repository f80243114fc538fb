//! Remotes that lie, refuse or disappear, and workers that are killed during a push.

use super::publishing::executable;
use super::remote_project::Machines;

#[test]
fn p40_remote_cannot_replace_a_result() {
    let machines = Machines::new();
    let shown = machines.work();
    let proved = shown["proof"]["commit"].as_str().unwrap().to_owned();
    let branch = machines.branch();
    let forged = machines.forge(&branch, &proved);
    let merged = machines.harness.run(&["task", "merge", "1", "--accept"]);
    // The kept ref still has the commit that was proved, and that one is merged.
    assert_eq!(merged.code, 0, "{}{}", merged.stdout, merged.stderr);
    let log = machines.harness.git(&["log", "--format=%H", "main"]);
    assert!(log.contains(&proved) && !log.contains(&forged), "{log}");

    // A remote that has lost the commit is named, and nothing is used.
    let machines = Machines::new();
    let shown = machines.work();
    let proved = shown["proof"]["commit"].as_str().unwrap().to_owned();
    let main = machines.there("refs/heads/main");
    machines.forge(&machines.branch(), &main);
    let kept = format!("refs/windlass/{}/task-1/attempt-1", machines.store());
    machines
        .harness
        .git(&["--git-dir", &machines.url(), "update-ref", "-d", &kept]);
    let refused = machines.harness.run(&["task", "merge", "1", "--accept"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let expected = format!("is commit {}", &proved[..10]);
    assert!(refused.stderr.contains(&expected), "{}", refused.stderr);
}

#[test]
fn p40_moved_branch_of_a_task_is_not_replaced() {
    let machines = Machines::new();
    machines.work();
    let (branch, main) = (machines.branch(), machines.there("refs/heads/main"));
    let forged = machines.forge(&branch, &main);
    machines.json(&["task", "retry", "1", "--yes", "--json"]);
    let worker = machines.elsewhere(&["worker", "--all", "--once"]);
    assert_ne!(worker.code, 0, "{}{}", worker.stdout, worker.stderr);
    assert_eq!(machines.there(&branch), forged, "the commit stays");
    let shown = machines.task();
    assert_ne!(shown["task"]["status"], "completed", "{shown:#}");
}

#[test]
fn hostile_addresses_are_refused() {
    let machines = Machines::unregistered();
    for url in [
        "--upload-pack=touch pwned",
        "ext::sh -c touch% pwned",
        "https://me:secret@127.0.0.1/x.git",
        "ssh://-oProxyCommand=touch/x",
    ] {
        let remote = format!("--remote={url}");
        let refused = machines.harness.run(&["project", "add", &remote]);
        assert_eq!(refused.code, 2, "{url}: {refused:?}");
        assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
        assert!(!refused.stderr.contains("secret"), "{}", refused.stderr);
    }
    // What the name of a remote stands for is checked, too.
    machines
        .harness
        .git(&["remote", "add", "bad", "ext::sh -c id"]);
    let refused = machines.harness.run(&["project", "add", "--remote", "bad"]);
    assert_eq!(refused.code, 2, "{refused:?}");
}

/// A worker is killed while the remote handles its push: before the branch moves, or after it, when the answer is lost.
fn killed_by_hook(hook: &str) -> Machines {
    let machines = Machines::new();
    machines.harness.lease(2);
    machines.json(&["task", "add", "Do it", "--json"]);
    let pid_file = machines.harness.path("worker.pid");
    let script = format!(
        "#!/bin/sh\npid=$(cat {0:?}) || exit 0\nmv {0:?} {0:?}.used\nkill -9 $pid\nexec sleep 1\n",
        pid_file
    );
    executable(&machines.bare.join("hooks").join(hook), &script);
    let mut command = machines.harness.child(&["worker", "--all", "--once"]);
    command
        .env("HOME", machines.harness.path("home2"))
        .current_dir(machines.harness.path("elsewhere"));
    let mut worker = command.spawn().unwrap();
    std::fs::write(&pid_file, worker.id().to_string()).unwrap();
    let status = worker.wait().unwrap();
    assert!(!status.success(), "the worker was killed: {status:?}");
    assert!(!pid_file.exists(), "the hook {hook} has run");
    for _ in 0..60 {
        let next = machines.elsewhere(&["worker", "--all", "--once"]);
        let status = machines.task()["task"]["status"].clone();
        if status == "completed" {
            return machines;
        }
        assert!(next.code == 0, "{next:?}");
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    unreachable!("the task is not completed: {:#}", machines.task());
}

#[test]
fn p40_push_whose_answer_is_lost_is_not_repeated() {
    let machines = killed_by_hook("post-receive");
    let shown = machines.task();
    let attempts = shown["attempts"].as_array().unwrap().clone();
    assert_eq!(attempts.len(), 2, "{attempts:#?}");
    let there = machines.there(&machines.branch());
    assert_eq!(shown["proof"]["commit"], there.as_str());
    let log = machines.harness.git(&[
        "--git-dir",
        &machines.url(),
        "log",
        "-1",
        "--format=%B",
        &there,
    ]);
    assert!(
        log.contains("Attempt: 1"),
        "the first attempt's commit was found: {log}"
    );
}

#[test]
fn p40_push_that_never_arrived_is_made_by_the_next_attempt() {
    let machines = killed_by_hook("pre-receive");
    let there = machines.there(&machines.branch());
    assert_eq!(machines.task()["proof"]["commit"], there.as_str());
}

#[test]
fn hostile_branches_of_the_remote_are_names_only() {
    let machines = Machines::new();
    let main = machines.there("refs/heads/main");
    for name in [
        "--upload-pack=touch",
        "-x",
        "a;touch$IFS'pwned'",
        "$(touch)",
        "\"quoted",
        "HEAD",
        "refs/heads/main",
    ] {
        let name = format!("refs/heads/{name}");
        machines
            .harness
            .git(&["--git-dir", &machines.url(), "update-ref", &name, &main]);
    }
    let shown = machines.work();
    assert_eq!(shown["task"]["status"], "completed", "{shown:#}");
    assert!(!machines.harness.path("elsewhere/pwned").exists());
    // A target that is an option is refused.
    let refused = machines
        .harness
        .run(&["task", "add", "Do it", "--target=--all"]);
    assert_ne!(refused.code, 0, "{refused:?}");
}

#[test]
fn p40_remote_that_disappears_during_a_push_delays_the_task() {
    let machines = Machines::new();
    machines.json(&["task", "add", "Do it", "--attempts", "50", "--json"]);
    let away = machines.harness.path("away.git");
    let hook = machines.bare.join("hooks/pre-receive");
    let script = format!("#!/bin/sh\nmv {:?} {away:?}\nexit 1\n", machines.bare);
    executable(&hook, &script);
    let mut command = machines.harness.child(&["worker", "--all", "--once"]);
    command
        .env("HOME", machines.harness.path("home2"))
        .current_dir(machines.harness.path("elsewhere"));
    let mut worker = command.spawn().unwrap();
    while machines.bare.exists() {
        assert!(worker.try_wait().unwrap().is_none(), "the worker has ended");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    std::fs::remove_file(away.join("hooks/pre-receive")).unwrap();
    std::fs::rename(&away, &machines.bare).unwrap();
    let status = worker.wait().unwrap();
    let shown = machines.task();
    assert_eq!(shown["task"]["status"], "completed", "{status:?} {shown:#}");
    assert_eq!(
        shown["proof"]["commit"],
        machines.there(&machines.branch()).as_str()
    );
}
