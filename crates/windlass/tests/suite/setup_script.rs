//! `scripts/setup` on machines with missing tools, with fake versions of the tools that it calls.

use std::path::Path;

use assert_cmd::Command;

#[test]
fn setup_reports_failures_and_resumes() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/test-setup");
    let output = Command::new(script).output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
