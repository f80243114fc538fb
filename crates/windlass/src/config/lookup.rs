//! Looks up keys in the key table.

use super::key_table::{KEYS, KeySpec, SECTIONS};
use super::{Error, Key, Origin, Result, names};

/// A row of the key table, and the key that matched it.
#[derive(Debug)]
pub(super) struct KeyMatch {
    /// The row.
    pub(super) known: &'static KeySpec,
    /// The canonical key.
    pub(super) key: Key,
    /// `true` if an alias was used.
    pub(super) alias: bool,
}

/// Returns the row for a key as written, if there is one.
pub(super) fn find_key(written: &Key) -> Option<KeyMatch> {
    let plain = without_section(written);
    KEYS.iter().find_map(|known| {
        let spelling =
            spellings(known).find(|path| remaining_parts(path, plain.parts()) == Some(0))?;
        Some(KeyMatch {
            known,
            key: fill(known.path, &plain),
            alias: spelling != known.path,
        })
    })
}

/// Returns `true` if this key is a table of further keys.
pub(super) fn is_table(written: &Key) -> bool {
    let plain = without_section(written);
    let mut paths = KEYS.iter().flat_map(spellings);
    paths.any(|path| remaining_parts(path, plain.parts()).is_some_and(|more| more > 0))
}

/// Returns an error if the last part of the key is a name chosen by the user and is not valid.
pub(super) fn check_name(written: &Key, at: &Origin) -> Result<()> {
    let plain = without_section(written);
    let index = plain.parts().len().saturating_sub(1);
    let mut rows = KEYS.iter();
    let row = rows.find(|known| remaining_parts(known.path, plain.parts()).is_some());
    let (what, rule) = match row.and_then(|known| known.path.split('.').nth(index)) {
        Some("<name>") if !names::is_agent(plain.last()) => match plain.parts() {
            [top, ..] if top == "composites" => ("a composite", names::AGENT_RULE),
            _ => ("an agent", names::AGENT_RULE),
        },
        Some("<alias>") if !names::is_alias(plain.last()) => ("a model", names::ALIAS_RULE),
        Some("<variable>") if !names::is_variable(plain.last()) => {
            ("a variable", names::VARIABLE_RULE)
        }
        _ => return Ok(()),
    };
    Err(Error::BadName {
        at: Box::new(at.clone()),
        key: written.clone(),
        what,
        rule,
    })
}

/// Returns the known keys in the same table, including aliases.
pub(super) fn siblings(written: &Key) -> Vec<Key> {
    let plain = without_section(written);
    let Some((_, parent)) = plain.parts().split_last() else {
        return Vec::new();
    };
    let mut found: Vec<Key> = KEYS
        .iter()
        .flat_map(spellings)
        .filter(|path| remaining_parts(path, parent).is_some())
        .filter_map(|path| path.split('.').nth(parent.len()))
        .filter(|part| !is_placeholder(part))
        .map(|part| Key::new(parent).child(part))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Returns all paths of a row: its own and its aliases.
pub(super) fn spellings(known: &'static KeySpec) -> impl Iterator<Item = &'static str> {
    std::iter::once(known.path).chain(known.aliases.iter().copied())
}

/// Returns `true` if this part of a path is a placeholder for a name.
pub(super) fn is_placeholder(part: &str) -> bool {
    part.starts_with('<')
}

/// Converts a key such as `acp.timeout_secs` to `agents.acp.timeout_secs`.
fn without_section(written: &Key) -> Key {
    let parts = written.parts();
    match parts.first() {
        Some(first) if SECTIONS.contains(&first.as_str()) => {
            Key::new(std::iter::once("agents").chain(parts.iter().map(String::as_str)))
        }
        _ => written.clone(),
    }
}

/// Returns the number of parts of a path after these, if it starts with them.
fn remaining_parts(path: &str, parts: &[String]) -> Option<usize> {
    let mut rest = path.split('.');
    for part in parts {
        let known = rest.next()?;
        if known != part && !is_placeholder(known) {
            return None;
        }
    }
    Some(rest.count())
}

/// Replaces the placeholders of a path by the parts of the key at the same position.
fn fill(path: &str, key: &Key) -> Key {
    let parts = path.split('.').enumerate();
    Key::new(parts.map(|(index, part)| match key.parts().get(index) {
        Some(name) if is_placeholder(part) => name.as_str(),
        _ => part,
    }))
}
