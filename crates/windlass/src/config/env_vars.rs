//! Variables that set a key: `WINDLASS__AGENTS__CODEX__MODEL` for any, and for some one of their own, such as
//! `WINDLASS_AGENT`.

use super::key_table::{KEYS, KeySpec};
use super::setting::SettingMap;
use super::{Error, Key, Origin, Result, lookup, names};

/// Before the key's parts, which two underscores divide.
const PREFIX: &str = "WINDLASS__";

/// Whether a variable of this name sets a key.
pub(super) fn is_ours(name: &str) -> bool {
    name.starts_with(PREFIX) || find_by_env_var(name).is_some()
}

/// The row whose own variable this is.
fn find_by_env_var(name: &str) -> Option<&'static KeySpec> {
    KEYS.iter().find(|known| known.variable == Some(name))
}

/// The variable that sets a key, for a person to read.
pub(super) fn name_of(path: &str) -> String {
    let parts: Vec<String> = path
        .split('.')
        .map(|part| {
            if lookup::is_placeholder(part) {
                part.to_owned()
            } else {
                part.to_uppercase()
            }
        })
        .collect();
    format!("{PREFIX}{}", parts.join("__"))
}

/// Adds what a variable sets; an empty one sets nothing. `agents` are the names that are already known.
pub(super) fn apply(
    settings: &mut SettingMap,
    agents: &[&str],
    (name, value): (&str, &str),
    origin: Origin,
) -> Result<()> {
    if value.is_empty() {
        return Ok(());
    }
    let key = match find_by_env_var(name) {
        Some(known) => Key::dotted(known.path),
        None => key(name.strip_prefix(PREFIX).unwrap_or(name), agents),
    };
    put_text(settings, &key, value, origin)
}

/// Adds a value that is written as text, as in a variable or a flag.
pub(super) fn put_text(settings: &mut SettingMap, key: &Key, text: &str, at: Origin) -> Result<()> {
    for top in prefixes(key) {
        lookup::check_name(&top, &at)?;
    }
    match lookup::find_key(key) {
        Some(leaf) => settings.insert(key, leaf.known.kind.parse(text), at),
        None => Err(Error::unknown_key(at, &first_unknown_prefix(key))),
    }
}

/// The key that a variable spells; where none fits, its parts in small letters, for the error.
fn key(spelled: &str, agents: &[&str]) -> Key {
    let rows = KEYS.iter().flat_map(lookup::spellings);
    rows.into_iter()
        .find_map(|path| spelled_as(path, spelled, agents))
        .unwrap_or_else(|| Key::new(spelled.to_lowercase().split("__")))
}

/// The path with the names that the variable spells out, if it spells this path.
fn spelled_as(path: &str, spelled: &str, agents: &[&str]) -> Option<Key> {
    let mut rest = Some(spelled);
    let mut key = Key::default();
    for part in path.split('.') {
        let (word, after) = match rest?.split_once("__") {
            // The name of a variable keeps its case, and takes all that is left.
            _ if part == "<variable>" => (rest?, None),
            Some((word, after)) => (word, Some(after)),
            None => (rest?, None),
        };
        rest = after;
        key = match part {
            "<name>" | "<alias>" => key.child(&agent(word, agents)),
            "<variable>" => key.child(word),
            part if part.eq_ignore_ascii_case(word) => key.child(part),
            _ => return None,
        };
    }
    rest.is_none().then_some(key)
}

/// The agent that a variable means: variables cannot spell `my-agent`, so `MY_AGENT` stands for it.
fn agent(word: &str, agents: &[&str]) -> String {
    let exact = word.to_lowercase();
    let alike = |name: &&&str| names::same_in_environment(name, word);
    match agents.iter().find(alike) {
        Some(name) if !agents.contains(&exact.as_str()) => (*name).to_owned(),
        _ => exact,
    }
}

/// The key up to its first part that no known key has, since that is the one to mend.
fn first_unknown_prefix(key: &Key) -> Key {
    let fault = prefixes(key).find(|top| lookup::find_key(top).is_none() && !lookup::is_table(top));
    fault.unwrap_or_else(|| key.clone())
}

/// The key's first part, its first two parts, and so on.
fn prefixes(key: &Key) -> impl Iterator<Item = Key> {
    (1..=key.parts().len()).map(|depth| Key::new(&key.parts()[..depth]))
}
