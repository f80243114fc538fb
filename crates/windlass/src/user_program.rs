//! Runs the user's own programs, `git config` and `ssh-keygen`, outside the sandbox: they need the user's settings, keys
//! and ssh agent. Nothing that an agent wrote chooses the program or its arguments.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use windlass_sandbox::{
    CommandSpec, Host, Mechanism, Output, ProcessLimits, Profile, Sandbox, Stdin,
};

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

/// Maximum size of the stored output of a program.
const MAX_OUTPUT_BYTES: usize = 1 << 20;

/// A program that runs as the user would run it, with the whole environment.
pub(crate) struct UserProgram<'a> {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: &'a Path,
    /// Variables that are replaced, or removed if they have no value.
    pub(crate) variables: &'a [(&'static str, Option<OsString>)],
    pub(crate) input: Vec<u8>,
    pub(crate) deadline: Duration,
}

/// Runs a program with the user's environment. Only the user, or a configuration that the user trusts, may choose it.
pub(crate) async fn run_as_user(program: UserProgram<'_>) -> Result<Output, String> {
    let sandbox = Sandbox::with_mechanism(Host::current(), Mechanism::None).await;
    let sandbox = sandbox.map_err(|error| error.to_string())?;
    let limits = ProcessLimits {
        deadline: program.deadline,
        output_bytes: MAX_OUTPUT_BYTES,
        ..ProcessLimits::default()
    };
    let mut spec = CommandSpec::new(program.program, program.cwd, Profile::tool())
        .args(program.args)
        .stdin(Stdin::Bytes(program.input))
        .limits(limits);
    let replaced = |name: &OsString| program.variables.iter().any(|(other, _)| name == other);
    for (name, value) in std::env::vars_os().filter(|(name, _)| !replaced(name)) {
        spec = spec.env(name, value);
    }
    for (name, value) in program.variables {
        if let Some(value) = value {
            spec = spec.env(name, value);
        }
    }
    sandbox.run(spec).await.map_err(|error| error.to_string())
}
