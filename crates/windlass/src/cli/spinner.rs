//! What moves while an agent is silent.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// What a person looks at while the agent is silent.
pub(super) struct Spinner {
    bar: Option<ProgressBar>,
}

impl Spinner {
    pub(super) fn new(drawn: bool, agent: &str) -> Self {
        let bar = drawn.then(|| {
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

    pub(super) fn show(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(windlass_core::escape_line(what).into_owned());
        }
    }

    /// Writes beside the spinner.
    pub(super) fn suspend(&self, write: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Takes the spinner away for good: from here on there is text to look at.
    pub(super) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
