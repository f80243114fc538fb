//! The standalone demo server, for tests and for programs other than `windlass`.

fn main() -> std::process::ExitCode {
    windlass_mcp::demo::run_if_invoked();
    // Started without the internal argument: there is no command-line interface.
    std::process::ExitCode::from(2)
}
