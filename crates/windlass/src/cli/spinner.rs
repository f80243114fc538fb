//! A spinner that is shown while an agent emits no output.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A spinner with a message and the elapsed time.
pub(super) struct Spinner {
    bar: Option<ProgressBar>,
}

impl Spinner {
    pub(super) fn new(is_visible: bool, agent: &str) -> Self {
        let bar = is_visible.then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
                bar.set_style(style);
            }
            bar.set_message(agent.to_owned());
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self { bar }
    }

    pub(super) fn show(&self, message: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(windlass_core::escape_line(message).into_owned());
        }
    }

    /// Hides the spinner while `write` runs.
    pub(super) fn suspend(&self, write: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Removes the spinner permanently: from here on, text is printed.
    pub(super) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
