//! The modes and the width of the terminal.

use std::io::{stdin, stdout};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

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
