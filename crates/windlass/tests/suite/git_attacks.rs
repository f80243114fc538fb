//! Clients that disconnect, lie or send too much, and a server that is killed during a push.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::git_remote::Team;
use super::serve_harness::ServeProcess;

/// A ref of a task.
const BRANCH: &str = "refs/heads/windlass/s/task-1";

/// Sends the beginning of a push: its commands, and a part of its objects.
fn begin_push(team: &Team, name: &str) -> TcpStream {
    let old = "0".repeat(40);
    let new = team.harness.git(&["rev-parse", "HEAD"]);
    let line = format!("{old} {} {name}\0 report-status\n", new.trim());
    let mut body = format!("{:04x}{line}0000PACK", line.len() + 4).into_bytes();
    body.extend([0, 0, 0, 2, 0, 0, 0, 3, 0x95]);
    let addr = &team.serving.addr;
    let basic = STANDARD.encode(format!("me:{}", team.serving.token));
    let head = format!(
        "POST /git/project.git/git-receive-pack HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Basic {basic}\r\n\
         Content-Type: application/x-git-receive-pack-request\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&body).unwrap();
    stream.write_all(b"\r\n").unwrap();
    stream
}

/// Waits until git receives a push, or none.
#[track_caller]
fn wait_for_git(team: &Team, is_running: bool) {
    for _ in 0..400 {
        let processes = team.harness.processes();
        if processes.iter().any(|line| line.contains("receive-pack")) == is_running {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    unreachable!("{:#?}", team.harness.processes());
}

#[track_caller]
fn check(team: &Team) {
    let bare = team.bare();
    let fsck = [
        "--git-dir",
        bare.to_str().unwrap(),
        "fsck",
        "--full",
        "--strict",
    ];
    team.harness.git(&fsck);
    assert_eq!(team.there(BRANCH), "");
    let pushed = team.git(
        &team.serving.token,
        &["push", &team.url(), &format!("HEAD:{BRANCH}")],
    );
    assert_eq!(pushed.code, 0, "{pushed:?}");
}

#[test]
fn client_that_disconnects_during_a_push_leaves_nothing() {
    let team = Team::new();
    // More than may run at the same time: each one frees its slot.
    for _ in 0..6 {
        let stream = begin_push(&team, BRANCH);
        wait_for_git(&team, true);
        drop(stream);
        wait_for_git(&team, false);
    }
    check(&team);
    let pushes = team.pushes();
    let ended = pushes.iter().filter(|(who, result, subject)| {
        who == "owner" && result != "ok" && subject.contains(BRANCH)
    });
    assert_eq!(ended.count(), 6, "{pushes:#?}");
}

#[test]
fn p40_repository_is_whole_after_the_server_was_killed_during_a_push() {
    let mut team = Team::new();
    let _stream = begin_push(&team, BRANCH);
    wait_for_git(&team, true);
    team.serving.child.kill().unwrap();
    team.serving.child.wait().unwrap();
    wait_for_git(&team, false);
    // What a process leaves that is killed between the two steps in which git moves a ref.
    let lock = team.bare().join(format!("{BRANCH}.lock"));
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    let left = std::fs::File::create(&lock).unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    left.set_modified(long_ago).unwrap();
    team.serving = ServeProcess::start(&team.harness, &["--no-worker", "--git"]);
    check(&team);
    let objects = std::fs::read_dir(team.bare().join("objects")).unwrap();
    let names = objects.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = names.filter(|name| name.starts_with("tmp_")).collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn large_push_arrives_and_broken_objects_do_not() {
    let team = Team::new();
    let mut bytes = vec![0; 12 << 20];
    std::fs::File::open("/dev/urandom")
        .unwrap()
        .read_exact(&mut bytes)
        .unwrap();
    std::fs::write(team.harness.project().join("large.bin"), &bytes).unwrap();
    team.harness.git(&["add", "-A"]);
    team.harness.git(&["commit", "-q", "-m", "Large"]);
    let owner = team.serving.token.clone();
    let pushed = team.git(&owner, &["push", &team.url(), "main"]);
    assert_eq!(pushed.code, 0, "{pushed:?}");
    let clone = team.harness.path("clone");
    let cloned = team.git(
        &owner,
        &["clone", "-q", &team.url(), clone.to_str().unwrap()],
    );
    assert_eq!(cloned.code, 0, "{cloned:?}");
    assert!(std::fs::read(clone.join("large.bin")).unwrap() == bytes);

    // A tree with a path that leaves it.
    let blob = team.harness.git(&["rev-parse", "HEAD:greet.sh"]);
    let entry = format!(
        "040000 tree {}\t.git\n",
        team.harness.git(&["rev-parse", "HEAD^{tree}"]).trim()
    );
    assert!(!blob.is_empty());
    let mut make = assert_cmd::Command::new("git");
    let tree = make
        .current_dir(team.harness.project())
        .arg("mktree")
        .write_stdin(entry)
        .output()
        .unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    let commit = team
        .harness
        .git(&["commit-tree", "-m", "Evil", tree.trim()]);
    let refspec = format!("{}:{BRANCH}", commit.trim());
    let refused = team.git(&owner, &["push", &team.url(), &refspec]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(refused.stderr.contains("hasDotgit"), "{refused:?}");
    assert_eq!(team.there(BRANCH), "");
    let pushes = team.pushes();
    assert_eq!(pushes[0].1, "rejected", "{pushes:#?}");
}

#[test]
fn p16_git_of_the_server_uses_no_settings_of_anyone() {
    let team = Team::new();
    let bare = team.bare();
    // No push can put such files there; if one could, they would not be used.
    let hook = bare.join("hooks/pre-receive");
    let trap = team.harness.path("trap");
    let script = format!("#!/bin/sh\ntouch {trap:?}\n");
    super::publishing::executable(&hook, &script);
    let settings = format!(
        "[core]\n\thooksPath = {:?}\n[uploadpack]\n\tpackObjectsHook = {hook:?}\n",
        bare.join("hooks")
    );
    std::fs::write(team.harness.home().join(".gitconfig"), settings).unwrap();
    team.commit("More");
    let owner = team.serving.token.clone();
    let pushed = team.git(&owner, &["push", &team.url(), "main"]);
    assert_eq!(pushed.code, 0, "{pushed:?}");
    let clone = team.harness.path("clone");
    let cloned = team.git(
        &owner,
        &["clone", "-q", &team.url(), clone.to_str().unwrap()],
    );
    assert_eq!(cloned.code, 0, "{cloned:?}");
    assert!(!trap.exists());
}
