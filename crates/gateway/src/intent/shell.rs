//! What a file intent is in the words of a shell, for agents that offer nothing better.

use crate::script::Intent;

/// Replaces a text once, and fails where it is not there.
const REPLACE: &str = r"$n += s/\Q$ENV{OLD}\E/$ENV{NEW}/; END { $? = $n ? 0 : 1 }";

/// The command that does this, if a shell can.
pub(super) fn for_intent(intent: &Intent) -> Option<String> {
    Some(match intent {
        Intent::Shell { command } => command.clone(),
        Intent::ReadFile { path } => format!("cat -- {}", quoted(path)),
        Intent::WriteFile { path, content } => {
            let write = format!("printf %s {} > {}", quoted(content), quoted(path));
            match path.rsplit_once('/') {
                Some((folder, _)) if !folder.is_empty() => {
                    format!("mkdir -p -- {} && {write}", quoted(folder))
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

/// The text as one word of the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
