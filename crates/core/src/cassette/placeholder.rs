//! Placeholders: how they are written and recognised.

use std::borrow::Cow;

/// A placeholder at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placeholder<'a> {
    pub(super) name: &'a str,
    pub(super) detail: Option<&'a str>,
    pub(super) len: usize,
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

/// No placeholder is longer; a brace far away is no end.
const MAX_PLACEHOLDER_LEN: usize = 80;

impl<'a> Placeholder<'a> {
    /// The placeholder that the text begins with.
    pub(super) fn parse_prefix(text: &'a str) -> Option<Self> {
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
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let known =
            NAMES.contains(&name) && detail.is_none_or(|d| !d.is_empty() && d.chars().all(plain));
        known.then_some(Self {
            name,
            detail,
            len: end + 2,
        })
    }

    /// The number of a numbered placeholder.
    pub(super) fn number(&self) -> Option<u64> {
        self.detail?.parse().ok()
    }
}

/// The name of a secret, in letters that a placeholder may have.
pub(super) fn secret_name(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name
        .chars()
        .take(MAX_PLACEHOLDER_LEN / 2)
        .map(letter)
        .collect();
    format!("{{secret:{name}}}")
}

/// The text with every number in its placeholders left out: `{id}` for `{id:7}`.
///
/// Numbers follow the order in which things appeared; two texts that differ in nothing else say the same.
pub fn strip_placeholder_numbers(text: &str) -> Cow<'_, str> {
    if !text.contains('{') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(brace) = rest.find('{') {
        plain.push_str(&rest[..brace]);
        rest = &rest[brace..];
        let taken = match Placeholder::parse_prefix(rest) {
            Some(mark) if mark.number().is_some() => {
                plain.extend(["{", mark.name, "}"]);
                mark.len
            }
            _ => {
                plain.push('{');
                1
            }
        };
        rest = &rest[taken..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}
