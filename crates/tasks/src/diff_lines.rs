//! The lines of a diff that a comment can be about.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::review::{DiffSide, MAX_REVIEW_QUOTE_BYTES, ReviewComment};

/// A line of a diff, with its position in the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedLine<'a> {
    /// The line as git printed it, without its end.
    pub text: &'a str,
    /// The file, once its header was seen.
    pub path: Option<Arc<str>>,
    /// The number of the line in the old file.
    pub old: Option<u32>,
    /// The number of the line in the new file.
    pub new: Option<u32>,
}

impl PlacedLine<'_> {
    /// Returns an empty comment on this line or, for a line of a header, on its file.
    pub fn comment(&self) -> Option<ReviewComment> {
        let (line, side) = match (self.new, self.old) {
            (Some(new), _) => (Some(new), DiffSide::New),
            (None, Some(old)) => (Some(old), DiffSide::Old),
            (None, None) => (None, DiffSide::New),
        };
        Some(ReviewComment {
            path: self.path.as_deref()?.to_owned(),
            line,
            side,
            quote: line.map(|_| quote(self.text)),
            text: String::new(),
        })
    }
}

/// Returns every line of a unified diff with its position. Accepts any text.
pub fn placed_lines(diff: &str) -> Vec<PlacedLine<'_>> {
    let mut placed = Vec::new();
    let mut path: Option<Arc<str>> = None;
    let (mut old, mut new) = (HunkSide::default(), HunkSide::default());
    for text in diff.lines() {
        let mut line = PlacedLine {
            text,
            path: path.clone(),
            old: None,
            new: None,
        };
        match text.as_bytes().first() {
            Some(b'+') if new.left > 0 => line.new = new.step(),
            Some(b'-') if old.left > 0 => line.old = old.step(),
            Some(b' ') | None if old.left > 0 || new.left > 0 => {
                line.old = old.step();
                line.new = new.step();
            }
            Some(b'\\') => {}
            _ => {
                if let Some(names) = text.strip_prefix("diff --git ") {
                    path = Some(new_path(names).into());
                    line.path = path.clone();
                } else if let Some(name) = header_path(text) {
                    path = Some(name.into());
                    line.path = path.clone();
                }
                (old, new) = text
                    .strip_prefix("@@ ")
                    .and_then(ranges)
                    .unwrap_or_default();
            }
        }
        placed.push(line);
    }
    placed
}

/// One side of a hunk: the number of its next line, and how many follow.
#[derive(Debug, Default)]
struct HunkSide {
    next: u32,
    left: u32,
}

impl HunkSide {
    fn step(&mut self) -> Option<u32> {
        let number = self.next;
        self.left = self.left.checked_sub(1)?;
        self.next = self.next.saturating_add(1);
        Some(number)
    }
}

/// Parses `-1,3 +1,4 @@ …`.
fn ranges(text: &str) -> Option<(HunkSide, HunkSide)> {
    let mut fields = text.split(' ');
    let old = fields.next()?.strip_prefix('-')?;
    let new = fields.next()?.strip_prefix('+')?;
    let side = |text: &str| {
        let (next, left) = text.split_once(',').unwrap_or((text, "1"));
        Some(HunkSide {
            next: next.parse().ok()?,
            left: left.parse().ok()?,
        })
    };
    Some((side(old)?, side(new)?))
}

/// Returns the new path in `a/… b/…`, of which git may have quoted each.
fn new_path(names: &str) -> String {
    match names.rsplit_once(" \"b/") {
        Some((_, name)) if name.ends_with('"') => unquote_git_path(&format!("\"{name}")),
        _ => {
            let name = names.rsplit_once(" b/").map_or(names, |(_, name)| name);
            name.to_owned()
        }
    }
}

/// Returns the path in `--- a/…` or `+++ b/…`.
fn header_path(line: &str) -> Option<String> {
    let (path, prefix) = match (line.strip_prefix("+++ "), line.strip_prefix("--- ")) {
        (Some(path), _) => (path, "b/"),
        (None, Some(path)) => (path, "a/"),
        (None, None) => return None,
    };
    let path = unquote_git_path(path.trim_end_matches('\t'));
    path.strip_prefix(prefix).map(str::to_owned)
}

/// Decodes a path that git may have quoted.
pub fn unquote_git_path(path: &str) -> String {
    let inner = path
        .strip_prefix('"')
        .and_then(|inner| inner.strip_suffix('"'));
    let Some(inner) = inner else {
        return path.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(first @ b'0'..=b'3') => {
                let digit = |byte: Option<u8>| byte.map_or(0, |byte| byte.wrapping_sub(b'0') & 7);
                let (high, low) = (digit(rest.next()), digit(rest.next()));
                bytes.push(((first - b'0') << 6) | (high << 3) | low);
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the text of a line of a hunk, without its sign and within the limit.
fn quote(line: &str) -> String {
    let text = line.get(1..).unwrap_or_default();
    text[..text.floor_char_boundary(MAX_REVIEW_QUOTE_BYTES)].to_owned()
}

/// The lines of a diff, by file and number.
#[derive(Debug, Default)]
pub struct DiffLines {
    files: BTreeMap<String, BTreeMap<(bool, u32), String>>,
}

impl DiffLines {
    /// Reads a unified diff. Accepts any text.
    pub fn parse(diff: &str) -> Self {
        let mut files: BTreeMap<String, BTreeMap<(bool, u32), String>> = BTreeMap::new();
        for line in placed_lines(diff) {
            let Some(path) = line.path else {
                continue;
            };
            let lines = files.entry(path.to_string()).or_default();
            for (is_new, number) in [(false, line.old), (true, line.new)] {
                if let Some(number) = number {
                    lines.insert((is_new, number), quote(line.text));
                }
            }
        }
        Self { files }
    }

    /// Gives a comment the text of its line. Fails with one sentence if the diff does not contain its line.
    pub fn place(&self, comment: &mut ReviewComment) -> Result<(), String> {
        let path = &comment.path;
        let Some(lines) = self.files.get(path) else {
            return Err(format!("the change does not contain {path}"));
        };
        let Some(number) = comment.line else {
            comment.quote = None;
            return Ok(());
        };
        let is_new = comment.side == DiffSide::New;
        let Some(text) = lines.get(&(is_new, number)) else {
            let side = comment.side.as_str();
            return Err(format!(
                "line {number} of {path} ({side} side) is not in the diff: comment on a line that it shows, or on the file"
            ));
        };
        comment.quote = Some(text.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n\
        @@ -3,3 +3,3 @@ fn a()\n let x = 1;\n--- removed\n+++ added\n }\n\\ No newline at end of file\n\
        diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-last\n\
        diff --git \"a/t\\303\\244.txt\" \"b/t\\303\\244.txt\"\n--- /dev/null\n+++ \"b/t\\303\\244.txt\"\n@@ -0,0 +1,2 @@\n+one\n+\n";

    fn at(path: &str, line: Option<u32>, side: DiffSide) -> Result<Option<String>, String> {
        let mut comment = ReviewComment {
            path: path.to_owned(),
            line,
            side,
            ..ReviewComment::default()
        };
        DiffLines::parse(DIFF).place(&mut comment)?;
        Ok(comment.quote)
    }

    #[test]
    fn comments_are_placed_on_lines_of_the_diff_only() {
        let text = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(at("src/a.rs", Some(3), DiffSide::New), text("let x = 1;"));
        assert_eq!(at("src/a.rs", Some(3), DiffSide::Old), text("let x = 1;"));
        // Lines that look like headers belong to the hunk that announced them.
        assert_eq!(at("src/a.rs", Some(4), DiffSide::Old), text("-- removed"));
        assert_eq!(at("src/a.rs", Some(4), DiffSide::New), text("++ added"));
        assert_eq!(at("gone", Some(1), DiffSide::Old), text("last"));
        assert_eq!(at("tä.txt", Some(2), DiffSide::New), text(""));
        assert_eq!(at("gone", None, DiffSide::New), Ok(None));
        for (path, line) in [("src/a.rs", 6), ("src/a.rs", 2), ("gone", 1), ("src", 1)] {
            assert!(
                at(path, Some(line), DiffSide::New).is_err(),
                "{path}:{line}"
            );
        }
    }

    #[test]
    fn name_is_known_without_a_hunk() {
        let of = |names: &str| {
            let text = format!("diff --git {names}\nBinary files differ\n");
            placed_lines(&text)[1].path.clone().unwrap().to_string()
        };
        assert_eq!(of("a/x.png b/x.png"), "x.png");
        assert_eq!(of("a/b/c b/b/c"), "b/c");
        assert_eq!(of("\"a/t\\303\\244\" \"b/t\\303\\244\""), "tä");
        assert_eq!(of("a/x \"b/t\\303\\244\""), "tä");
        assert_eq!(of("nothing"), "nothing");
    }

    #[test]
    fn any_text_is_accepted() {
        for text in [
            "",
            "@@ -1,9999999999 +1 @@\n+x",
            "@@ -1 +1 @@\n+x",
            "+++ b/x\n@@ -0 +0 @@\n+\u{e9}",
        ] {
            let lines = placed_lines(text);
            assert_eq!(lines.len(), text.lines().count());
            DiffLines::parse(text);
        }
    }
}
