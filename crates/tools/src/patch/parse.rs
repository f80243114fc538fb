//! Parses the format that starts with `*** Begin Patch`. Does no I/O.

use super::{FilePatch, Hunk, HunkLine};

const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

pub(super) fn parse(text: &str) -> Result<Vec<FilePatch>, String> {
    let mut lines = text.lines().enumerate().skip(1).peekable();
    let mut files = Vec::new();
    loop {
        let Some((at, line)) = lines.next() else {
            return Err("`*** End Patch` is missing".to_owned());
        };
        let line = line.trim_end();
        if line == "*** End Patch" {
            break;
        }
        if let Some(path) = line.strip_prefix(ADD) {
            files.push(FilePatch::Add {
                path: path.trim().to_owned(),
                content: parse_added(&mut lines)?,
            });
        } else if let Some(path) = line.strip_prefix(DELETE) {
            files.push(FilePatch::Delete {
                path: path.trim().to_owned(),
            });
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            let moved = lines.next_if(|(_, line)| line.starts_with(MOVE));
            let to = moved.and_then(|(_, line)| line.strip_prefix(MOVE));
            files.push(FilePatch::Update {
                path: path.trim().to_owned(),
                to: to.map(|to| to.trim().to_owned()),
                hunks: parse_hunks(&mut lines)?,
            });
        } else if !line.is_empty() {
            return Err(format!(
                "line {}: expected `*** Add File:`, `*** Update File:`, `*** Delete File:` or `*** End Patch`",
                at + 1
            ));
        }
    }
    if files.is_empty() {
        return Err("the patch changes no file".to_owned());
    }
    Ok(files)
}

type Lines<'a> = std::iter::Peekable<std::iter::Skip<std::iter::Enumerate<std::str::Lines<'a>>>>;

fn is_heading(line: &str) -> bool {
    line.starts_with("*** ") && line.trim_end() != END_OF_FILE
}

/// Parses the content of a new file: lines with a leading plus.
fn parse_added(lines: &mut Lines<'_>) -> Result<String, String> {
    let mut content = String::new();
    while let Some((at, line)) = lines.next_if(|(_, line)| !is_heading(line)) {
        let Some(text) = line.strip_prefix('+') else {
            return Err(format!(
                "line {}: each line of a new file must start with +",
                at + 1
            ));
        };
        content.push_str(text);
        content.push('\n');
    }
    Ok(content)
}

fn parse_hunks(lines: &mut Lines<'_>) -> Result<Vec<Hunk>, String> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut current = Hunk::default();
    while let Some((at, line)) = lines.next_if(|(_, line)| !is_heading(line)) {
        if let Some(heading) = line.strip_prefix("@@") {
            if !current.lines.is_empty() {
                hunks.push(std::mem::take(&mut current));
            }
            let heading = heading.trim().trim_end_matches("@@").trim();
            current.after = (!heading.is_empty()).then(|| heading.to_owned());
            continue;
        }
        if line.trim_end() == END_OF_FILE {
            current.at_end = true;
            continue;
        }
        current.lines.push(parse_line(line).ok_or_else(|| {
            format!(
                "line {}: expected a line that starts with space, +, - or @@",
                at + 1
            )
        })?);
    }
    if !current.lines.is_empty() {
        hunks.push(current);
    }
    Ok(hunks)
}

/// Parses one line of a hunk. An empty line is an unchanged empty line.
pub(super) fn parse_line(line: &str) -> Option<HunkLine> {
    let rest = |mark: char| line.strip_prefix(mark).map(str::to_owned);
    if line.is_empty() {
        return Some(HunkLine::Keep(String::new()));
    }
    rest(' ')
        .map(HunkLine::Keep)
        .or_else(|| rest('-').map(HunkLine::Remove))
        .or_else(|| rest('+').map(HunkLine::Add))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sections_are_parsed() {
        let text = "*** Begin Patch\n*** Add File: a.txt\n+one\n+\n*** Delete File: b\n*** Update File: c\n\
            *** Move to: d\n@@ fn main() {\n keep\n-old\n+new\n\n@@\n-x\n*** End of File\n*** End Patch";
        let files = parse(text).unwrap();
        assert_eq!(
            files[0],
            FilePatch::Add {
                path: "a.txt".into(),
                content: "one\n\n".into()
            }
        );
        assert_eq!(files[1], FilePatch::Delete { path: "b".into() });
        let FilePatch::Update { path, to, hunks } = &files[2] else {
            panic!("{files:?}")
        };
        assert_eq!((path.as_str(), to.as_deref()), ("c", Some("d")));
        assert_eq!(hunks[0].after.as_deref(), Some("fn main() {"));
        assert_eq!(
            hunks[0].lines,
            [
                HunkLine::Keep("keep".into()),
                HunkLine::Remove("old".into()),
                HunkLine::Add("new".into()),
                HunkLine::Keep(String::new()),
            ]
        );
        assert!(hunks[1].at_end && !hunks[0].at_end);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, expected) in [
            ("*** Begin Patch\n", "`*** End Patch` is missing"),
            ("*** Begin Patch\n*** End Patch", "changes no file"),
            (
                "*** Begin Patch\nhello\n*** End Patch",
                "line 2: expected `*** Add",
            ),
            (
                "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
                "line 3: each line of a new",
            ),
            (
                "*** Begin Patch\n*** Update File: a\nx\n*** End Patch",
                "line 3: expected a line",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
