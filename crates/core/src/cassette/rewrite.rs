//! A text that came in pieces, changed as if it were whole.
//!
//! A path or a secret may be torn between two pieces of a stream. The pieces are joined to look for it; what
//! is found leaves every piece that held a part of it, and its placeholder goes where it began.

use std::ops::Range;

use super::placeholder::Placeholder;

/// What is to stand in the place of a range of the joined text.
pub(super) struct Replacement {
    pub(super) range: Range<usize>,
    pub(super) with: String,
}

/// Someone who looks for things in a text.
pub(super) trait Finder {
    /// What is to be changed at this place. `borders` are the places where pieces were joined.
    fn find(&mut self, text: &str, at: usize, borders: &[usize]) -> Option<Replacement>;

    /// Called for the placeholders that are in the text already.
    fn on_placeholder(&mut self, _: &Placeholder<'_>) {}
}

/// Looks at every place of the joined text that is not in a placeholder, and makes the changes.
pub(super) fn rewrite(pieces: &mut [&mut String], finder: &mut impl Finder) {
    let (joined, borders) = join(pieces);
    let mut changes = Vec::new();
    let mut at = 0;
    while at < joined.len() {
        if let Some(mark) = Placeholder::parse_prefix(&joined[at..]) {
            finder.on_placeholder(&mark);
            at += mark.len;
        } else if let Some(change) = finder.find(&joined, at, &borders) {
            at = change.range.end;
            changes.push(change);
        } else {
            at += joined[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    if !changes.is_empty() {
        apply(pieces, &joined, &changes);
    }
}

/// The whole text, and where in it the pieces after the first begin.
fn join(pieces: &[&mut String]) -> (String, Vec<usize>) {
    let mut joined = String::new();
    let mut borders = Vec::new();
    for piece in pieces {
        if !joined.is_empty() {
            borders.push(joined.len());
        }
        joined.push_str(piece);
    }
    (joined, borders)
}

fn apply(pieces: &mut [&mut String], joined: &str, changes: &[Replacement]) {
    let mut changes = changes.iter().peekable();
    let mut start = 0;
    let mut done = 0;
    for piece in pieces {
        let end = start + piece.len();
        let mut changed = String::with_capacity(piece.len());
        while let Some(change) = changes.next_if(|change| change.range.start < end) {
            changed.push_str(&joined[done..change.range.start]);
            changed.push_str(&change.with);
            done = change.range.end;
        }
        if done < end {
            changed.push_str(&joined[done..end]);
            done = end;
        }
        **piece = changed;
        start = end;
    }
}
