//! P12: no output grows memory without limit, and no input is lost.

use tokio::io::AsyncWriteExt;
use windlass_sandbox::{Mechanism, ProcessLimits, Profile, Stdin};

use super::support::{ALL, User};

const GIB: u64 = 1 << 30;
const ALLOWED_GROWTH: u64 = 32 << 20;

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        << 10
}

#[tokio::test]
async fn p12_one_gib_of_lines_needs_constant_memory() {
    let user = User::new();
    let script = format!("yes $(printf 'y%.0s' {{1..999}}) | head -c {GIB}");
    let mut child = user
        .sandbox(Mechanism::Bubblewrap)
        .await
        .spawn(user.script(Profile::tool(), &script))
        .unwrap();
    let before = resident_bytes();
    let (mut read, mut highest) = (0, before);
    while let Some(line) = child.stdout.next().await.unwrap() {
        assert!(!line.is_truncated());
        read += line.bytes().len() as u64 + 1;
        if read % (16 << 20) < 1000 {
            highest = highest.max(resident_bytes());
        }
    }
    assert!(child.wait().await.unwrap().success());
    assert!(read >= GIB);
    println!(
        "P12 1 GiB in lines: {} KiB more memory",
        (highest - before) >> 10
    );
    assert!(highest - before < ALLOWED_GROWTH);
}

#[tokio::test]
async fn p12_one_gib_line_is_truncated_and_marked() {
    let user = User::new();
    let script = format!("yes | tr -d '\\n' | head -c {GIB}; echo; echo after");
    let mut child = user
        .sandbox(Mechanism::Bubblewrap)
        .await
        .spawn(user.script(Profile::tool(), &script))
        .unwrap();
    let before = resident_bytes();
    let line = child.stdout.next().await.unwrap().unwrap();
    let growth = resident_bytes().saturating_sub(before);
    assert_eq!(line.bytes().len() as u64 + line.dropped_bytes(), GIB);
    assert!(
        line.text()
            .contains(&format!("[… {} bytes cut …]", line.dropped_bytes()))
    );
    assert_eq!(child.stdout.next().await.unwrap().unwrap().text(), "after");
    println!("P12 1 GiB in one line: {} KiB more memory", growth >> 10);
    assert!(growth < ALLOWED_GROWTH);
}

#[tokio::test]
async fn p12_stderr_flood_neither_blocks_nor_grows() {
    let user = User::new();
    let spec = user.script(
        Profile::tool(),
        "echo first >&2; yes | head -c 50000000 >&2; echo last >&2; echo done",
    );
    let output = user
        .sandbox(Mechanism::Bubblewrap)
        .await
        .run(spec)
        .await
        .unwrap();
    assert_eq!(output.stdout.text(), "done\n");
    let stderr = output.stderr;
    assert_eq!(stderr.bytes().len(), ProcessLimits::default().output_bytes);
    assert!(
        stderr.is_truncated()
            && stderr.text().starts_with("first")
            && stderr.text().ends_with("last\n")
    );
}

#[tokio::test]
async fn p12_run_output_keeps_head_and_tail() {
    let user = User::new();
    let limits = ProcessLimits {
        output_bytes: 20,
        ..ProcessLimits::default()
    };
    let spec = user
        .script(Profile::tool(), "echo beginning; seq 1000; echo the end")
        .limits(limits);
    let output = user
        .sandbox(Mechanism::Bubblewrap)
        .await
        .run(spec)
        .await
        .unwrap();
    assert_eq!(
        output.stdout.text(),
        "beginning\n[… 3891 bytes cut …]0\nthe end\n"
    );
}

#[tokio::test]
async fn input_arrives_complete_and_is_closed() {
    let user = User::new();
    let prompt = "a prompt longer than any pipe or argument. ".repeat(100_000);
    for mechanism in ALL {
        let sandbox = user.sandbox(mechanism).await;
        let spec = user
            .script(Profile::agent(), "wc -c")
            .stdin(Stdin::Bytes(prompt.clone().into()));
        assert_eq!(
            sandbox.run(spec).await.unwrap().stdout.text().trim(),
            prompt.len().to_string()
        );

        let mut child = sandbox
            .spawn(user.script(Profile::agent(), "cat").stdin(Stdin::Pipe))
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"question\n").await.unwrap();
        assert_eq!(
            child.stdout.next().await.unwrap().unwrap().text(),
            "question",
            "{mechanism}"
        );
        drop(stdin);
        assert!(child.stdout.next().await.unwrap().is_none());
        assert!(child.wait().await.unwrap().success());
    }
}

#[tokio::test]
async fn input_is_dev_null_by_default() {
    let user = User::new();
    for mechanism in ALL {
        let output = user
            .run(mechanism, Profile::agent(), "cat; readlink /proc/self/fd/0")
            .await;
        assert_eq!(output.stdout.text(), "/dev/null\n");
    }
}

#[tokio::test]
async fn largest_durations_do_not_overflow() {
    let user = User::new();
    let limits = ProcessLimits {
        deadline: std::time::Duration::MAX,
        stall: Some(std::time::Duration::MAX),
        ..ProcessLimits::default()
    };
    let spec = user.script(Profile::tool(), "echo done").limits(limits);
    let sandbox = user.sandbox(Mechanism::Bubblewrap).await;
    assert_eq!(sandbox.run(spec).await.unwrap().stdout.text(), "done\n");
}
