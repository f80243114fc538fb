//! A configuration key, such as `agents.codex.model`.

use std::borrow::Cow;
use std::fmt;

use windlass_core::escape_line;

/// Maximum number of characters shown of one part.
const MAX_SHOWN_CHARS: usize = 80;

/// A dotted path. Keys are ordered by their parts, so that the keys of an agent are adjacent.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Vec<String>);

impl Key {
    /// Creates a key from its parts.
    pub fn new(parts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(parts.into_iter().map(Into::into).collect())
    }

    /// Parses a key written with dots; no part can contain a dot.
    pub fn dotted(text: &str) -> Self {
        Self::new(text.split('.'))
    }

    /// Returns this key with one more part.
    pub fn child(&self, part: &str) -> Self {
        let mut parts = self.0.clone();
        parts.push(part.to_owned());
        Self(parts)
    }

    /// Returns the parts, outermost first.
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// Returns the innermost part.
    pub fn last(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }
}

impl fmt::Display for Key {
    /// Formats the key as in TOML, with terminal control characters escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            match truncate(part) {
                shown if is_bare(&shown) => f.write_str(&shown)?,
                shown => write!(f, "\"{}\"", escape_line(&shown))?,
            }
        }
        Ok(())
    }
}

/// Truncates a very long part, so that an error message fits on a line.
fn truncate(part: &str) -> Cow<'_, str> {
    match part.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}…", &part[..end])),
        None => Cow::Borrowed(part),
    }
}

/// Returns `true` if TOML allows this part without quotes.
fn is_bare(part: &str) -> bool {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !part.is_empty() && part.chars().all(bare)
}
