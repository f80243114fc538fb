//! Turns that may not write, with an agent that writes without asking.

use std::path::Path;

use super::cli_harness::{Harness, Run};

/// Runs a command in the project with an agent that may do anything by its own settings.
fn run(harness: &Harness, permissions: &str, args: &[&str]) -> Run {
    let peer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/tests/peer/acp-peer");
    let peer = peer.canonicalize().unwrap();
    let config = harness.config(&format!(
        "default_agent = \"peer\"\n[agents.peer]\nbackend = \"acp\"\ncommand = [\"{}\", \"writes\"]\npermissions = \"{permissions}\"\n",
        peer.display()
    ));
    let mut command = harness.windlass();
    command.args(args).arg("--config").arg(config);
    Run::of(&mut command)
}

#[test]
fn p16_turns_that_may_not_write_leave_the_project_unchanged() {
    let harness = Harness::new();
    for (permissions, args) in [
        ("allow", &["ask", "--read-only", "hello.txt"][..]),
        ("deny", &["ask", "hello.txt"][..]),
        ("ask", &["ask", "hello.txt"][..]),
        (
            "allow",
            &["run", "--planner", "peer", "--coder", "peer", "hello.txt"][..],
        ),
    ] {
        let output = run(&harness, permissions, args);
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(all.contains("Read-only file system"), "{args:?}: {all}");
        let says_so =
            all.contains("note: the turn was read-only: the agent could not change files");
        assert_eq!(says_so, args[0] == "ask", "{args:?}: {all}");
        let names: Vec<_> = harness.project().read_dir().unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "{args:?}: {names:?}");
    }
    let output = run(&harness, "allow", &["ask", "hello.txt"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(harness.project().join("hello.txt").exists());
}

#[test]
fn new_repository_is_reported() {
    let harness = Harness::new();
    std::fs::create_dir_all(harness.project().join("nested")).unwrap();
    let output = run(&harness, "allow", &["ask", "nested/.git"]);
    assert!(
        output.stderr.contains("created a git repository in nested"),
        "{}",
        output.stderr
    );
}
