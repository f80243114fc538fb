//! A place in the configuration, such as `agents.codex.model`.

use std::borrow::Cow;
use std::fmt;

use windlass_core::escape_line;

/// How many characters of one part are shown.
const SHOWN: usize = 80;

/// A dotted path. It orders by its parts, so that an agent's keys stand together.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Vec<String>);

impl Key {
    /// A key of these parts.
    pub fn new(parts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(parts.into_iter().map(Into::into).collect())
    }

    /// A key written with dots; no part of it can hold a dot itself.
    pub fn dotted(text: &str) -> Self {
        Self::new(text.split('.'))
    }

    /// This key with one part more.
    pub fn child(&self, part: &str) -> Self {
        let mut parts = self.0.clone();
        parts.push(part.to_owned());
        Self(parts)
    }

    /// The parts, outermost first.
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// The innermost part.
    pub fn last(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }
}

impl fmt::Display for Key {
    /// As it would be written in TOML, with everything that could steer a terminal escaped.
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

/// The part, cut where it is longer than anybody would write, so that an error stays a line.
fn truncate(part: &str) -> Cow<'_, str> {
    match part.char_indices().nth(SHOWN) {
        Some((end, _)) => Cow::Owned(format!("{}…", &part[..end])),
        None => Cow::Borrowed(part),
    }
}

/// Whether TOML lets this part stand without quotes.
fn is_bare(part: &str) -> bool {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !part.is_empty() && part.chars().all(bare)
}
