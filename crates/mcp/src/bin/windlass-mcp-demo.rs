//! The demonstration server standing alone, for programs that are not `windlass` and for tests.

fn main() -> std::process::ExitCode {
    windlass_mcp::demo::run_if_invoked();
    // Started by a person: there is no command line to it.
    std::process::ExitCode::from(2)
}
