//! Logging to stderr. By default only a service logs, and only warnings. The log never contains the text of a prompt,
//! and masks known secrets.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use super::Global;
use super::masking::MaskedStderr;

/// Starts logging. The filter is `WINDLASS_LOG`, or else the number of `-v` flags.
pub(super) fn start(global: &Global, is_service: bool) {
    let filter = EnvFilter::try_from_env("WINDLASS_LOG").unwrap_or_else(|_| {
        EnvFilter::new(match global.verbose {
            0 if is_service => "windlass=warn",
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
        .with_ansi(!global.no_color && std::io::stderr().is_terminal())
        .try_init();
}
