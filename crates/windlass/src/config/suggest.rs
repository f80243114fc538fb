//! What a person probably meant.

use windlass_core::registry;

use super::key_table::KEYS;
use super::{Key, lookup};

/// The names, the one most like what was written first.
pub(super) fn by_similarity<'a>(
    written: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort();
    names.dedup();
    let likeness = |name: &str| strsim::jaro_winkler(written, name);
    names.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    names
}

/// The advice that follows "unknown key": the nearest known key, or else those that could stand there.
pub(super) fn suggestion(written: &Key) -> String {
    let beside = lookup::siblings(written);
    let nearest = registry::closest(written.last(), beside.iter().map(Key::last));
    if let Some(key) = beside.iter().find(|key| Some(key.last()) == nearest) {
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
        |key: &&Key| lookup::is_table(key) || lookup::find_key(key).is_some_and(|leaf| !leaf.alias);
    let names: Vec<&str> = beside.iter().filter(proper).map(Key::last).collect();
    match names.as_slice() {
        [] => "see docs/configuration.md for the known keys".to_owned(),
        names => format!("known here are {}", names.join(", ")),
    }
}
