//! Suggestions for unknown keys and names.

use windlass_core::registry;

use super::key_table::KEYS;
use super::{Error, Key, Origin, lookup};

/// Creates the error for an unknown key, with a suggestion.
pub(super) fn unknown_key(at: Origin, key: &Key) -> Error {
    Error::UnknownKey {
        at: Box::new(at),
        key: key.clone(),
        advice: suggestion(key),
    }
}

/// Returns the suggestion for an unknown key: the closest known key, or else the keys that are allowed there.
fn suggestion(written: &Key) -> String {
    let siblings = lookup::siblings(written);
    let closest = registry::closest(written.last(), siblings.iter().map(Key::last));
    if let Some(key) = siblings.iter().find(|key| Some(key.last()) == closest) {
        return format!("did you mean `{key}`?");
    }
    // The right key in the wrong table.
    let elsewhere = KEYS
        .iter()
        .find(|known| known.path.rsplit('.').next() == Some(written.last()));
    if let Some(known) = elsewhere {
        return format!("did you mean `{}`?", known.path);
    }
    let is_canonical =
        |key: &&Key| lookup::is_table(key) || lookup::find_key(key).is_some_and(|leaf| !leaf.alias);
    let names: Vec<&str> = siblings
        .iter()
        .filter(is_canonical)
        .map(Key::last)
        .collect();
    match names.as_slice() {
        [] => "see docs/configuration.md for the known keys".to_owned(),
        names => format!("known keys here: {}", names.join(", ")),
    }
}
