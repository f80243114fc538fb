//! One value of the configuration and where it came from, and a layer of such values.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde_json::Value;

use super::key_table::KeySpec;
use super::{Error, Key, Origin, Result, ValueKind, lookup, redact};

/// How many settings one layer may hold: more than any person writes, few enough to be quick.
const MAX_SETTINGS: usize = 1000;

/// A value that fits its key.
#[derive(Clone)]
pub(super) struct Setting {
    /// The value; secret when the key is.
    pub(super) value: Value,
    /// The row of the table.
    pub(super) known: &'static KeySpec,
    /// Who set it.
    pub(super) origin: Origin,
}

impl Setting {
    /// The value as a person may see it.
    pub(super) fn display(&self) -> String {
        redact::display_value(&self.value, self.known.secret)
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.display(), self.origin)
    }
}

/// The settings of one layer, or of all layers laid over each other.
#[derive(Debug, Clone, Default)]
pub(super) struct SettingMap(BTreeMap<Key, Setting>);

impl SettingMap {
    /// Adds what one layer says under a written key, after checking it against the table.
    pub(super) fn insert(&mut self, written: &Key, value: Value, origin: Origin) -> Result<()> {
        let Some(leaf) = lookup::find_key(written) else {
            return Err(Error::unknown_key(origin, written));
        };
        let kind = leaf.known.kind;
        // `agent_binary = "codex-acp"` is a command of one word.
        let value = match value {
            Value::String(_) if leaf.alias && kind == ValueKind::Command => {
                Value::Array(vec![value])
            }
            value => value,
        };
        if !kind.accepts(&value) {
            let (found, expected) = (kind.describe_found(&value), kind.expected());
            return Err(Error::wrong_value(origin, written, &found, &expected));
        }
        if self.0.len() >= MAX_SETTINGS {
            return Err(Error::TooMany {
                at: Box::new(origin),
                limit: MAX_SETTINGS,
            });
        }
        let setting = Setting {
            value,
            known: leaf.known,
            origin,
        };
        match self.0.entry(leaf.key) {
            Entry::Vacant(place) => place.insert(setting),
            Entry::Occupied(place) => {
                return Err(Error::Twice {
                    at: Box::new(setting.origin),
                    key: place.key().clone(),
                    first: Box::new(place.get().origin.clone()),
                });
            }
        };
        Ok(())
    }

    /// Lays a later layer over this one.
    pub(super) fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    /// Takes out what needs trust, and says which keys that were.
    pub(super) fn remove_untrusted(&mut self) -> Vec<Key> {
        let left_out = self
            .0
            .extract_if(.., |_, setting| setting.known.needs_trust);
        left_out.map(|(key, _)| key).collect()
    }

    /// The setting of a key.
    pub(super) fn get(&self, key: &Key) -> Option<&Setting> {
        self.0.get(key)
    }

    /// All settings, in the order of their keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &Setting)> {
        self.0.iter()
    }

    /// The settings of one thing that has a name, with the part of the key below its name.
    pub(super) fn in_table<'a>(
        &'a self,
        table: &'a str,
        name: &'a str,
    ) -> impl Iterator<Item = (&'a [String], &'a Setting)> {
        self.0
            .iter()
            .filter_map(move |(key, setting)| match key.parts() {
                [top, of, below @ ..] if top == table && of == name => Some((below, setting)),
                _ => None,
            })
    }

    /// The names of all agents that have a setting.
    pub(super) fn agents(&self) -> Vec<&str> {
        self.names("agents")
    }

    /// The names of all that have a setting in this table.
    pub(super) fn names<'a>(&'a self, table: &str) -> Vec<&'a str> {
        let named = self.0.keys().filter_map(|key| match key.parts() {
            [top, name, _, ..] if top == table => Some(name.as_str()),
            _ => None,
        });
        let mut names: Vec<&str> = named.collect();
        names.dedup();
        names
    }
}
