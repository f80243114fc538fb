//! Wraps styled text at the width of the terminal, word by word as it arrives. Pure.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Writes words and breaks lines between them.
#[derive(Debug)]
pub(super) struct Wrapper {
    width: usize,
    /// What starts each line that continues a line, and its width.
    indent: (String, usize),
    column: usize,
    spaces: usize,
    /// The parts of the word that is not complete.
    word: Vec<(String, Style)>,
    out: String,
}

impl Wrapper {
    pub(super) fn new(width: usize) -> Self {
        Self {
            width: width.max(20),
            indent: (String::new(), 0),
            column: 0,
            spaces: 0,
            word: Vec::new(),
            out: String::new(),
        }
    }

    /// Returns `true` if nothing is on the current line.
    pub(super) fn is_line_start(&self) -> bool {
        self.column == 0 && self.word.is_empty()
    }

    /// Writes text that is not wrapped, such as a mark in front of a line.
    pub(super) fn raw(&mut self, text: &str, style: Style) {
        self.end_word();
        self.write_spaces();
        self.put(text, style);
    }

    /// Sets what starts each line that continues this line.
    pub(super) fn set_indent(&mut self, indent: &str, style: Style) {
        self.indent = (styled(indent, style), indent.width());
    }

    /// Writes text, which has no line ends.
    pub(super) fn text(&mut self, text: &str, style: Style) {
        for c in text.chars() {
            if c == ' ' || c == '\t' {
                self.end_word();
                self.spaces += if c == '\t' { 4 } else { 1 };
                continue;
            }
            match self.word.last_mut() {
                Some((part, last)) if *last == style => part.push(c),
                _ => self.word.push((c.to_string(), style)),
            }
        }
    }

    /// Ends the line.
    pub(super) fn newline(&mut self) {
        self.end_word();
        self.spaces = 0;
        self.column = 0;
        self.indent = (String::new(), 0);
        self.out.push('\n');
    }

    /// Completes the current word.
    pub(super) fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let width: usize = word.iter().map(|(part, _)| part.as_str().width()).sum();
        let is_too_long = self.column + self.spaces + width > self.width;
        if is_too_long && self.column > self.indent.1 {
            self.spaces = 0;
            self.out.push('\n');
            self.out.push_str(&self.indent.0);
            self.column = self.indent.1;
        }
        self.write_spaces();
        for (part, style) in word {
            self.put(&part, style);
        }
    }

    /// Takes what is ready to be written.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    fn write_spaces(&mut self) {
        let spaces = std::mem::take(&mut self.spaces);
        self.out.extend(std::iter::repeat_n(' ', spaces));
        self.column += spaces;
    }

    fn put(&mut self, text: &str, style: Style) {
        self.out.push_str(&styled(text, style));
        for c in text.chars() {
            self.column += c.width().unwrap_or(0);
            // The terminal itself continues a word that is wider than the line.
            if self.column > self.width {
                self.column -= self.width;
            }
        }
    }
}

/// Returns text with its style, which spaces do not need.
fn styled(text: &str, style: Style) -> String {
    if style == Style::new() || text.trim().is_empty() {
        return text.to_owned();
    }
    format!("{style}{text}{style:#}")
}
