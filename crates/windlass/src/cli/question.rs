//! Prints a permission request with its options.

use windlass_core::PermissionRequest;
use windlass_server::brief;

use super::console::{Console, STRONG, WARNING};

/// Prints what the agent requests, and its options with their numbers.
pub(super) fn print(console: &Console, request: &PermissionRequest) {
    let line = format!(
        "{} requests permission: {} {}",
        request.agent,
        request.tool,
        brief(&request.input)
    );
    console.progress(WARNING, &line);
    for (index, option) in request.options.iter().enumerate() {
        let line = format!("  {}  {}", index + 1, option.label);
        console.progress(STRONG, &line);
    }
}
