//! Logging to stderr. It is off by default, never contains the text of a prompt, and masks known secrets.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use super::masking::MaskedStderr;

/// Starts logging. The filter is `WINDLASS_LOG`, or else the number of `-v` flags.
pub(super) fn start(verbose: u8, no_color: bool) {
    let filter = EnvFilter::try_from_env("WINDLASS_LOG").unwrap_or_else(|_| {
        EnvFilter::new(match verbose {
            0 => "off",
            1 => "windlass=info",
            2 => "windlass=debug",
            // The MCP client traces whole messages, which may contain private data.
            _ => "trace,rmcp=warn",
        })
    });
    // If a program that embeds this one has already started logging, its logger stays.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| MaskedStderr)
        .with_ansi(!no_color && std::io::stderr().is_terminal())
        .try_init();
}
