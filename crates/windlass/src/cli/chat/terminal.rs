//! The modes and the width of the terminal.

use std::io::{stdin, stdout};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::cli::table::wrap;

/// The width of output that is not a terminal.
const DEFAULT_WIDTH: usize = 80;

/// The modes of the terminal, restored when this is dropped.
pub(super) struct TerminalModes {
    saved: Termios,
}

impl TerminalModes {
    /// Saves the modes, if stdin is a terminal.
    pub(super) fn save() -> Option<Self> {
        let saved = tcgetattr(stdin()).ok()?;
        Some(Self { saved })
    }

    /// Sets whether the terminal shows what is typed. While an agent writes, it does not.
    pub(super) fn set_echo(&self, is_shown: bool) {
        let mut modes = self.saved.clone();
        if !is_shown {
            modes.local_modes.remove(LocalModes::ECHO);
        }
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &modes);
    }
}

impl Drop for TerminalModes {
    fn drop(&mut self) {
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &self.saved);
    }
}

/// Returns the number of columns.
pub(super) fn width() -> usize {
    let size = tcgetwinsize(stdout()).ok();
    let columns = size.map(|size| usize::from(size.ws_col));
    columns
        .filter(|columns| *columns > 0)
        .unwrap_or(DEFAULT_WIDTH)
}

/// Breaks a line between words at the width of the terminal. What continues it is indented more.
pub(super) fn wrapped(line: &str) -> Vec<String> {
    wrapped_at(line, width())
}

fn wrapped_at(line: &str, width: usize) -> Vec<String> {
    const MIN_WIDTH: usize = 20;
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let room = width.saturating_sub(indent + 2).max(MIN_WIDTH);
    let lines = if indent + text.chars().count() <= width {
        vec![text.to_owned()]
    } else {
        wrap(text, room)
    };
    let lines = lines.iter().enumerate();
    lines
        .map(|(index, line)| {
            let indent = indent + if index == 0 { 0 } else { 2 };
            format!("{:indent$}{line}", "")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_between_words() {
        let cases: [(&str, &[&str]); 3] = [
            ("short", &["short"]),
            ("  exactly as wide as it", &["  exactly as wide as it"]),
            (
                "  one two three four five six",
                &["  one two three four", "    five six"],
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(wrapped_at(line, 24), expected);
        }
    }
}
