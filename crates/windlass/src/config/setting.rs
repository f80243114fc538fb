//! A value of the configuration with its origin, and a layer of such values.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde_json::{Map, Value};

use super::key_table::KeySpec;
use super::{Error, Key, Origin, Result, Trust, ValueKind, lookup, redact, suggest};

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
    /// Returns `true` if this limit is not higher than an earlier one. No earlier limit is the highest one.
    fn lowers(&self, earlier: Option<&Self>) -> bool {
        earlier.is_none_or(|earlier| self.value.as_u64() <= earlier.value.as_u64())
    }

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
            return Err(suggest::unknown_key(origin, written));
        };
        let kind = leaf.known.kind;
        // `agent_binary = "codex-acp"` is a command without arguments.
        let value = match value {
            Value::String(_) if leaf.alias && kind == ValueKind::Command => {
                Value::Array(vec![value])
            }
            value => value,
        };
        if !(leaf.known.accepts)(&value) {
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

    /// Removes the settings of an untrusted file that it may not set over these earlier layers, and returns their
    /// keys.
    pub(super) fn remove_untrusted(&mut self, earlier: &Self) -> Vec<Key> {
        let removed = self.0.extract_if(.., |key, setting| {
            setting.known.trust == Trust::Required || !setting.lowers(earlier.0.get(key))
        });
        removed.map(|(key, _)| key).collect()
    }

    /// Returns all settings as nested tables.
    pub(super) fn to_tables(&self) -> Value {
        let mut tables = Value::Object(Map::new());
        for (key, setting) in &self.0 {
            let target = key.parts().iter().fold(&mut tables, |table, part| {
                if !table.is_object() {
                    *table = Value::Object(Map::new());
                }
                &mut table[part.as_str()]
            });
            *target = setting.value.clone();
        }
        tables
    }

    /// Returns all settings, sorted by key.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &Setting)> {
        self.0.iter()
    }

    /// Returns the names of all agents that have a setting.
    pub(super) fn agents(&self) -> Vec<&str> {
        let named = self.0.keys().filter_map(|key| match key.parts() {
            [top, name, _, ..] if top == "agents" => Some(name.as_str()),
            _ => None,
        });
        let mut names: Vec<&str> = named.collect();
        names.dedup();
        names
    }
}
