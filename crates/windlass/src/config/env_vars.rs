//! Environment variables that set a key: one such as `WINDLASS__AGENTS__CODEX__MODEL` for every key, and an
//! additional one, such as `WINDLASS_AGENT`, for some keys.

use super::key_table::{KEYS, KeySpec};
use super::setting::SettingMap;
use super::{Key, Origin, Result, lookup, names, suggest};

/// The prefix before the key's parts, which are separated by two underscores.
const PREFIX: &str = "WINDLASS__";

/// Returns `true` if a variable of this name sets a key.
pub(super) fn sets_key(name: &str) -> bool {
    name.starts_with(PREFIX) || find_by_env_var(name).is_some()
}

/// Returns the key that has this additional variable.
fn find_by_env_var(name: &str) -> Option<&'static KeySpec> {
    KEYS.iter().find(|known| known.variable == Some(name))
}

/// Returns the name of the variable that sets a key, for documentation.
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

/// Adds the setting of a variable; an empty variable is ignored. `agents` are the names of the agents known so far.
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

/// Adds a value that is given as text, as in a variable or a flag.
pub(super) fn put_text(settings: &mut SettingMap, key: &Key, text: &str, at: Origin) -> Result<()> {
    for prefix in prefixes(key) {
        lookup::check_name(&prefix, &at)?;
    }
    match lookup::find_key(key) {
        Some(leaf) => settings.insert(key, leaf.known.kind.parse(text), at),
        None => Err(suggest::unknown_key(at, &first_unknown_prefix(key))),
    }
}

/// Returns the key that a variable sets. For an unknown variable, it is made of the lower-case parts, for the error message.
fn key(spelled: &str, agents: &[&str]) -> Key {
    let rows = KEYS.iter().flat_map(lookup::spellings);
    rows.into_iter()
        .find_map(|path| spelled_as(path, spelled, agents))
        .unwrap_or_else(|| Key::new(spelled.to_lowercase().split("__")))
}

/// Matches a variable against a path; returns the path with its placeholders filled in.
fn spelled_as(path: &str, spelled: &str, agents: &[&str]) -> Option<Key> {
    let mut rest = Some(spelled);
    let mut key = Key::default();
    for part in path.split('.') {
        let (word, after) = match rest?.split_once("__") {
            // The name of a variable keeps its case and takes the rest.
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

/// Returns the agent's name: variables cannot contain `my-agent`, so `MY_AGENT` is used for it.
fn agent(word: &str, agents: &[&str]) -> String {
    let exact = word.to_lowercase();
    let alike = |name: &&&str| names::same_in_environment(name, word);
    match agents.iter().find(alike) {
        Some(name) if !agents.contains(&exact.as_str()) => (*name).to_owned(),
        _ => exact,
    }
}

/// Returns the key up to its first unknown part, which is the part to correct.
fn first_unknown_prefix(key: &Key) -> Key {
    let unknown = prefixes(key)
        .find(|prefix| lookup::find_key(prefix).is_none() && !lookup::is_table(prefix));
    unknown.unwrap_or_else(|| key.clone())
}

/// Returns the key's first part, its first two parts, and so on.
fn prefixes(key: &Key) -> impl Iterator<Item = Key> {
    (1..=key.parts().len()).map(|depth| Key::new(&key.parts()[..depth]))
}
