//! The `windlass` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The same executable is also the init process of every sandbox. In that case this call does not return.
    windlass_sandbox::init::run_if_invoked();
    // It is also the demo MCP server that scenarios use.
    windlass_mcp::demo::run_if_invoked();
    windlass::cli::main(windlass::default_registry())
}
