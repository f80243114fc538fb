//! Parsing of git's output. Accepts any text.

use windlass_core::{escape_control, escape_line};
use windlass_tasks::{PlacedLine, placed_lines, unquote_git_path};

use super::{Diff, DiffFile, DiffLimits, DiffLine, FileChangeKind, Hunk, LineKind, Span};

/// Parses a change, within limits.
pub(super) fn parse(text: &str, limits: DiffLimits) -> Diff {
    let mut parser = DiffParser {
        diff: Diff::default(),
        limits,
        header: None,
        lines: 0,
        all_lines: 0,
    };
    for line in placed_lines(text) {
        parser.take(&line);
    }
    parser.diff.files.truncate(limits.files);
    parser.diff
}

struct DiffParser {
    diff: Diff,
    limits: DiffLimits,
    /// The header of a hunk that has no lines yet.
    header: Option<String>,
    /// The number of stored lines of the last file.
    lines: usize,
    all_lines: usize,
}

impl DiffParser {
    fn take(&mut self, placed: &PlacedLine<'_>) {
        let line = placed.text;
        let kind = match (placed.old, placed.new) {
            (Some(_), Some(_)) => LineKind::Context,
            (Some(_), None) => LineKind::Del,
            (None, Some(_)) => LineKind::Add,
            (None, None) => return self.header_line(placed),
        };
        self.line(kind, placed, line.get(1..).unwrap_or_default());
    }

    fn header_line(&mut self, placed: &PlacedLine<'_>) {
        let line = placed.text;
        if line.starts_with("diff --git ") {
            self.lines = 0;
            self.header = None;
            self.diff.files.truncate(self.limits.files);
            let full = self.diff.files.len() == self.limits.files;
            self.diff.truncated |= full;
            // Beyond the limit a file is still parsed, into an entry that the next one replaces.
            self.diff.files.push(DiffFile {
                path: shown(placed.path.as_deref().unwrap_or_default()),
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
        if line.starts_with("@@ ") {
            self.header = Some(shown(line));
        } else if line.starts_with("new file mode ") {
            file.change = FileChangeKind::Added;
        } else if line.starts_with("deleted file mode ") {
            file.change = FileChangeKind::Deleted;
        } else if let Some(old) = line.strip_prefix("rename from ") {
            file.change = FileChangeKind::Renamed;
            file.old_path = Some(shown(&unquote_git_path(old)));
        } else if let Some(new) = line.strip_prefix("rename to ") {
            file.path = shown(&unquote_git_path(new));
        } else if line.starts_with("+++ ") || line.starts_with("--- ") {
            file.path = shown(placed.path.as_deref().unwrap_or_default());
        }
    }

    fn line(&mut self, kind: LineKind, placed: &PlacedLine<'_>, text: &str) {
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
        let end = text.floor_char_boundary(self.limits.line_bytes.min(text.len()));
        if end > 0 {
            spans.push(Span::unstyled(escape_control(&text[..end])));
        }
        if end < text.len() {
            file.truncated = true;
            spans.push(Span::unstyled(format!(" … {} bytes cut", text.len() - end)));
        }
        if let Some(header) = self.header.take() {
            let lines = Vec::new();
            file.hunks.push(Hunk { header, lines });
        }
        if let Some(hunk) = file.hunks.last_mut() {
            hunk.lines.push(DiffLine {
                kind,
                old: placed.old.map(u64::from),
                new: placed.new.map(u64::from),
                spans,
            });
        }
    }

    fn truncate(&mut self) {
        self.diff.truncated = true;
        if let Some(file) = self.diff.files.last_mut() {
            file.truncated = true;
        }
    }
}

/// Escapes a text for display.
fn shown(text: &str) -> String {
    escape_line(text).into_owned()
}
