//! Finding a written key in the table of known keys.

use super::key_table::{KEYS, KeySpec, SECTIONS};
use super::{Error, Key, Origin, Result, names};

/// A row of the table, and the key by which it was meant.
#[derive(Debug)]
pub(super) struct KeyMatch {
    /// The row.
    pub(super) known: &'static KeySpec,
    /// The key in its one proper spelling.
    pub(super) key: Key,
    /// Whether another spelling was used.
    pub(super) alias: bool,
}

/// The row that a written key means, if it means one.
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

/// Whether further keys can stand below this one.
pub(super) fn is_table(written: &Key) -> bool {
    let plain = without_section(written);
    let mut paths = KEYS.iter().flat_map(spellings);
    paths.any(|path| remaining_parts(path, plain.parts()).is_some_and(|more| more > 0))
}

/// Refuses an innermost part that cannot be a name, where the table lets a person choose one.
pub(super) fn check_name(written: &Key, at: &Origin) -> Result<()> {
    let plain = without_section(written);
    let place = plain.parts().len().saturating_sub(1);
    let mut rows = KEYS.iter();
    let row = rows.find(|known| remaining_parts(known.path, plain.parts()).is_some());
    let (what, rule) = match row.and_then(|known| known.path.split('.').nth(place)) {
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

/// The known keys that could stand beside this one, in every spelling.
pub(super) fn siblings(written: &Key) -> Vec<Key> {
    let plain = without_section(written);
    let Some((_, above)) = plain.parts().split_last() else {
        return Vec::new();
    };
    let mut found: Vec<Key> = KEYS
        .iter()
        .flat_map(spellings)
        .filter(|path| remaining_parts(path, above).is_some())
        .filter_map(|path| path.split('.').nth(above.len()))
        .filter(|part| !is_placeholder(part))
        .map(|part| Key::new(above).child(part))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// All paths of a row: its own and its aliases.
pub(super) fn spellings(known: &'static KeySpec) -> impl Iterator<Item = &'static str> {
    std::iter::once(known.path).chain(known.aliases.iter().copied())
}

/// Whether a part of a path stands for any name.
pub(super) fn is_placeholder(part: &str) -> bool {
    part.starts_with('<')
}

/// `acp.timeout_secs` as `agents.acp.timeout_secs`.
fn without_section(written: &Key) -> Key {
    let parts = written.parts();
    match parts.first() {
        Some(first) if SECTIONS.contains(&first.as_str()) => {
            Key::new(std::iter::once("agents").chain(parts.iter().map(String::as_str)))
        }
        _ => written.clone(),
    }
}

/// How many parts a path has beyond these, if it begins with them.
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

/// The path with its placeholders replaced by the parts of the key at the same place.
fn fill(path: &str, key: &Key) -> Key {
    let parts = path.split('.').enumerate();
    Key::new(parts.map(|(place, part)| match key.parts().get(place) {
        Some(name) if is_placeholder(part) => name.as_str(),
        _ => part,
    }))
}
