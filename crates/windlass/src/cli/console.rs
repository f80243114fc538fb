//! Writing for people and for programs: escaped for the first, exact for the second.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use windlass_core::{escape_control, escape_json, escape_line};

/// Emphasis.
pub(super) const STRONG: Style = Style::new().bold();
/// What matters less.
pub(super) const QUIET: Style = Style::new().dimmed();
/// As it should be.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// Worth a look.
pub(super) const WARNING: Style = AnsiColor::Yellow.on_default();
/// Wrong.
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();

/// Standard output and standard error. Colours go only where they are seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Console {
    interactive: bool,
}

impl Console {
    pub(super) fn new(no_color: bool) -> Self {
        if no_color {
            anstream::ColorChoice::Never.write_global();
        }
        Self {
            interactive: io::stdout().is_terminal() && io::stderr().is_terminal(),
        }
    }

    /// Whether a person is watching, so that progress is worth drawing.
    pub(super) fn is_interactive(&self) -> bool {
        self.interactive
    }

    /// A piece of text on standard output, at once.
    pub(super) fn text(&self, text: &str) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        out.write_all(escape_control(text).as_bytes())?;
        out.flush()
    }

    /// A line on standard output. The words are ours; whatever else is in it was made visible before.
    pub(super) fn line(&self, line: &str) -> io::Result<()> {
        writeln!(anstream::stdout().lock(), "{line}")
    }

    /// A value on standard output, as one line of JSON.
    pub(super) fn json(&self, value: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string(value)?;
        self.line(&escape_json(&json))
    }

    /// A value on standard output, as JSON for reading.
    pub(super) fn pretty_json(&self, value: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string_pretty(value)?;
        self.line(&escape_json(&json))
    }

    /// A value on standard output: for reading where a person reads it, on one line where a program does.
    pub(super) fn value(&self, value: &impl Serialize) -> io::Result<()> {
        if io::stdout().is_terminal() {
            self.pretty_json(value)
        } else {
            self.json(value)
        }
    }

    /// A line on standard error: progress, which may be lost.
    pub(super) fn progress(&self, style: Style, line: &str) {
        let line = escape_line(line);
        let _ = writeln!(anstream::stderr().lock(), "{style}{line}{style:#}");
    }

    /// A line on standard error that the person should know.
    pub(super) fn notice(&self, line: &str) {
        let line = escape_line(line);
        let _ = writeln!(
            anstream::stderr().lock(),
            "{WARNING}note:{WARNING:#} {line}"
        );
    }

    /// What went wrong, on standard error.
    pub(super) fn error(&self, message: &str) {
        let message = escape_control(message);
        let _ = writeln!(anstream::stderr().lock(), "{BAD}error:{BAD:#} {message}");
    }

    /// Rows under a heading, the columns aligned.
    pub(super) fn table<const N: usize>(
        &self,
        heading: [&str; N],
        rows: &[[String; N]],
    ) -> io::Result<()> {
        let rows: Vec<[Cow<'_, str>; N]> = rows
            .iter()
            .map(|row| row.each_ref().map(|cell| escape_line(cell)))
            .collect();
        let width = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([heading[column].len()]).max().unwrap_or(0)
        };
        let widths: [usize; N] = std::array::from_fn(width);
        let line = |cells: [&str; N]| {
            let padded = cells
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{cell:width$}"));
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        self.line(&format!("{STRONG}{}{STRONG:#}", line(heading)))?;
        for row in &rows {
            self.line(&line(row.each_ref().map(|cell| cell.as_ref())))?;
        }
        Ok(())
    }
}
