//! Codex's patch format.

use crate::script::Intent;

/// Returns the patch for an intent that changes a file.
pub(super) fn for_intent(intent: &Intent) -> Option<String> {
    let hunk = match intent {
        Intent::WriteFile { path, content } => {
            format!("*** Add File: {path}\n{}", lines('+', content))
        }
        Intent::EditFile { path, old, new } => {
            format!(
                "*** Update File: {path}\n@@\n{}{}",
                lines('-', old),
                lines('+', new)
            )
        }
        _ => return None,
    };
    Some(format!("*** Begin Patch\n{hunk}*** End Patch\n"))
}

/// Prefixes each line. A final line end belongs to the last line and does not start an empty one.
fn lines(prefix: char, text: &str) -> String {
    text.lines()
        .map(|line| format!("{prefix}{line}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(intent: &Intent, expected: Expect) {
        expected.assert_eq(&for_intent(intent).unwrap());
    }

    #[test]
    fn write_adds_a_file_and_edit_updates_it() {
        check(
            &Intent::WriteFile {
                path: "a/b.txt".into(),
                content: "one\n\ntwo\n".into(),
            },
            expect![[r"
                *** Begin Patch
                *** Add File: a/b.txt
                +one
                +
                +two
                *** End Patch
            "]],
        );
        check(
            &Intent::EditFile {
                path: "a.txt".into(),
                old: "one".into(),
                new: "two\nthree".into(),
            },
            expect![[r"
                *** Begin Patch
                *** Update File: a.txt
                @@
                -one
                +two
                +three
                *** End Patch
            "]],
        );
    }
}
