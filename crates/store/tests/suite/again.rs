//! This test program once more, as a process that can be killed or shut in.
//!
//! A role is a test that does nothing unless it is asked to play.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

/// The variable that names the folder a role plays in.
const FOLDER: &str = "WINDLASS_STORE_ROLE";

/// The folder to play in, if this process was started to.
pub(super) fn folder() -> Option<std::path::PathBuf> {
    std::env::var_os(FOLDER).map(Into::into)
}

fn arguments(role: &str) -> [&str; 4] {
    [role, "--exact", "--nocapture", "--test-threads=1"]
}

/// Plays a role until it ends, or until it is killed after this long.
pub(super) fn play(role: &str, folder: &Path, until: Duration) -> Output {
    let mut command = assert_cmd::Command::new(std::env::current_exe().unwrap());
    command.args(arguments(role)).env(FOLDER, folder);
    command.timeout(until).output().unwrap()
}

/// Plays a role to its end where `mount` has been run first, in a namespace of its own.
pub(super) fn play_mounted(role: &str, folder: &Path, mount: &str) {
    let mut command = assert_cmd::Command::new("unshare");
    command.args(["-Urm", "sh", "-euc", &format!("{mount}; exec \"$@\""), "sh"]);
    command
        .arg(std::env::current_exe().unwrap())
        .args(arguments(role));
    let output = command.env(FOLDER, folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.contains("1 passed"), "{said}");
}
