//! The `windlass` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The same program is also the first process of every sandbox; then it never comes back from here.
    windlass_sandbox::init::main_if_asked();
    // And the demonstration server of scenarios.
    windlass_mcp::demo::main_if_asked();
    windlass::cli::main(windlass::default_registry())
}
