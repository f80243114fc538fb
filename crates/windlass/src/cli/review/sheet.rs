//! The file in which a person reviews a change: the diff, with comments between its lines.

use windlass_core::{escape_control, escape_line};
use windlass_tasks::{PlacedLine, ReviewComment, ReviewDecision, placed_lines};

/// Begins a line of a comment.
const COMMENT: &str = "#>";

/// What a person wrote into the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sheet {
    pub(super) decision: ReviewDecision,
    /// The comment on the whole change.
    pub(super) text: String,
    pub(super) comments: Vec<ReviewComment>,
}

impl Sheet {
    /// Returns `true` if there is nothing to submit.
    pub(super) fn is_empty(&self) -> bool {
        self.decision == ReviewDecision::Comment && self.text.is_empty() && self.comments.is_empty()
    }
}

/// Returns the file to edit. `what` names the task and the version.
pub(super) fn render(what: &str, diff: &str) -> String {
    let mut text = format!(
        "# Review of {}\n\
         #\n\
         # Write comments on separate lines that begin with {COMMENT} and a space. A comment is about the line\n\
         # above it. Below the header of a file it is about the file, and above the first file about the whole change.\n\
         # Other lines that begin with # are ignored. Leave the lines of the diff as they are. Save and close the\n\
         # editor to submit; without a comment and a decision nothing is submitted.\n\
         #\n\
         # The decision is comment, request_changes or approve:\n\
         decision: comment\n\n",
        escape_line(what)
    );
    for line in placed_lines(diff) {
        text.push_str(&shown(&line));
        text.push('\n');
    }
    text
}

fn shown(line: &PlacedLine<'_>) -> String {
    escape_control(line.text).into_owned()
}

/// Reads the edited file. Fails with one sentence that names the line.
pub(super) fn parse(edited: &str, diff: &str) -> Result<Sheet, String> {
    let placed = placed_lines(diff);
    let mut expected = placed.iter().peekable();
    let mut last: Option<&PlacedLine<'_>> = None;
    let mut sheet = Sheet::default();
    let mut open: Option<ReviewComment> = None;
    for (number, line) in (1_usize..).zip(edited.lines()) {
        if let Some(text) = line.strip_prefix(COMMENT) {
            let text = text.strip_prefix(' ').unwrap_or(text).trim_end();
            match last.and_then(PlacedLine::comment) {
                None => push_line(&mut sheet.text, text),
                Some(place) => push_line(&mut open.get_or_insert(place).text, text),
            }
            continue;
        }
        finish(&mut sheet, open.take());
        let line = line.trim_end();
        let next = expected.next_if(|next| shown(next).trim_end() == line);
        if next.is_some() {
            last = next;
        } else if let Some(decision) = line.strip_prefix("decision:").filter(|_| last.is_none()) {
            sheet.decision = parse_decision(number, decision.trim())?;
        } else if !line.is_empty() && !line.starts_with('#') {
            return Err(format!(
                "line {number} of the file is not a line of the diff: begin the lines of comments with {COMMENT}"
            ));
        }
    }
    finish(&mut sheet, open);
    sheet.text.truncate(sheet.text.trim_end().len());
    Ok(sheet)
}

fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

fn finish(sheet: &mut Sheet, comment: Option<ReviewComment>) {
    sheet
        .comments
        .extend(comment.filter(|comment| !comment.text.trim().is_empty()));
}

fn parse_decision(number: usize, name: &str) -> Result<ReviewDecision, String> {
    let name = name.replace(['-', ' '], "_");
    ReviewDecision::from_name(&name).ok_or_else(|| {
        format!("line {number} of the file: the decision is comment, request_changes or approve")
    })
}

#[cfg(test)]
mod tests {
    use windlass_tasks::DiffSide;

    use super::*;

    const DIFF: &str = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n def f():\n-    return 1\n\
        +    return \u{1b}[2m2\n \n";

    /// Adds lines after the first line that contains a text.
    fn add(sheet: &str, after: &str, lines: &str) -> String {
        let at = sheet.find(after).unwrap();
        let end = at + sheet[at..].find('\n').unwrap() + 1;
        format!("{}{lines}{}", &sheet[..end], &sheet[end..])
    }

    #[test]
    fn comments_belong_to_the_line_above() {
        let sheet = render("task 3, version 1", DIFF);
        let sheet = sheet.replace("decision: comment", "decision: request-changes");
        let sheet = add(&sheet, "decision:", "#> On the whole.\n");
        let sheet = add(&sheet, "+++ b/a.py", "#> On the file.\n");
        let sheet = add(&sheet, "-    return 1", "#> Why?\n");
        let sheet = add(&sheet, "+    return", "#> First line.\n#>\n#>   indented\n");
        // Editors remove spaces at the ends of lines.
        let sheet = sheet.replace("\n \n", "\n\n");
        let parsed = parse(&sheet, DIFF).unwrap();
        assert_eq!(parsed.decision, ReviewDecision::RequestChanges);
        assert_eq!(parsed.text, "On the whole.");
        let found: Vec<_> = parsed
            .comments
            .iter()
            .map(|one| (one.line, one.side, one.text.as_str()))
            .collect();
        let wanted = [
            (None, DiffSide::New, "On the file."),
            (Some(2), DiffSide::Old, "Why?"),
            (Some(2), DiffSide::New, "First line.\n\n  indented"),
        ];
        assert_eq!(found, wanted);
        let quote = parsed.comments[2].quote.as_deref();
        assert_eq!(quote, Some("    return \u{1b}[2m2"));
    }

    #[test]
    fn unchanged_file_is_empty_and_has_no_control_characters() {
        let sheet = render("task 3, version 1: \u{7}\nx", DIFF);
        assert!(!sheet.contains(['\u{1b}', '\u{7}']));
        assert!(parse(&sheet, DIFF).unwrap().is_empty());
    }

    #[test]
    fn changed_diff_and_unknown_decision_are_named() {
        let sheet = render("task 3", DIFF);
        let changed = sheet.replace("+    return", "+    give");
        assert!(
            parse(&changed, DIFF)
                .unwrap_err()
                .contains("not a line of the diff")
        );
        let unmarked = add(&sheet, "+    return", "This is wrong.\n");
        assert!(parse(&unmarked, DIFF).unwrap_err().contains("#>"));
        let decision = sheet.replace("decision: comment", "decision: maybe");
        assert!(parse(&decision, DIFF).unwrap_err().contains("approve"));
    }
}
