//! Finds the position of each hunk in a text and applies it. Does no I/O.

use std::ops::Range;

use super::{Hunk, HunkLine};

/// How lines are compared, the strictest level first. Line ends never count.
const MATCH_LEVELS: [fn(&str) -> &str; 3] = [|line| line, str::trim_end, str::trim];

/// The maximum number of line comparisons per patch. It limits the time that a hostile patch can use.
const MAX_COMPARISONS: usize = 50_000_000;

/// Applies all hunks to the text, or returns why one of them does not match.
pub(super) fn apply_hunks(text: &str, hunks: &[Hunk]) -> Result<String, String> {
    let file = SourceText::parse(text);
    let mut result: Vec<(&str, &str)> = Vec::new();
    let mut done = 0;
    let mut comparisons = MAX_COMPARISONS;
    for (number, hunk) in hunks.iter().enumerate() {
        let at = find(&file.lines, hunk, done, &mut comparisons)
            .map_err(|reason| format!("hunk {}: {reason}", number + 1))?;
        result.extend(file.join_lines(done..at));
        done = at;
        for line in &hunk.lines {
            match line {
                // Keep the file's own line, which may differ in spaces.
                HunkLine::Keep(_) => {
                    result.extend(file.join_lines(done..done + 1));
                    done += 1;
                }
                HunkLine::Remove(_) => done += 1,
                HunkLine::Add(text) => result.push((text.trim_end_matches('\r'), file.end)),
            }
        }
    }
    result.extend(file.join_lines(done..file.lines.len()));
    let newline = hunks.last().and_then(|hunk| hunk.newline);
    Ok(file.join(result, newline))
}

/// A text as lines with their line ends.
struct SourceText<'a> {
    lines: Vec<&'a str>,
    ends: Vec<&'a str>,
    /// The line end of new lines: the most frequent one of the file.
    end: &'static str,
    ends_with_newline: bool,
}

impl<'a> SourceText<'a> {
    fn parse(text: &'a str) -> Self {
        let (lines, ends): (Vec<&str>, Vec<&str>) =
            text.split_inclusive('\n').map(split_line_end).unzip();
        let count = |wanted: &str| ends.iter().filter(|end| **end == wanted).count();
        let uses_crlf = count("\r\n") > count("\n");
        Self {
            end: if uses_crlf { "\r\n" } else { "\n" },
            ends_with_newline: text.is_empty() || text.ends_with('\n'),
            lines,
            ends,
        }
    }

    /// Returns lines with their line ends.
    fn join_lines(&self, range: Range<usize>) -> impl Iterator<Item = (&'a str, &'a str)> {
        let lines = self.lines[range.clone()].iter().copied();
        lines.zip(self.ends[range].iter().copied())
    }

    /// Joins the lines. The last line ends as the patch says, otherwise as before.
    fn join(&self, mut lines: Vec<(&str, &str)>, newline: Option<bool>) -> String {
        let last = lines.len().saturating_sub(1);
        for (at, (_, end)) in lines.iter_mut().enumerate() {
            let needs_end = at < last || newline.unwrap_or(self.ends_with_newline);
            *end = match (needs_end, end.is_empty()) {
                (true, true) => self.end,
                (true, false) => end,
                (false, _) => "",
            };
        }
        let parts = lines.iter().flat_map(|(line, end)| [*line, *end]);
        parts.collect()
    }
}

/// Splits a line from its line end.
fn split_line_end(full: &str) -> (&str, &str) {
    let line = full.strip_suffix('\n').unwrap_or(full);
    let line = if line.len() < full.len() {
        line.strip_suffix('\r').unwrap_or(line)
    } else {
        line
    };
    full.split_at(line.len())
}

/// Returns the index of the line where a hunk starts.
fn find(
    lines: &[&str],
    hunk: &Hunk,
    from: usize,
    comparisons: &mut usize,
) -> Result<usize, String> {
    let start = match &hunk.after {
        Some(heading) => after(lines, heading, from)?,
        None => from,
    };
    let old: Vec<&str> = hunk
        .lines
        .iter()
        .filter_map(|line| match line {
            HunkLine::Keep(text) | HunkLine::Remove(text) => Some(text.trim_end_matches('\r')),
            HunkLine::Add(_) => None,
        })
        .collect();
    if old.is_empty() {
        // Nothing to match: use the given line, otherwise the line after the heading, otherwise the end.
        let given = hunk
            .line
            .map(|line| line.saturating_sub(1).clamp(start, lines.len()));
        let headed = hunk.after.as_ref().map(|_| start);
        return Ok(given.or(headed).unwrap_or(lines.len()));
    }
    for normalize in MATCH_LEVELS {
        let positions = candidate_positions(lines, &old, start, normalize, comparisons)?;
        if !positions.is_empty() {
            return choose_position(&positions, hunk, lines.len(), old.len());
        }
    }
    let first = old.first().copied().unwrap_or_default();
    Err(format!(
        "these lines were not found, starting with {first:?}"
    ))
}

fn after(lines: &[&str], heading: &str, from: usize) -> Result<usize, String> {
    let found = lines[from..]
        .iter()
        .position(|line| line.trim() == heading.trim());
    found
        .map(|at| from + at + 1)
        .ok_or_else(|| format!("the line {heading:?} was not found"))
}

fn candidate_positions(
    lines: &[&str],
    old: &[&str],
    from: usize,
    normalize: fn(&str) -> &str,
    comparisons: &mut usize,
) -> Result<Vec<usize>, String> {
    let last = (lines.len() + 1).saturating_sub(old.len());
    let mut positions = Vec::new();
    for at in from..last {
        let matches = |(a, b): &(&&str, &&str)| normalize(a) == normalize(b);
        let matched = old.iter().zip(&lines[at..]).take_while(matches).count();
        if matched == old.len() {
            positions.push(at);
        }
        *comparisons = comparisons
            .checked_sub(matched + 1)
            .ok_or("it would take too long to locate: make it shorter")?;
    }
    Ok(positions)
}

/// Chooses one of several positions, if the hunk identifies it.
fn choose_position(
    positions: &[usize],
    hunk: &Hunk,
    total: usize,
    length: usize,
) -> Result<usize, String> {
    if hunk.at_end {
        let last = positions.iter().copied().find(|at| at + length == total);
        return last.ok_or_else(|| "these lines are not at the end of the file".to_owned());
    }
    if let Some(line) = hunk.line {
        let distance = |at: &usize| at.abs_diff(line.saturating_sub(1));
        let best = positions.iter().copied().min_by_key(distance);
        let is_tie = best.is_some_and(|best| {
            positions
                .iter()
                .filter(|at| distance(at) == distance(&best))
                .count()
                > 1
        });
        if let (Some(best), false) = (best, is_tie) {
            return Ok(best);
        }
    }
    match positions {
        [only] => Ok(*only),
        // The heading selects the first position after it.
        [first, ..] if hunk.after.is_some() => Ok(*first),
        _ => {
            let lines: Vec<String> = positions
                .iter()
                .take(10)
                .map(|at| (at + 1).to_string())
                .collect();
            Err(format!(
                "these lines occur {} times (lines {}), include more context",
                positions.len(),
                lines.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::{FilePatch, parse_patch};

    fn check(text: &str, hunk: &str) -> Result<String, String> {
        let patch = format!("*** Begin Patch\n*** Update File: x\n{hunk}\n*** End Patch");
        let FilePatch::Update { hunks, .. } = &parse_patch(&patch).unwrap()[0] else {
            panic!("not an update")
        };
        apply_hunks(text, hunks)
    }

    #[test]
    fn hunk_is_applied_where_its_lines_match() {
        assert_eq!(check("a\nb\nc\n", " a\n-b\n+x\n c").unwrap(), "a\nx\nc\n");
        assert_eq!(check("a\nb\nc\n", "-a\n@@\n-c\n+y").unwrap(), "b\ny\n");
        assert_eq!(check("a\nb", " b\n+c").unwrap(), "a\nb\nc");
        assert_eq!(check("", "+a").unwrap(), "a\n");
        assert_eq!(check("a\n", "+b").unwrap(), "a\nb\n");
        assert_eq!(check("a\n", "-a").unwrap(), "");
    }

    #[test]
    fn ambiguous_lines_need_a_heading_or_end_marker() {
        let text = "fn a() {\n  x\n}\nfn b() {\n  x\n}\n";
        assert!(
            check(text, "-  x\n+  y")
                .unwrap_err()
                .contains("occur 2 times (lines 2, 5)")
        );
        assert_eq!(
            check(text, "@@ fn b() {\n-  x\n+  y").unwrap(),
            "fn a() {\n  x\n}\nfn b() {\n  y\n}\n"
        );
        assert_eq!(
            check("x\ny\nx\n", "-x\n+z\n*** End of File").unwrap(),
            "x\ny\nz\n"
        );
        assert!(
            check("x\ny\n", "-x\n*** End of File")
                .unwrap_err()
                .contains("not at the end")
        );
        assert!(check("a\n", "-b").unwrap_err().contains("not found"));
        assert!(
            check("a\n", "@@ nowhere\n-a")
                .unwrap_err()
                .contains("\"nowhere\" was not found")
        );
    }

    #[test]
    fn spaces_and_line_ends_of_the_file_are_preserved() {
        assert_eq!(
            check("a  \r\nb\r\nc\r\n", " a\n-b\n+x").unwrap(),
            "a  \r\nx\r\nc\r\n"
        );
        assert_eq!(
            check("\tif x:\n\t\ty\n", " if x:\n+\t\tz").unwrap(),
            "\tif x:\n\t\tz\n\t\ty\n"
        );
    }

    #[test]
    fn unchanged_lines_keep_their_line_ends() {
        let mixed = "a\r\nb\nc\nd\n";
        assert_eq!(check(mixed, "-c\n+x").unwrap(), "a\r\nb\nx\nd\n");
        assert_eq!(check("a\nb\r\nc", " c\n+d").unwrap(), "a\nb\r\nc\nd");
        assert_eq!(check("a\r\nb\r\n", "-b").unwrap(), "a\r\n");
        assert_eq!(check("a\rb\nc\n", "-c\n+x").unwrap(), "a\rb\nx\n");
    }

    #[test]
    fn p12_patch_with_too_many_comparisons_is_rejected() {
        let text = "x\n".repeat(200_000);
        let hunk = format!("{}-y", "-x\n".repeat(100_000));
        assert!(check(&text, &hunk).unwrap_err().contains("too long"));
    }

    #[test]
    fn diff_with_impossible_line_numbers_is_applied() {
        for heading in [
            "-0,1 +0,1",
            "-18446744073709551615,0 +1,1",
            "-18446744073709551615,1 +1,1",
            "-0,0 +0,1",
        ] {
            let body = if heading.contains(",0 ") {
                "+y\n"
            } else {
                "-x\n+y\n"
            };
            let files = parse_patch(&format!("--- a/f\n+++ b/f\n@@ {heading} @@\n{body}")).unwrap();
            let FilePatch::Update { hunks, .. } = &files[0] else {
                panic!("not an update")
            };
            assert!(
                apply_hunks("x\n", hunks).unwrap().contains('y'),
                "{heading}"
            );
        }
    }

    #[test]
    fn last_line_end_follows_the_diff() {
        const MARK: &str = "\\ No newline at end of file\n";
        for (before, after, body) in [
            ("a", "a\n", format!("-a\n{MARK}+a\n")),
            ("a\n", "a", format!("-a\n+a\n{MARK}")),
            ("a", "b", format!("-a\n{MARK}+b\n{MARK}")),
        ] {
            let files = parse_patch(&format!("--- a/f\n+++ b/f\n@@ -1 +1 @@\n{body}")).unwrap();
            let FilePatch::Update { hunks, .. } = &files[0] else {
                panic!("not an update")
            };
            assert_eq!(apply_hunks(before, hunks).unwrap(), after);
        }
    }

    #[test]
    fn diff_is_applied_at_the_nearest_position() {
        let text = "x\n".repeat(9);
        let files = parse_patch("--- a/f\n+++ b/f\n@@ -4 +4 @@\n-x\n+y\n").unwrap();
        let FilePatch::Update { hunks, .. } = &files[0] else {
            panic!("not an update")
        };
        assert_eq!(
            apply_hunks(&text, hunks).unwrap(),
            "x\nx\nx\ny\nx\nx\nx\nx\nx\n"
        );
    }

    proptest::proptest! {
        /// Any patch on any text is applied or rejected.
        #[test]
        fn any_patch_does_not_panic(
            text in "([ab]?\r?\n){0,8}[ab]?",
            lines in proptest::collection::vec("(@@( [ab]| -[0-9],[0-9] \\+[0-9],[0-9] @@)?|[ +-][ab]?|\\*\\*\\* End of File|--- a/x|\\+\\+\\+ b/x)", 0..10),
        ) {
            let body = lines.join("\n");
            for patch in [
                format!("*** Begin Patch\n*** Update File: x\n{body}\n*** End Patch"),
                format!("--- a/x\n+++ b/x\n{body}\n"),
            ] {
                for file in parse_patch(&patch).unwrap_or_default() {
                    if let FilePatch::Update { hunks, .. } = file {
                        let _ = apply_hunks(&text, &hunks);
                    }
                }
            }
        }
    }
}
