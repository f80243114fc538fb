//! What a person probably meant.

use super::known::KEYS;
use super::{Key, lookup};

/// How alike two words must be for one to be taken for a slip of the other.
const ALIKE: f64 = 0.8;

/// The names, the one most like what was written first.
pub(super) fn sorted<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort();
    names.dedup();
    names.sort_by(|a, b| likeness(written, b).total_cmp(&likeness(written, a)));
    names
}

/// The advice that follows "unknown key": the nearest known key, or else those that could stand there.
pub(super) fn advice(written: &Key) -> String {
    let beside = lookup::siblings(written);
    let likeness_of = |key: &Key| likeness(written.last(), key.last());
    let nearest = beside
        .iter()
        .max_by(|a, b| likeness_of(a).total_cmp(&likeness_of(b)));
    if let Some(key) = nearest.filter(|key| likeness_of(key) >= ALIKE) {
        return format!("did you mean `{key}`?");
    }
    // The right key in the wrong table.
    let elsewhere = KEYS
        .iter()
        .find(|known| known.path.rsplit('.').next() == Some(written.last()));
    if let Some(known) = elsewhere {
        return format!("did you mean `{}`?", known.path);
    }
    let proper =
        |key: &&Key| lookup::is_branch(key) || lookup::leaf(key).is_some_and(|leaf| !leaf.alias);
    let names: Vec<&str> = beside.iter().filter(proper).map(Key::last).collect();
    match names.as_slice() {
        [] => "see docs/configuration.md for the known keys".to_owned(),
        names => format!("known here are {}", names.join(", ")),
    }
}

fn likeness(written: &str, name: &str) -> f64 {
    strsim::jaro_winkler(&written.to_lowercase(), &name.to_lowercase())
}
