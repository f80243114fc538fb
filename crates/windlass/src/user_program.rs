//! Runs the user's own programs, `git config` and `ssh-keygen`, outside the sandbox: they need the user's settings, keys
//! and ssh agent. Nothing that an agent wrote chooses the program or its arguments.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use windlass_sandbox::{CommandSpec, Host, Mechanism, Output, Profile, Sandbox, Stdin};

/// Time limit of one program. A hardware key may wait for a touch.
const DEADLINE: Duration = Duration::from_secs(60);

/// Variables that the programs need.
const VARIABLES: &[&str] = &[
    "HOME",
    "XDG_CONFIG_HOME",
    "GIT_CONFIG_GLOBAL",
    "SSH_AUTH_SOCK",
];

/// Runs a program in `cwd` with this input, and returns its output.
pub(crate) async fn run(
    program: &str,
    args: &[OsString],
    cwd: &Path,
    input: Vec<u8>,
) -> Result<Output, String> {
    let sandbox = Sandbox::with_mechanism(Host::current(), Mechanism::None).await;
    let sandbox = sandbox.map_err(|error| error.to_string())?;
    let mut spec = CommandSpec::new(program, cwd, Profile::tool())
        .args(args.iter().cloned())
        .stdin(Stdin::Bytes(input))
        .deadline(DEADLINE);
    for name in VARIABLES {
        if let Some(value) = std::env::var_os(name) {
            spec = spec.env(name, value);
        }
    }
    let output = sandbox.run(spec).await;
    output.map_err(|error| error.to_string())
}
