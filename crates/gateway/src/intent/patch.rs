//! Codex's patch format.

use crate::script::Intent;

/// The patch that does this, if it is a change to a file.
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

/// The text with each line marked. A last line end is that of the last line, not the beginning of an empty one.
fn lines(mark: char, text: &str) -> String {
    text.lines().map(|line| format!("{mark}{line}\n")).collect()
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
    fn a_write_adds_and_an_edit_updates() {
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
