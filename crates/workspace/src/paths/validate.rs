//! Checks of a path's text, before anything is looked up. Pure functions.

use super::error::{PathError, Result};

/// The longest path the kernel accepts, including the final NUL.
const MAX_PATH_BYTES: usize = 4096;

/// Rejects text that cannot be a path in a workspace. The kernel checks the rest.
pub(super) fn check(path: &str) -> Result<()> {
    if path.is_empty() {
        return Err(PathError::refused(path, "the path is empty"));
    }
    if path.contains('\0') {
        return Err(PathError::refused(path, "the path contains a NUL byte"));
    }
    if path.starts_with('/') {
        return Err(PathError::escape(path, "the path is absolute"));
    }
    if is_windows(path) {
        return Err(PathError::escape(path, "the path is a Windows path"));
    }
    if path.contains('\\') {
        return Err(PathError::refused(path, "use / as the separator, not \\"));
    }
    if path.len() >= MAX_PATH_BYTES {
        return Err(PathError::refused(&shortened(path), "the path is too long"));
    }
    Ok(())
}

/// Returns `true` for a drive, a network share, or a parent reference that only Windows would see.
fn is_windows(path: &str) -> bool {
    let mut letters = path.chars();
    let drive = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && letters.next() == Some(':');
    drive
        || path.starts_with('\\')
        || path.split(['/', '\\']).any(|part| part == "..") && path.contains('\\')
}

fn shortened(path: &str) -> String {
    let head: String = path.chars().take(60).collect();
    format!("{head}…")
}

/// Rejects paths that may be read but not written, by their real path: parts relative to the root.
pub(super) fn check_write(path: &str, real: &[&str]) -> Result<()> {
    if real.iter().any(|part| is_git(part)) {
        return Err(PathError::refused(
            path,
            "protected: only git may write inside a git directory",
        ));
    }
    let top = real.first().map(|part| folded(part));
    if top.is_some_and(|top| windlass_sandbox::PROTECTED_NAMES.contains(&top.as_str())) {
        return Err(PathError::refused(
            path,
            "protected file: programs outside the sandbox execute it",
        ));
    }
    if real.iter().any(|part| part.chars().any(char::is_control)) {
        return Err(PathError::refused(
            path,
            "the name contains a control character",
        ));
    }
    Ok(())
}

/// Returns `true` if some file system treats this name as `.git`.
fn is_git(part: &str) -> bool {
    let folded = folded(part);
    let short = folded.strip_prefix("git~");
    folded == ".git"
        || short.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns a name as the least strict file system would see it: lowercase, without invisible
/// characters, trailing dots and spaces, and without the name of a stream.
fn folded(part: &str) -> String {
    let visible = part.chars().filter(|letter| !is_ignorable(*letter));
    let plain: String = visible
        .map(narrow)
        .flat_map(char::to_lowercase)
        .filter(|letter| *letter != '\u{307}')
        .collect();
    let name = plain.split(':').next().unwrap_or_default();
    name.trim_end_matches(['.', ' ']).to_owned()
}

fn is_ignorable(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// Returns the ASCII letter that a full-width or dotless one resembles.
fn narrow(letter: char) -> char {
    match letter {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(letter) - 0xfee0).unwrap_or(letter),
        'ı' => 'i',
        '\u{2024}' => '.',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p17_absolute_and_windows_paths_are_escapes() {
        for path in [
            "/etc/passwd",
            "/",
            "//x",
            "C:\\x",
            "c:x",
            "C:/x",
            "\\\\server\\share",
            "\\x",
            "a\\..\\b",
            "..\\x",
        ] {
            assert!(check(path).unwrap_err().is_escape(), "{path}");
        }
    }

    #[test]
    fn p17_invalid_paths_are_rejected() {
        let long = "x/".repeat(2048);
        for path in ["", "a\0b", "a\\b", &long] {
            let error = check(path).unwrap_err();
            assert!(matches!(error, PathError::Refused { .. }), "{path:?}");
            assert!(error.to_string().len() < 300);
        }
    }

    #[test]
    fn paths_that_the_kernel_can_check_are_accepted() {
        for path in [
            "a", "./a", "a/./b", "a/../b", "..", "-rf", "a.", "…/é", "a b", "ab:c",
        ] {
            assert!(check(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn p17_every_spelling_of_dot_git_is_protected() {
        for name in [
            ".git",
            ".GIT",
            ".Git",
            ".git.",
            ".git ",
            ".git. .",
            ".git::$INDEX_ALLOCATION",
            "git~1",
            "GIT~2",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".ｇｉｔ",
            ".gıt",
            ".gİt",
            "．git",
        ] {
            let refused = check_write("x", &["sub", name, "hooks"]);
            assert!(refused.is_err(), "{name:?}");
        }
        for name in [
            ".gitignore",
            ".github",
            "git",
            ".gitattributes",
            "git~",
            "git~x",
            "digit",
        ] {
            assert!(check_write("x", &[name]).is_ok(), "{name}");
        }
    }

    #[test]
    fn p16_protected_names_are_rejected_at_top_level() {
        for name in [".envrc", ".vscode", ".Claude", ".mcp.json", ".bashrc"] {
            assert!(check_write("x", &[name]).is_err(), "{name}");
            assert!(check_write("x", &["fixtures", name]).is_ok(), "{name}");
        }
        assert!(check_write("x", &["a\nb"]).is_err());
    }
}
