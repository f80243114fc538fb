//! A value of the configuration with its origin, and a layer of such values.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde_json::Value;

use super::key_table::KeySpec;
use super::{Error, Key, Origin, Result, ValueKind, lookup, redact};

/// Maximum number of settings in one layer: more than a person writes, few enough to be fast.
const MAX_SETTINGS: usize = 1000;

/// A validated value.
#[derive(Clone)]
pub(super) struct Setting {
    /// The value; secret if the key is secret.
    pub(super) value: Value,
    /// The row of the key table.
    pub(super) known: &'static KeySpec,
    /// Where it was set.
    pub(super) origin: Origin,
}

impl Setting {
    /// Formats the value for display; secrets are redacted.
    pub(super) fn display(&self) -> String {
        redact::display_value(&self.value, self.known.secret)
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.display(), self.origin)
    }
}

/// The settings of one layer, or of all layers merged.
#[derive(Debug, Clone, Default)]
pub(super) struct SettingMap(BTreeMap<Key, Setting>);

impl SettingMap {
    /// Validates a value against the key table and adds it.
    pub(super) fn insert(&mut self, written: &Key, value: Value, origin: Origin) -> Result<()> {
        let Some(leaf) = lookup::find_key(written) else {
            return Err(Error::unknown_key(origin, written));
        };
        let kind = leaf.known.kind;
        // `agent_binary = "codex-acp"` is a command without arguments.
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
            Entry::Vacant(entry) => entry.insert(setting),
            Entry::Occupied(entry) => {
                return Err(Error::Twice {
                    at: Box::new(setting.origin),
                    key: entry.key().clone(),
                    first: Box::new(entry.get().origin.clone()),
                });
            }
        };
        Ok(())
    }

    /// Merges a later layer, which overrides this one.
    pub(super) fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    /// Removes the settings that need trust, and returns their keys.
    pub(super) fn remove_untrusted(&mut self) -> Vec<Key> {
        let removed = self
            .0
            .extract_if(.., |_, setting| setting.known.needs_trust);
        removed.map(|(key, _)| key).collect()
    }

    /// Returns the setting of a key.
    pub(super) fn get(&self, key: &Key) -> Option<&Setting> {
        self.0.get(key)
    }

    /// Returns all settings, sorted by key.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &Setting)> {
        self.0.iter()
    }

    /// Returns the settings of one named entry of a table, with the part of the key below the name.
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

    /// Returns the names of all agents that have a setting.
    pub(super) fn agents(&self) -> Vec<&str> {
        self.names("agents")
    }

    /// Returns the names of all entries of this table.
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
