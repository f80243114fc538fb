//! The `windlass` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The same program is also the first process of every sandbox; then it never comes back from here.
    windlass_sandbox::init::run_if_invoked();
    // And the demonstration server of scenarios.
    windlass_mcp::demo::run_if_invoked();
    windlass::cli::main(windlass::default_registry())
}
