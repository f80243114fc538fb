//! What the text of a path says by itself, before anything is looked up. Pure.

use super::error::{PathError, Result};

/// The longest path the kernel takes, its final NUL included.
const PATH_BYTES: usize = 4096;

/// Refuses what no path in a workspace looks like. What is left is for the kernel to judge.
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
        return Err(PathError::escape(path, "the path has a form of Windows"));
    }
    if path.contains('\\') {
        return Err(PathError::refused(path, "folders are divided by /, not \\"));
    }
    if path.len() >= PATH_BYTES {
        return Err(PathError::refused(&shortened(path), "the path is too long"));
    }
    Ok(())
}

/// A drive, a share, or a step up that only Windows would see.
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

/// Refuses what may be read but not written, by where it really lies: parts from the root down.
pub(super) fn check_write(path: &str, real: &[&str]) -> Result<()> {
    if real.iter().any(|part| is_git(part)) {
        return Err(PathError::refused(
            path,
            "git obeys what lies there, so only git writes it",
        ));
    }
    let top = real.first().map(|part| folded(part));
    if top.is_some_and(|top| windlass_sandbox::PROTECTED_NAMES.contains(&top.as_str())) {
        return Err(PathError::refused(
            path,
            "programs outside obey it, so nobody inside writes it",
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

/// Whether some file system takes this name for `.git`.
fn is_git(part: &str) -> bool {
    let folded = folded(part);
    let short = folded.strip_prefix("git~");
    folded == ".git"
        || short.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// A name as the most careless file system would see it: letters of one case, without what cannot be
/// seen, without trailing dots and spaces, without the name of a stream.
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

/// The ASCII letter that a wide or a dotless one is easily taken for.
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
    fn p17_a_path_that_is_written_to_lead_out_is_an_escape() {
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
    fn p17_a_path_that_is_none_is_refused() {
        let long = "x/".repeat(2048);
        for path in ["", "a\0b", "a\\b", &long] {
            let error = check(path).unwrap_err();
            assert!(matches!(error, PathError::Refused { .. }), "{path:?}");
            assert!(error.to_string().len() < 300);
        }
    }

    #[test]
    fn what_the_kernel_can_judge_is_left_to_it() {
        for path in [
            "a", "./a", "a/./b", "a/../b", "..", "-rf", "a.", "…/é", "a b", "ab:c",
        ] {
            assert!(check(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn p17_every_spelling_of_git_is_git() {
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
    fn p16_what_programs_outside_obey_is_refused_at_the_top() {
        for name in [".envrc", ".vscode", ".Claude", ".mcp.json", ".bashrc"] {
            assert!(check_write("x", &[name]).is_err(), "{name}");
            assert!(check_write("x", &["fixtures", name]).is_ok(), "{name}");
        }
        assert!(check_write("x", &["a\nb"]).is_err());
    }
}
