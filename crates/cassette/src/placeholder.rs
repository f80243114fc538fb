//! The syntax of placeholders.

use std::borrow::Cow;

/// A placeholder at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placeholder<'a> {
    pub(crate) name: &'a str,
    pub(crate) detail: Option<&'a str>,
    pub(crate) len: usize,
}

const NAMES: [&str; 7] = [
    "workspace",
    "home",
    "tmp",
    "executable",
    "port",
    "id",
    "secret",
];

/// The maximum length of a placeholder. A closing brace further away does not end it.
const MAX_PLACEHOLDER_LEN: usize = 80;

impl<'a> Placeholder<'a> {
    /// Parses the placeholder at the start of the text.
    pub(crate) fn parse_prefix(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix('{')?;
        let end = rest
            .bytes()
            .take(MAX_PLACEHOLDER_LEN)
            .position(|byte| byte == b'}')?;
        let inner = &rest[..end];
        let (name, detail) = match inner.split_once(':') {
            Some((name, detail)) => (name, Some(detail)),
            None => (inner, None),
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let known = NAMES.contains(&name)
            && detail.is_none_or(|d| !d.is_empty() && d.chars().all(is_plain));
        known.then_some(Self {
            name,
            detail,
            len: end + 2,
        })
    }

    /// Returns the number of a numbered placeholder.
    pub(crate) fn number(&self) -> Option<u64> {
        self.detail?.parse().ok()
    }
}

/// Returns the placeholder of a secret. Characters of its name that are not allowed are replaced.
pub(crate) fn secret_name(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name
        .chars()
        .take(MAX_PLACEHOLDER_LEN / 2)
        .map(letter)
        .collect();
    format!("{{secret:{name}}}")
}

/// Removes the numbers from all placeholders: `{id:7}` becomes `{id}`.
///
/// Numbers depend on the order of appearance. Texts that differ only in these numbers are equivalent.
pub fn strip_placeholder_numbers(text: &str) -> Cow<'_, str> {
    if !text.contains('{') {
        return Cow::Borrowed(text);
    }
    let mut stripped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(brace) = rest.find('{') {
        stripped.push_str(&rest[..brace]);
        rest = &rest[brace..];
        let len = match Placeholder::parse_prefix(rest) {
            Some(placeholder) if placeholder.number().is_some() => {
                stripped.extend(["{", placeholder.name, "}"]);
                placeholder.len
            }
            _ => {
                stripped.push('{');
                1
            }
        };
        rest = &rest[len..];
    }
    stripped.push_str(rest);
    Cow::Owned(stripped)
}
