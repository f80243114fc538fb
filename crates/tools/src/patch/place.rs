//! Finds where each piece belongs in a text, and puts it there. Pure.

use super::{Hunk, Line};

/// How closely lines must agree, the strictest first. Line ends never count.
const LOOKS: [fn(&str) -> &str; 3] = [|line| line, str::trim_end, str::trim];

/// The text with every piece changed, or why one of them has no place.
pub(super) fn change(text: &str, hunks: &[Hunk]) -> Result<String, String> {
    let file = File::of(text);
    let mut result: Vec<String> = Vec::new();
    let mut done = 0;
    for (number, hunk) in hunks.iter().enumerate() {
        let at =
            find(&file.lines, hunk, done).map_err(|why| format!("piece {}: {why}", number + 1))?;
        result.extend(file.lines[done..at].iter().map(|line| (*line).to_owned()));
        done = at;
        for line in &hunk.lines {
            match line {
                // As the file has it, should the patch have other spaces.
                Line::Keep(_) => {
                    result.push(file.lines[done].to_owned());
                    done += 1;
                }
                Line::Remove(_) => done += 1,
                Line::Add(text) => result.push(text.trim_end_matches('\r').to_owned()),
            }
        }
    }
    result.extend(file.lines[done..].iter().map(|line| (*line).to_owned()));
    let newline = hunks.last().and_then(|hunk| hunk.newline);
    Ok(file.join(&result, newline))
}

/// A text as lines, and how they end.
struct File<'a> {
    lines: Vec<&'a str>,
    end: &'static str,
    ends_with_newline: bool,
}

impl<'a> File<'a> {
    fn of(text: &'a str) -> Self {
        Self {
            lines: text.lines().collect(),
            end: if text.contains("\r\n") { "\r\n" } else { "\n" },
            ends_with_newline: text.is_empty() || text.ends_with('\n'),
        }
    }

    fn join(&self, lines: &[String], newline: Option<bool>) -> String {
        let mut text = lines.join(self.end);
        if newline.unwrap_or(self.ends_with_newline) && !lines.is_empty() {
            text.push_str(self.end);
        }
        text
    }
}

/// The line where a piece begins.
fn find(lines: &[&str], hunk: &Hunk, from: usize) -> Result<usize, String> {
    let start = match &hunk.after {
        Some(heading) => after(lines, heading, from)?,
        None => from,
    };
    let old: Vec<&str> = hunk
        .lines
        .iter()
        .filter_map(|line| match line {
            Line::Keep(text) | Line::Remove(text) => Some(text.trim_end_matches('\r')),
            Line::Add(_) => None,
        })
        .collect();
    if old.is_empty() {
        // Nothing to look for: after its heading, at its line, or at the end.
        let said = hunk.line.map(|line| (line - 1).clamp(start, lines.len()));
        let headed = hunk.after.as_ref().map(|_| start);
        return Ok(said.or(headed).unwrap_or(lines.len()));
    }
    for look in LOOKS {
        let places = places(lines, &old, start, look);
        if !places.is_empty() {
            return choose(&places, hunk, lines.len(), old.len());
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

fn places(lines: &[&str], old: &[&str], from: usize, look: fn(&str) -> &str) -> Vec<usize> {
    let last = (lines.len() + 1).saturating_sub(old.len());
    let fits = |at: &usize| {
        old.iter()
            .zip(&lines[*at..])
            .all(|(a, b)| look(a) == look(b))
    };
    (from..last).filter(fits).collect()
}

/// One of several places, if there is a reason for it.
fn choose(places: &[usize], hunk: &Hunk, total: usize, length: usize) -> Result<usize, String> {
    if hunk.at_end {
        let last = places.iter().copied().find(|at| at + length == total);
        return last.ok_or_else(|| "these lines are not at the end of the file".to_owned());
    }
    if let Some(line) = hunk.line {
        let near = |at: &usize| at.abs_diff(line - 1);
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
    use crate::patch::{FilePatch, read};

    fn check(text: &str, piece: &str) -> Result<String, String> {
        let patch = format!("*** Begin Patch\n*** Update File: x\n{piece}\n*** End Patch");
        let FilePatch::Update { hunks, .. } = &read(&patch).unwrap()[0] else {
            panic!("not an update")
        };
        change(text, hunks)
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
    fn the_last_line_ends_as_the_diff_says() {
        const MARK: &str = "\\ No newline at end of file\n";
        for (before, after, body) in [
            ("a", "a\n", format!("-a\n{MARK}+a\n")),
            ("a\n", "a", format!("-a\n+a\n{MARK}")),
            ("a", "b", format!("-a\n{MARK}+b\n{MARK}")),
        ] {
            let files = read(&format!("--- a/f\n+++ b/f\n@@ -1 +1 @@\n{body}")).unwrap();
            let FilePatch::Update { hunks, .. } = &files[0] else {
                panic!("not an update")
            };
            assert_eq!(change(before, hunks).unwrap(), after);
        }
    }

    #[test]
    fn a_diff_goes_to_the_nearest_of_several_places() {
        let text = "x\n".repeat(9);
        let files = read("--- a/f\n+++ b/f\n@@ -4 +4 @@\n-x\n+y\n").unwrap();
        let FilePatch::Update { hunks, .. } = &files[0] else {
            panic!("not an update")
        };
        assert_eq!(change(&text, hunks).unwrap(), "x\nx\nx\ny\nx\nx\nx\nx\nx\n");
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
                for file in read(&patch).unwrap_or_default() {
                    if let FilePatch::Update { hunks, .. } = file {
                        let _ = change(&text, &hunks);
                    }
                }
            }
        }
    }
}
