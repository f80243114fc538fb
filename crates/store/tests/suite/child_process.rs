//! Runs parts of a test in a child process, `examples/role.rs`, which can be killed or have its own mounts.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

/// Returns the path of the program, which is built with the tests.
pub(super) fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples/role");
    assert!(
        program.is_file(),
        "run `cargo build -p windlass-store --examples` first"
    );
    program
}

/// Runs a role until it ends, or until it is killed after the timeout.
pub(super) fn run(role: &str, dir: &Path, timeout: Duration) -> Output {
    let mut command = assert_cmd::Command::new(program());
    command.arg(role).arg(dir);
    command.timeout(timeout).output().unwrap()
}

/// Runs a role to its end in its own mount namespace, after the `mount` command.
pub(super) fn run_mounted(role: &str, dir: &Path, mount: &str) {
    let mut command = assert_cmd::Command::new("unshare");
    command.args(["-Urm", "sh", "-euc", &format!("{mount}; exec \"$@\""), "sh"]);
    command.arg(program()).arg(role).arg(dir);
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}\n{stderr}");
    assert!(stdout.ends_with("done\n"), "{stdout}");
}
