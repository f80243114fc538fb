//! The init program of this crate's tests, and a program that runs a command in the sandbox.

use std::process::ExitCode;

use windlass_sandbox::init;

fn main() -> ExitCode {
    // First, before a second thread exists: a sandboxed command is started through this program.
    init::run_if_invoked();
    ExitCode::SUCCESS
}
