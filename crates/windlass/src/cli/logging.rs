//! Logs: on stderr, quiet unless asked for, and never with the text of a prompt in them.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Starts logging. `WINDLASS_LOG` decides what is said, else the number of `-v`.
pub(super) fn start(verbose: u8, no_color: bool) {
    let filter = EnvFilter::try_from_env("WINDLASS_LOG").unwrap_or_else(|_| {
        EnvFilter::new(match verbose {
            0 => "off",
            1 => "windlass=info",
            2 => "windlass=debug",
            // The MCP client traces whole messages, and what is in them is not ours to log.
            _ => "trace,rmcp=warn",
        })
    });
    // A second start, as in a program that embeds this one, keeps the first.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(!no_color && std::io::stderr().is_terminal())
        .try_init();
}
