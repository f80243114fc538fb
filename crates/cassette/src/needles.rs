//! Search for known texts. The longest match wins.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use crate::placeholder::Placeholder;
use crate::rewrite::Replacement;

/// The texts to find, with their replacements.
pub(crate) struct Needles {
    /// By length, the longest first: an inner path is found before the outer one. A cassette may add
    /// thousands of ids, but they have few different lengths.
    lengths: BTreeMap<Reverse<usize>, HashMap<String, Needle>>,
    /// The first bytes of all needles.
    first_bytes: [bool; 256],
}

struct Needle {
    placeholder: String,
    boundary: Boundary,
}

/// Which characters may surround a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Boundary {
    /// Any. Used for secrets, so that no part of one remains.
    Anywhere,
    /// A file name must end after the match: `/home/me` is not found in `/home/meredith`.
    Path,
    /// As [`Path`](Self::Path), and a path must start at the match: `/tmp` is not found in `/home/me/tmp`.
    ShortPath,
    /// A word must end after the match.
    Word,
}

impl Boundary {
    /// Returns the boundary for a path. A longer path is also found where another one seems to continue, as
    /// in the `a/home/me` of a diff: replacing too much is better than too little.
    pub(crate) fn for_path(path: &str) -> Self {
        match path.matches(['/', '\\']).count() {
            0 | 1 => Self::ShortPath,
            _ => Self::Path,
        }
    }

    fn matches(self, before: &str, after: &str) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Path => name_ends(after),
            Self::ShortPath => path_begins(before) && name_ends(after),
            Self::Word => !after.starts_with(char::is_alphanumeric),
        }
    }
}

impl Default for Needles {
    fn default() -> Self {
        Self {
            lengths: BTreeMap::new(),
            first_bytes: [false; 256],
        }
    }
}

impl Needles {
    /// Adds a text with its placeholder. If the text is already present, the first placeholder stays.
    pub(crate) fn add(&mut self, text: String, placeholder: String, boundary: Boundary) {
        if let Some(first) = text.bytes().next() {
            self.first_bytes[usize::from(first)] = true;
            let same_length = self.lengths.entry(Reverse(text.len())).or_default();
            same_length.entry(text).or_insert(Needle {
                placeholder,
                boundary,
            });
        }
    }

    /// Returns the replacement for the longest needle at this position.
    pub(crate) fn find(&self, text: &str, at: usize, borders: &[usize]) -> Option<Replacement> {
        let first = text.as_bytes().get(at)?;
        if !self.first_bytes[usize::from(*first)] {
            return None;
        }
        self.lengths.iter().find_map(|(Reverse(length), needles)| {
            let end = at + length;
            let needle = needles.get(text.get(at..end)?)?;
            let matches = borders.binary_search(&end).is_ok()
                || needle.boundary.matches(&text[..at], &text[end..]);
            matches.then(|| Replacement {
                range: at..end,
                with: needle.placeholder.clone(),
            })
        })
    }
}

/// Returns `true` if a file name ends before this text.
fn name_ends(rest: &str) -> bool {
    let mut chars = rest.chars();
    match chars.next() {
        None => true,
        Some('.') => !chars.next().is_some_and(char::is_alphanumeric),
        // An encoded letter continues the name, an encoded separator does not.
        Some('%') => match rest.get(1..3) {
            // A placeholder replaces a part of the code.
            _ if [1, 2].iter().any(|at| starts_with_placeholder(rest, *at)) => false,
            Some(code) if code.bytes().all(|b| b.is_ascii_hexdigit()) => ["2F", "5C", "22", "0A"]
                .iter()
                .any(|end| code.eq_ignore_ascii_case(end)),
            _ => true,
        },
        // A placeholder replaces a part of the name.
        Some('{') => !starts_with_placeholder(rest, 0),
        Some(c) => !is_name(c),
    }
}

fn starts_with_placeholder(text: &str, at: usize) -> bool {
    let rest = text.get(at..);
    rest.is_some_and(|rest| Placeholder::parse_prefix(rest).is_some())
}

/// Returns `true` if a path may start after this text. The letters of a flag (`-I`), of an escape (`\n`) and
/// of a terminal color (`[0m`) are not part of a path.
fn path_begins(before: &str) -> bool {
    let mut chars = before.chars().rev();
    match (chars.next(), chars.next()) {
        (Some('n' | 't' | 'r'), Some('\\')) => true,
        (Some('m'), Some(c)) if c.is_ascii_digit() => true,
        (Some(flag), Some('-')) if flag.is_alphabetic() => !chars.next().is_some_and(is_name),
        (Some(c), _) => !is_name(c) && c != '.' && c != '}',
        (None, _) => true,
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}
