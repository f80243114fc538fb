//! Masks one text that arrives in chunks.

use super::Masker;

/// Masks the chunks of one text. The end of a chunk that may be the beginning of a secret is held back until the next
/// chunk shows whether it is one.
#[derive(Debug, Default)]
pub struct MaskedChunks {
    masker: Masker,
    held: String,
}

impl MaskedChunks {
    /// Starts a text.
    pub fn new(masker: Masker) -> Self {
        let held = String::new();
        Self { masker, held }
    }

    /// Returns `true` if no text is held back.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Returns the masked text that can be sent now.
    pub fn push(&mut self, chunk: &str) -> String {
        self.held.push_str(chunk);
        let open = self.masker.open_tail(self.held.as_bytes());
        let end = self.masker.match_across(&self.held, open).unwrap_or(open);
        let rest = self.held.split_off(end);
        let ready = std::mem::replace(&mut self.held, rest);
        self.masker.text(&ready).into_owned()
    }

    /// Returns the text that is held back: the text has ended.
    pub fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        self.masker.text(&held).into_owned()
    }
}
