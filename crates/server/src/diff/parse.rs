//! Parsing of git's output. Accepts any text.

use std::str::Lines;

use windlass_core::{escape_control, escape_line};
use windlass_tasks::unquote_git_path;

use super::{Diff, DiffFile, DiffLimits, DiffLine, FileChangeKind, Hunk, LineKind, Span};

/// Parses a change, within limits.
pub(super) fn parse(text: &str, limits: DiffLimits) -> Diff {
    let mut parser = DiffParser {
        diff: Diff::default(),
        limits,
        lines: 0,
        all_lines: 0,
    };
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        parser.take(line, &mut lines);
    }
    parser.diff.files.truncate(limits.files);
    parser.diff
}

struct DiffParser {
    diff: Diff,
    limits: DiffLimits,
    /// The number of stored lines of the last file.
    lines: usize,
    all_lines: usize,
}

impl DiffParser {
    fn take(&mut self, line: &str, rest: &mut Lines<'_>) {
        if let Some(names) = line.strip_prefix("diff --git ") {
            self.lines = 0;
            self.diff.files.truncate(self.limits.files);
            let full = self.diff.files.len() == self.limits.files;
            self.diff.truncated |= full;
            // Beyond the limit a file is still parsed, into an entry that the next one replaces.
            let path = names.rsplit_once(" b/").map_or(names, |(_, path)| path);
            self.diff.files.push(DiffFile {
                path: name(path),
                ..DiffFile::default()
            });
            return;
        }
        if line.starts_with("[… ") && line.ends_with(" bytes cut …]") {
            self.truncate();
            return;
        }
        let Some(file) = self.diff.files.last_mut() else {
            return;
        };
        if let Some(range) = line.strip_prefix("@@ ") {
            self.hunk(line, range, rest);
        } else if line.starts_with("new file mode ") {
            file.change = FileChangeKind::Added;
        } else if line.starts_with("deleted file mode ") {
            file.change = FileChangeKind::Deleted;
        } else if let Some(old) = line.strip_prefix("rename from ") {
            file.change = FileChangeKind::Renamed;
            file.old_path = Some(name(old));
        } else if let Some(new) = line.strip_prefix("rename to ") {
            file.path = name(new);
        } else if let Some(path) = line.strip_prefix("+++ ").and_then(|path| side(path, "b/")) {
            file.path = path;
        } else if let Some(path) = line.strip_prefix("--- ").and_then(|path| side(path, "a/"))
            && file.change == FileChangeKind::Deleted
        {
            file.path = path;
        }
    }

    /// Parses the lines of a hunk: as many as its header specifies, whatever their content.
    fn hunk(&mut self, header: &str, range: &str, rest: &mut Lines<'_>) {
        let Some((mut old, mut new)) = ranges(range) else {
            return;
        };
        let mut hunk = Hunk {
            header: escape_line(header).into_owned(),
            lines: Vec::new(),
        };
        while old.left > 0 || new.left > 0 {
            // The next line is checked before it is consumed: the output may be truncated in the middle.
            let Some(line) = rest.clone().next() else {
                break;
            };
            let kind = match line.as_bytes().first() {
                Some(b'+') => LineKind::Add,
                Some(b'-') => LineKind::Del,
                Some(b' ') | None => LineKind::Context,
                Some(b'\\') => {
                    rest.next();
                    continue;
                }
                _ => break,
            };
            rest.next();
            let numbers = match kind {
                LineKind::Add => (None, new.step()),
                LineKind::Del => (old.step(), None),
                LineKind::Context => (old.step(), new.step()),
            };
            self.line(&mut hunk, kind, numbers, line.get(1..).unwrap_or_default());
        }
        if let Some(file) = self.diff.files.last_mut()
            && !hunk.lines.is_empty()
        {
            file.hunks.push(hunk);
        }
    }

    fn line(
        &mut self,
        hunk: &mut Hunk,
        kind: LineKind,
        at: (Option<u64>, Option<u64>),
        text: &str,
    ) {
        let Some(file) = self.diff.files.last_mut() else {
            return;
        };
        match kind {
            LineKind::Add => file.added += 1,
            LineKind::Del => file.removed += 1,
            LineKind::Context => {}
        }
        if self.lines >= self.limits.lines || self.all_lines >= self.limits.all_lines {
            file.truncated = true;
            self.diff.truncated = true;
            return;
        }
        self.lines += 1;
        self.all_lines += 1;
        let mut spans = Vec::new();
        let shown = text.floor_char_boundary(self.limits.line_bytes.min(text.len()));
        if shown > 0 {
            spans.push(Span::unstyled(escape_control(&text[..shown])));
        }
        if shown < text.len() {
            file.truncated = true;
            spans.push(Span::unstyled(format!(
                " … {} bytes cut",
                text.len() - shown
            )));
        }
        let (old, new) = at;
        hunk.lines.push(DiffLine {
            kind,
            old,
            new,
            spans,
        });
    }

    fn truncate(&mut self) {
        self.diff.truncated = true;
        if let Some(file) = self.diff.files.last_mut() {
            file.truncated = true;
        }
    }
}

/// One side of a hunk: the number of its next line, and the number of remaining lines.
struct Side {
    next: u64,
    left: u64,
}

impl Side {
    fn step(&mut self) -> Option<u64> {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        self.left = self.left.saturating_sub(1);
        Some(number)
    }
}

/// Parses `-1,3 +1,4 @@ …`.
fn ranges(text: &str) -> Option<(Side, Side)> {
    let mut fields = text.split(' ');
    let old = fields.next()?.strip_prefix('-')?;
    let new = fields.next()?.strip_prefix('+')?;
    let side = |text: &str| {
        let (next, left) = text.split_once(',').unwrap_or((text, "1"));
        Some(Side {
            next: next.parse().ok()?,
            left: left.parse().ok()?,
        })
    };
    Some((side(old)?, side(new)?))
}

/// Returns the path on one side, or `None` if there is no file on it.
fn side(path: &str, prefix: &str) -> Option<String> {
    let path = name(path.trim_end_matches('\t'));
    path.strip_prefix(prefix).map(str::to_owned)
}

/// Decodes a path that git has quoted, and escapes it for display.
fn name(path: &str) -> String {
    escape_line(&unquote_git_path(path)).into_owned()
}
