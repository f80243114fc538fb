//! Finds where each piece belongs in a text, and puts it there. Pure.

use std::ops::Range;

use super::{Hunk, HunkLine};

/// How closely lines must agree, the strictest first. Line ends never count.
const MATCH_LEVELS: [fn(&str) -> &str; 3] = [|line| line, str::trim_end, str::trim];

/// How many lines may be held against each other for one patch: a minute's work is no patch but an attack.
const MAX_COMPARISONS: usize = 50_000_000;

/// The text with every piece changed, or why one of them has no place.
pub(super) fn apply_hunks(text: &str, hunks: &[Hunk]) -> Result<String, String> {
    let file = SourceText::parse(text);
    let mut result: Vec<(&str, &str)> = Vec::new();
    let mut done = 0;
    let mut looks = MAX_COMPARISONS;
    for (number, hunk) in hunks.iter().enumerate() {
        let at = find(&file.lines, hunk, done, &mut looks)
            .map_err(|why| format!("piece {}: {why}", number + 1))?;
        result.extend(file.join_lines(done..at));
        done = at;
        for line in &hunk.lines {
            match line {
                // As the file has it, should the patch have other spaces.
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

/// A text as lines, and how each of them ends.
struct SourceText<'a> {
    lines: Vec<&'a str>,
    ends: Vec<&'a str>,
    /// How new lines end: as most others do.
    end: &'static str,
    ends_with_newline: bool,
}

impl<'a> SourceText<'a> {
    fn parse(text: &'a str) -> Self {
        let (lines, ends): (Vec<&str>, Vec<&str>) = text.split_inclusive('\n').map(parted).unzip();
        let count = |wanted: &str| ends.iter().filter(|end| **end == wanted).count();
        let is_foreign = count("\r\n") > count("\n");
        Self {
            end: if is_foreign { "\r\n" } else { "\n" },
            ends_with_newline: text.is_empty() || text.ends_with('\n'),
            lines,
            ends,
        }
    }

    /// Lines with their ends.
    fn join_lines(&self, range: Range<usize>) -> impl Iterator<Item = (&'a str, &'a str)> {
        let lines = self.lines[range.clone()].iter().copied();
        lines.zip(self.ends[range].iter().copied())
    }

    /// The lines as a text again, whose last line ends as the patch says, or as it did.
    fn join(&self, mut lines: Vec<(&str, &str)>, newline: Option<bool>) -> String {
        let last = lines.len().saturating_sub(1);
        for (at, (_, end)) in lines.iter_mut().enumerate() {
            let is_wanted = at < last || newline.unwrap_or(self.ends_with_newline);
            *end = match (is_wanted, end.is_empty()) {
                (true, true) => self.end,
                (true, false) => end,
                (false, _) => "",
            };
        }
        let pieces = lines.iter().flat_map(|(line, end)| [*line, *end]);
        pieces.collect()
    }
}

/// A line and its end.
fn parted(whole: &str) -> (&str, &str) {
    let line = whole.strip_suffix('\n').unwrap_or(whole);
    let line = match line.len() < whole.len() {
        true => line.strip_suffix('\r').unwrap_or(line),
        false => line,
    };
    whole.split_at(line.len())
}

/// The line where a piece begins.
fn find(lines: &[&str], hunk: &Hunk, from: usize, looks: &mut usize) -> Result<usize, String> {
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
        // Nothing to look for: after its heading, at its line, or at the end.
        let said = hunk
            .line
            .map(|line| line.saturating_sub(1).clamp(start, lines.len()));
        let headed = hunk.after.as_ref().map(|_| start);
        return Ok(said.or(headed).unwrap_or(lines.len()));
    }
    for look in MATCH_LEVELS {
        let places = candidate_positions(lines, &old, start, look, looks)?;
        if !places.is_empty() {
            return choose_position(&places, hunk, lines.len(), old.len());
        }
    }
    let first = old.first().copied().unwrap_or_default();
    Err(format!(
        "these lines were not found, beginning with {first:?}"
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
    look: fn(&str) -> &str,
    looks: &mut usize,
) -> Result<Vec<usize>, String> {
    let last = (lines.len() + 1).saturating_sub(old.len());
    let mut places = Vec::new();
    for at in from..last {
        let alike = |(a, b): &(&&str, &&str)| look(a) == look(b);
        let same = old.iter().zip(&lines[at..]).take_while(alike).count();
        if same == old.len() {
            places.push(at);
        }
        *looks = looks
            .checked_sub(same + 1)
            .ok_or("it would take too long to find its place, make it shorter")?;
    }
    Ok(places)
}

/// One of several places, if there is a reason for it.
fn choose_position(
    places: &[usize],
    hunk: &Hunk,
    total: usize,
    length: usize,
) -> Result<usize, String> {
    if hunk.at_end {
        let last = places.iter().copied().find(|at| at + length == total);
        return last.ok_or_else(|| "these lines are not at the end of the file".to_owned());
    }
    if let Some(line) = hunk.line {
        let near = |at: &usize| at.abs_diff(line.saturating_sub(1));
        let best = places.iter().copied().min_by_key(near);
        let is_tie =
            best.is_some_and(|best| places.iter().filter(|at| near(at) == near(&best)).count() > 1);
        if let (Some(best), false) = (best, is_tie) {
            return Ok(best);
        }
    }
    match places {
        [only] => Ok(*only),
        // A heading was given to say which.
        [first, ..] if hunk.after.is_some() => Ok(*first),
        _ => {
            let lines: Vec<String> = places
                .iter()
                .take(10)
                .map(|at| (at + 1).to_string())
                .collect();
            Err(format!(
                "these lines occur {} times (lines {}), give more of what is around them",
                places.len(),
                lines.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::{FilePatch, parse_patch};

    fn check(text: &str, piece: &str) -> Result<String, String> {
        let patch = format!("*** Begin Patch\n*** Update File: x\n{piece}\n*** End Patch");
        let FilePatch::Update { hunks, .. } = &parse_patch(&patch).unwrap()[0] else {
            panic!("not an update")
        };
        apply_hunks(text, hunks)
    }

    #[test]
    fn a_piece_goes_where_its_lines_are() {
        assert_eq!(check("a\nb\nc\n", " a\n-b\n+x\n c").unwrap(), "a\nx\nc\n");
        assert_eq!(check("a\nb\nc\n", "-a\n@@\n-c\n+y").unwrap(), "b\ny\n");
        assert_eq!(check("a\nb", " b\n+c").unwrap(), "a\nb\nc");
        assert_eq!(check("", "+a").unwrap(), "a\n");
        assert_eq!(check("a\n", "+b").unwrap(), "a\nb\n");
        assert_eq!(check("a\n", "-a").unwrap(), "");
    }

    #[test]
    fn lines_that_occur_twice_need_a_reason() {
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
    fn spaces_and_line_ends_of_the_file_are_kept() {
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
    fn lines_that_are_not_touched_keep_their_own_ends() {
        let mixed = "a\r\nb\nc\nd\n";
        assert_eq!(check(mixed, "-c\n+x").unwrap(), "a\r\nb\nx\nd\n");
        assert_eq!(check("a\nb\r\nc", " c\n+d").unwrap(), "a\nb\r\nc\nd");
        assert_eq!(check("a\r\nb\r\n", "-b").unwrap(), "a\r\n");
        assert_eq!(check("a\rb\nc\n", "-c\n+x").unwrap(), "a\rb\nx\n");
    }

    #[test]
    fn p12_a_patch_that_takes_forever_is_refused() {
        let text = "x\n".repeat(200_000);
        let piece = format!("{}-y", "-x\n".repeat(100_000));
        assert!(check(&text, &piece).unwrap_err().contains("too long"));
    }

    #[test]
    fn a_diff_with_lines_that_cannot_be_is_applied_or_refused() {
        for heading in [
            "-0,1 +0,1",
            "-18446744073709551615,0 +1,1",
            "-18446744073709551615,1 +1,1",
            "-0,0 +0,1",
        ] {
            let body = match heading.contains(",0 ") {
                true => "+y\n",
                false => "-x\n+y\n",
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
    fn the_last_line_ends_as_the_diff_says() {
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
    fn a_diff_goes_to_the_nearest_of_several_places() {
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
        /// Any patch on any text is applied or refused.
        #[test]
        fn no_patch_breaks_the_reader(
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
