//! The exit and the error output of a demo server.

use std::io::{self, Write};

#[expect(
    clippy::exit,
    reason = "one variant of the demo server exits during a call"
)]
pub(super) fn exit(code: i32) -> ! {
    std::process::exit(code)
}

pub(super) fn write_stderr(message: &str) -> io::Result<()> {
    writeln!(io::stderr(), "{message}")
}
