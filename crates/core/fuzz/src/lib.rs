//! Properties that must hold for any bytes. The regular tests run them on the corpora.

use windlass_core::{escape_control, escape_line};

/// Panics if escaped text still contains a control character.
pub fn escape(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let is_control = |c: char| c.is_control() && c != '\t' && c != '\n';
    assert!(!escape_control(&text).contains(is_control));
    assert!(!escape_line(&text).contains(char::is_control));
}
