//! Console output: text with control characters escaped, JSON with exact values.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use windlass_core::{escape_control, escape_json, escape_line};

/// Emphasized text.
pub(super) const STRONG: Style = Style::new().bold();
/// Secondary text.
pub(super) const QUIET: Style = Style::new().dimmed();
/// Success.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// Warning.
pub(super) const WARNING: Style = AnsiColor::Yellow.on_default();
/// Error.
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();

/// Standard output and standard error. Colors are written only to a terminal.
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

    /// Returns `true` if stdout and stderr are a terminal, so that progress can be drawn.
    pub(super) fn is_interactive(&self) -> bool {
        self.interactive
    }

    /// Writes text to stdout and flushes it.
    pub(super) fn text(&self, text: &str) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        out.write_all(escape_control(text).as_bytes())?;
        out.flush()
    }

    /// Writes styled text to stdout and flushes it. The caller must have escaped any text that does not come from
    /// Windlass.
    pub(super) fn styled(&self, text: &str) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Returns a console that draws nothing but lines.
    pub(super) fn without_progress(self) -> Self {
        Self { interactive: false }
    }

    /// Writes the start of a line to stderr; write errors are ignored.
    pub(super) fn prompt(&self, text: &str) {
        let mut out = anstream::stderr().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Writes a line to stdout. The caller must have escaped any text that does not come from Windlass.
    pub(super) fn line(&self, line: &str) -> io::Result<()> {
        writeln!(anstream::stdout().lock(), "{line}")
    }

    /// Writes a value to stdout as one line of JSON.
    pub(super) fn json(&self, value: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string(value)?;
        self.line(&escape_json(&json))
    }

    /// Writes a value to stdout as indented JSON.
    pub(super) fn pretty_json(&self, value: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string_pretty(value)?;
        self.line(&escape_json(&json))
    }

    /// Writes a value to stdout as JSON: indented on a terminal, otherwise on one line.
    pub(super) fn value(&self, value: &impl Serialize) -> io::Result<()> {
        if io::stdout().is_terminal() {
            self.pretty_json(value)
        } else {
            self.json(value)
        }
    }

    /// Writes a progress line to stderr; write errors are ignored.
    pub(super) fn progress(&self, style: Style, line: &str) {
        let line = escape_line(line);
        let _ = writeln!(anstream::stderr().lock(), "{style}{line}{style:#}");
    }

    /// Writes a notice to stderr.
    pub(super) fn notice(&self, line: &str) {
        let line = escape_line(line);
        let _ = writeln!(
            anstream::stderr().lock(),
            "{WARNING}note:{WARNING:#} {line}"
        );
    }

    /// Writes an error message to stderr.
    pub(super) fn error(&self, message: &str) {
        let message = escape_control(message);
        let _ = writeln!(anstream::stderr().lock(), "{BAD}error:{BAD:#} {message}");
    }

    /// Returns `true` if a person can be asked at a terminal.
    pub(super) fn can_ask(&self) -> bool {
        self.interactive && io::stdin().is_terminal()
    }

    /// Asks a question that is answered with yes or no. Returns `None` without a terminal.
    pub(super) fn confirm(&self, question: &str) -> io::Result<Option<bool>> {
        let answer = self.ask(question)?;
        Ok(answer.map(|answer| matches!(answer.as_str(), "y" | "yes")))
    }

    /// Asks a question and returns the answer in lower case. Returns `None` without a terminal.
    pub(super) fn ask(&self, question: &str) -> io::Result<Option<String>> {
        let stdin = io::stdin();
        if !self.can_ask() {
            return Ok(None);
        }
        self.text(question)?;
        let mut answer = String::new();
        stdin.lock().take(1024).read_line(&mut answer)?;
        Ok(Some(answer.trim().to_ascii_lowercase()))
    }

    /// Returns the number of characters in a line of stdout, if that is limited: `COLUMNS`, or the terminal's width.
    pub(super) fn width(&self) -> Option<usize> {
        let named = std::env::var("COLUMNS").ok();
        let named = named.and_then(|columns| columns.parse().ok());
        let terminal = || {
            let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
            Some(usize::from(width.0))
        };
        named.or_else(terminal).filter(|width| *width > 0)
    }
}
