//! Parses unified diffs, as written by `git diff`. File modes are ignored. Does no I/O.

use super::parse::parse_line;
use super::{FilePatch, Hunk, HunkLine};

pub(super) fn parse(text: &str) -> Result<Vec<FilePatch>, String> {
    let mut files = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        if line.starts_with("Binary files ") || line.starts_with("GIT binary patch") {
            return Err(format!(
                "line {}: a binary change cannot be applied",
                at + 1
            ));
        }
        let Some(old) = line.strip_prefix("--- ") else {
            continue;
        };
        let Some(new) = lines.next().and_then(|(_, line)| line.strip_prefix("+++ ")) else {
            return Err(format!("line {}: expected `+++ ` after `--- `", at + 1));
        };
        let mut hunks = Vec::new();
        while let Some((at, heading)) = lines.next_if(|(_, line)| line.starts_with("@@ ")) {
            hunks.push(hunk(at, heading, &mut lines)?);
        }
        files.push(file(path(old), path(new), hunks)?);
    }
    Ok(files)
}

/// Returns the path without its prefix and timestamp, or `None` for `/dev/null`.
fn path(text: &str) -> Option<String> {
    let text = text.split('\t').next().unwrap_or(text).trim();
    let bare = text.strip_prefix("a/").or_else(|| text.strip_prefix("b/"));
    (text != "/dev/null").then(|| bare.unwrap_or(text).to_owned())
}

fn file(old: Option<String>, new: Option<String>, hunks: Vec<Hunk>) -> Result<FilePatch, String> {
    match (old, new) {
        (None, None) => Err("both paths are /dev/null".to_owned()),
        (Some(path), None) => Ok(FilePatch::Delete { path }),
        (None, Some(path)) => {
            let newline = hunks.last().and_then(|hunk| hunk.newline);
            let lines = hunks.into_iter().flat_map(|hunk| hunk.lines);
            let mut content = String::new();
            for line in lines {
                if let HunkLine::Add(text) = line {
                    content += &text;
                    content.push('\n');
                }
            }
            if newline == Some(false) {
                content.pop();
            }
            Ok(FilePatch::Add { path, content })
        }
        (Some(path), Some(new)) => Ok(FilePatch::Update {
            to: (new != path).then_some(new),
            path,
            hunks,
        }),
    }
}

type Lines<'a> = std::iter::Peekable<std::iter::Enumerate<std::str::Lines<'a>>>;

/// Parses one hunk, with as many lines as its heading states.
fn hunk(at: usize, heading: &str, lines: &mut Lines<'_>) -> Result<Hunk, String> {
    let invalid = || format!("line {}: expected `@@ -line,count +line,count @@`", at + 1);
    let mut ranges = heading.split(' ').skip(1);
    let (start, mut old) = ranges
        .next()
        .and_then(|text| range(text, '-'))
        .ok_or_else(invalid)?;
    let (_, mut new) = ranges
        .next()
        .and_then(|text| range(text, '+'))
        .ok_or_else(invalid)?;
    let mut hunk = Hunk {
        // The line number of an empty old range is the line before the hunk.
        line: Some(if old == 0 {
            start.saturating_add(1)
        } else {
            start
        }),
        ..Hunk::default()
    };
    while old > 0 || new > 0 {
        let (at, line) = lines.next().ok_or("the diff ends within a hunk")?;
        if line.starts_with('\\') {
            hunk.no_newline();
            continue;
        }
        let line =
            parse_line(line).ok_or_else(|| format!("line {}: not a line of a hunk", at + 1))?;
        match &line {
            HunkLine::Keep(_) => (old, new) = (old.saturating_sub(1), new.saturating_sub(1)),
            HunkLine::Remove(_) => old = old.saturating_sub(1),
            HunkLine::Add(_) => new = new.saturating_sub(1),
        }
        hunk.lines.push(line);
    }
    if lines.next_if(|(_, line)| line.starts_with('\\')).is_some() {
        hunk.no_newline();
    }
    Ok(hunk)
}

impl Hunk {
    /// Handles the mark that the preceding line has no line end: the last line of the old file, of the new
    /// one, or of both.
    fn no_newline(&mut self) {
        self.newline = match (self.lines.last(), self.newline) {
            (Some(HunkLine::Remove(_)), _) => Some(true),
            (Some(HunkLine::Add(_)), None) => Some(false),
            _ => None,
        };
    }
}

fn range(text: &str, mark: char) -> Option<(usize, usize)> {
    let text = text.strip_prefix(mark)?;
    match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_diff_is_parsed() {
        let text = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -3,2 +3,2 @@ fn main\n keep\n-old\n+new\n\
            \\ No newline at end of file\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+hello\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n";
        let files = parse(text).unwrap();
        assert_eq!(files.len(), 3);
        let FilePatch::Update {
            path,
            to: None,
            hunks,
        } = &files[0]
        else {
            panic!("{files:?}")
        };
        assert_eq!(
            (path.as_str(), hunks[0].line, hunks[0].lines.len()),
            ("x", Some(3), 3)
        );
        assert_eq!(
            files[1],
            FilePatch::Add {
                path: "new".into(),
                content: "hello\n".into()
            }
        );
        assert_eq!(
            files[2],
            FilePatch::Delete {
                path: "gone".into()
            }
        );
    }

    #[test]
    fn truncated_and_binary_diffs_are_rejected() {
        for text in [
            "--- a/x\n",
            "--- a/x\n+++ b/x\n@@ -1,9 +1 @@\n-a\n",
            "--- a/x\n+++ b/x\n@@ what @@\n-a\n",
            "Binary files a/x and b/x differ\n+++ \n",
            "--- /dev/null\n+++ /dev/null\n",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
