//! Rewrites a text that is split into chunks as if it were one string.
//!
//! A path or a secret may be split between two chunks of a stream. The chunks are joined for the search. A
//! match is removed from every chunk that contained a part of it, and its placeholder is inserted where the
//! match started.

use std::ops::Range;

use crate::placeholder::Placeholder;

/// The replacement of a range of the joined text.
pub(crate) struct Replacement {
    pub(crate) range: Range<usize>,
    pub(crate) with: String,
}

/// Finds values to replace in a text.
pub(crate) trait Finder {
    /// Returns the replacement at this position, if any. `borders` are the offsets at which chunks were
    /// joined.
    fn find(&mut self, text: &str, at: usize, borders: &[usize]) -> Option<Replacement>;

    /// Called for each placeholder that is already in the text.
    fn on_placeholder(&mut self, _: &Placeholder<'_>) {}
}

/// Calls the finder for every position of the joined text outside of placeholders, and replaces the matches.
pub(crate) fn rewrite(chunks: &mut [&mut String], finder: &mut impl Finder) {
    let (joined, borders) = join(chunks);
    let mut replacements = Vec::new();
    let mut at = 0;
    while at < joined.len() {
        if let Some(placeholder) = Placeholder::parse_prefix(&joined[at..]) {
            finder.on_placeholder(&placeholder);
            at += placeholder.len;
        } else if let Some(replacement) = finder.find(&joined, at, &borders) {
            at = replacement.range.end;
            replacements.push(replacement);
        } else {
            at += joined[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    if !replacements.is_empty() {
        apply(chunks, &joined, &replacements);
    }
}

/// Returns the joined text and the offsets of all chunks after the first.
fn join(chunks: &[&mut String]) -> (String, Vec<usize>) {
    let mut joined = String::new();
    let mut borders = Vec::new();
    for chunk in chunks {
        if !joined.is_empty() {
            borders.push(joined.len());
        }
        joined.push_str(chunk);
    }
    (joined, borders)
}

fn apply(chunks: &mut [&mut String], joined: &str, replacements: &[Replacement]) {
    let mut replacements = replacements.iter().peekable();
    let mut start = 0;
    let mut done = 0;
    for chunk in chunks {
        let end = start + chunk.len();
        let mut rewritten = String::with_capacity(chunk.len());
        while let Some(replacement) =
            replacements.next_if(|replacement| replacement.range.start < end)
        {
            rewritten.push_str(&joined[done..replacement.range.start]);
            rewritten.push_str(&replacement.with);
            done = replacement.range.end;
        }
        if done < end {
            rewritten.push_str(&joined[done..end]);
            done = end;
        }
        **chunk = rewritten;
        start = end;
    }
}
