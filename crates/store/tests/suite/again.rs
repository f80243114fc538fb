//! Parts of a test that run in a process of their own, `examples/role.rs`: it can be killed, or have its own mounts.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

/// The program, which is built along with the tests.
pub(super) fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples/role");
    assert!(
        program.is_file(),
        "run `cargo build -p windlass-store --examples` first"
    );
    program
}

/// Plays a role until it ends, or until it is killed after this long.
pub(super) fn play(role: &str, folder: &Path, until: Duration) -> Output {
    let mut command = assert_cmd::Command::new(program());
    command.arg(role).arg(folder);
    command.timeout(until).output().unwrap()
}

/// Plays a role to its end where `mount` has been run first, in a namespace of its own.
pub(super) fn play_mounted(role: &str, folder: &Path, mount: &str) {
    let mut command = assert_cmd::Command::new("unshare");
    command.args(["-Urm", "sh", "-euc", &format!("{mount}; exec \"$@\""), "sh"]);
    command.arg(program()).arg(role).arg(folder);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.ends_with("done\n"), "{said}");
}
