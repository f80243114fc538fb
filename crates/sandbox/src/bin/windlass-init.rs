//! The separately installed init program, for programs other than `windlass` and for tests.

fn main() -> std::process::ExitCode {
    windlass_sandbox::init::run_if_invoked();
    // Started by a person: the program has no command line interface.
    std::process::ExitCode::from(2)
}
