//! Several machines as network namespaces. `scripts/many-machines` makes them, breaks them, and checks the
//! outcome of every task.

use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;

/// Two faults of one machine that begin together leave one worker, and every worker ends or is named.
#[test]
fn faults_of_a_machine_leave_one_worker() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines/one_worker.py");
    Command::new("/usr/bin/python3")
        .arg(script)
        .timeout(Duration::from_secs(60))
        .assert()
        .success();
}

mod needs_root {
    use super::*;

    /// Runs the script with these options. Its last lines say what is wrong, and its first one how to repeat it.
    #[track_caller]
    #[expect(clippy::print_stdout, reason = "prints the faults and the counts")]
    fn run_machines(parts: &[&str], options: &[&str], timeout: Duration) {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
        let setup = Command::new(scripts.join("setup"))
            .arg("--only")
            .args(parts)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&setup.stderr);
        assert!(setup.status.success(), "{stderr}");
        let output = Command::new("/usr/bin/python3")
            .arg(scripts.join("many-machines"))
            .arg("--binary")
            .arg(assert_cmd::cargo::cargo_bin("windlass"))
            .args(options)
            .timeout(timeout)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        println!("{printed}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{printed}{stderr}");
    }

    #[test]
    fn p2_p3_p4_p8_p14_p40_faults_of_machines_lose_nothing() {
        let options = ["--tasks", "20", "--seconds", "22", "--lease", "5"];
        run_machines(&["machines"], &options, Duration::from_secs(280));
    }

    #[test]
    #[ignore = "full: ten minutes of faults on six machines"]
    fn p2_p3_p4_p8_p14_p40_ten_minutes_of_faults_lose_nothing() {
        run_machines(&["machines"], &[], Duration::from_secs(3_000));
    }

    #[test]
    #[ignore = "full: starts the real Codex and Claude Code on two machines"]
    fn p40_real_codex_and_claude_land_a_diamond_from_two_machines() {
        let parts = ["machines", "agents"];
        run_machines(&parts, &["--goal"], Duration::from_secs(800));
    }
}
