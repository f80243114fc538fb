//! JSON objects, read by removing the known fields.

use serde_json::{Map, Value};

use super::{JsonPath, Result};
use crate::Extra;

/// An object. Each known field is removed when it is read. A `null` field counts as absent.
#[derive(Debug)]
pub(crate) struct Fields<'p> {
    map: Map<String, Value>,
    path: &'p JsonPath<'p>,
}

impl<'p> Fields<'p> {
    pub(crate) fn from_value(value: Value, path: &'p JsonPath<'p>) -> Result<Self> {
        match value {
            Value::Object(map) => Ok(Self { map, path }),
            other => Err(path.expected("an object", &other)),
        }
    }

    pub(crate) fn path(&self) -> &'p JsonPath<'p> {
        self.path
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(|value| !value.is_null())
    }

    pub(crate) fn peek(&self, key: &str) -> Option<&Value> {
        self.map.get(key)
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.map.shift_remove(key).filter(|value| !value.is_null())
    }

    /// Puts back a value that has no common equivalent.
    pub(crate) fn put_back(&mut self, key: &str, value: Value) {
        self.map.insert(key.to_owned(), value);
    }

    /// Renames a field to the name used here.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if let Some(value) = self.take(from) {
            self.put_back(to, value);
        }
    }

    pub(crate) fn string(&mut self, key: &str) -> Result<Option<String>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.path.key(key).expected("a string", &other)),
        }
    }

    pub(crate) fn required(&mut self, key: &str) -> Result<String> {
        self.string(key)?
            .ok_or_else(|| self.path.key(key).error("missing"))
    }

    pub(crate) fn bool(&mut self, key: &str) -> Result<Option<bool>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.path.key(key).expected("a boolean", &other)),
        }
    }

    pub(crate) fn f64(&mut self, key: &str) -> Result<Option<f64>> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        let number = value.as_f64();
        number
            .map(Some)
            .ok_or_else(|| self.path.key(key).expected("a number", &value))
    }

    /// Takes a count. Some clients write it as `4096.0`.
    pub(crate) fn u64(&mut self, key: &str) -> Result<Option<u64>> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        let what = "a non-negative integer";
        as_whole_number(&value)
            .map(Some)
            .ok_or_else(|| self.path.key(key).expected(what, &value))
    }

    pub(crate) fn i64(&mut self, key: &str) -> Result<Option<i64>> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        let number = value.as_i64();
        number
            .map(Some)
            .ok_or_else(|| self.path.key(key).expected("an integer", &value))
    }

    /// Parses each element of a list. An absent list is empty.
    pub(crate) fn each<T>(
        &mut self,
        key: &str,
        mut read: impl FnMut(Value, &JsonPath<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let path = self.path.key(key);
        match self.take(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) => list
                .into_iter()
                .enumerate()
                .map(|(index, value)| read(value, &path.index(index)))
                .collect(),
            Some(other) => Err(path.expected("a list", &other)),
        }
    }

    /// Parses a nested object and puts back its remaining fields.
    pub(crate) fn nested(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Fields<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some(value) = self.take(key) else {
            return Ok(());
        };
        let path = self.path.key(key);
        let mut inner = Fields::from_value(value, &path)?;
        read(&mut inner)?;
        let rest = inner.into_extra();
        if !rest.is_empty() {
            self.put_back(key, Value::Object(rest));
        }
        Ok(())
    }

    /// Returns the fields that were not taken.
    pub(crate) fn into_extra(self) -> Extra {
        self.map
    }
}

/// Returns a non-negative integer, also if it is written with a decimal point.
pub(crate) fn as_whole_number(value: &Value) -> Option<u64> {
    let exact = |f: f64| f.fract() == 0.0 && (0.0..=9e15).contains(&f);
    value
        .as_u64()
        .or_else(|| value.as_f64().filter(|f| exact(*f)).map(|f| f as u64))
}

/// Parses a string.
pub(crate) fn string(value: Value, path: &JsonPath<'_>) -> Result<String> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(path.expected("a string", &other)),
    }
}
