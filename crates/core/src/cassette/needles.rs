//! Known texts to be found, the longest first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::placeholder::Placeholder;
use super::rewrite::Replacement;

/// What is looked for, and what takes its place.
pub(super) struct Needles {
    /// By length, the longest first: an inner path is found before the outer one. A cassette may teach
    /// thousands of ids, but they have few lengths.
    lengths: BTreeMap<Reverse<usize>, HashMap<String, Needle>>,
    /// The bytes with which some needle begins.
    begins: [bool; 256],
}

struct Needle {
    placeholder: String,
    fit: Boundary,
}

/// Where a text may stand to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    /// Anywhere: no part of a secret is kept.
    Anywhere,
    /// Where the name of a file ends: `/home/me` is not found in `/home/meredith`.
    Path,
    /// The same, and where a path begins: `/tmp` is not found in `/home/me/tmp`.
    ShortPath,
    /// Where a word ends.
    Word,
}

impl Boundary {
    /// How this path is to be found. A longer one is also found where another seems to go on, as in the
    /// `a/home/me` of a diff: better too much left out than too little.
    pub(super) fn for_path(path: &str) -> Self {
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
            begins: [false; 256],
        }
    }
}

impl Needles {
    /// Adds a text with its placeholder. The first of two equal texts counts.
    pub(super) fn add(&mut self, text: String, placeholder: String, fit: Boundary) {
        if let Some(first) = text.bytes().next() {
            self.begins[usize::from(first)] = true;
            let same_length = self.lengths.entry(Reverse(text.len())).or_default();
            same_length
                .entry(text)
                .or_insert(Needle { placeholder, fit });
        }
    }

    /// The change for the longest needle that stands at this place.
    pub(super) fn find(&self, text: &str, at: usize, borders: &[usize]) -> Option<Replacement> {
        let first = text.as_bytes().get(at)?;
        if !self.begins[usize::from(*first)] {
            return None;
        }
        self.lengths.iter().find_map(|(Reverse(length), needles)| {
            let end = at + length;
            let needle = needles.get(text.get(at..end)?)?;
            let fits = borders.binary_search(&end).is_ok()
                || needle.fit.matches(&text[..at], &text[end..]);
            fits.then(|| Replacement {
                range: at..end,
                with: needle.placeholder.clone(),
            })
        })
    }
}

/// Whether a file's name is over where this text begins.
fn name_ends(rest: &str) -> bool {
    let mut chars = rest.chars();
    match chars.next() {
        None => true,
        Some('.') => !chars.next().is_some_and(char::is_alphanumeric),
        // An encoded letter goes on with the name, an encoded separator does not.
        Some('%') => match rest.get(1..3) {
            Some(code) if code.bytes().all(|b| b.is_ascii_hexdigit()) => ["2F", "5C", "22", "0A"]
                .iter()
                .any(|end| code.eq_ignore_ascii_case(end)),
            _ => true,
        },
        // What stands for an id was a part of the name.
        Some('{') => Placeholder::parse_prefix(rest).is_none(),
        Some(c) => !is_name(c),
    }
}

/// Whether a path may begin after this text. Letters of a flag (`-I`), of an escape (`\n`) and of a
/// terminal's colour (`[0m`) belong to no path.
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
