//! File intents as shell commands, for agents that offer no other tool.

use crate::script::Intent;

/// Replaces a text once, and fails if it is not found.
const REPLACE: &str = r"$n += s/\Q$ENV{OLD}\E/$ENV{NEW}/; END { $? = $n ? 0 : 1 }";

/// Returns the shell command for an intent, if there is one.
pub(super) fn for_intent(intent: &Intent) -> Option<String> {
    Some(match intent {
        Intent::Shell { command } => command.clone(),
        Intent::ReadFile { path } => format!("cat -- {}", quoted(path)),
        Intent::WriteFile { path, content } => {
            let write = format!("printf %s {} > {}", quoted(content), quoted(path));
            match path.rsplit_once('/') {
                Some((dir, _)) if !dir.is_empty() => {
                    format!("mkdir -p -- {} && {write}", quoted(dir))
                }
                _ => write,
            }
        }
        Intent::EditFile { path, old, new } => format!(
            "OLD={} NEW={} perl -0777 -pi -e {} -- {}",
            quoted(old),
            quoted(new),
            quoted(REPLACE),
            quoted(path)
        ),
        Intent::Mcp { .. }
        | Intent::McpResources { .. }
        | Intent::McpResource { .. }
        | Intent::Raw { .. } => return None,
    })
}

/// Quotes a text for the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
