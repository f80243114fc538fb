//! JSON objects, built field by field.

use serde_json::{Map, Value};

use crate::Extra;

/// Adds fields to an object. Existing fields take precedence.
fn merge(into: &mut Map<String, Value>, extra: &Extra) {
    for (key, value) in extra {
        match (into.get_mut(key), value) {
            (None, _) => {
                into.insert(key.clone(), value.clone());
            }
            (Some(Value::Object(into)), Value::Object(extra)) => merge(into, extra),
            (Some(_), _) => {}
        }
    }
}

/// Builds an object field by field, skipping absent values.
#[derive(Debug, Default)]
pub(crate) struct ObjectBuilder(Map<String, Value>);

impl ObjectBuilder {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    pub(crate) fn set_opt(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.set(key, value),
            None => self,
        }
    }

    /// Sets a list unless it is empty.
    pub(crate) fn set_list(self, key: &str, values: Vec<impl Into<Value>>) -> Self {
        if values.is_empty() {
            return self;
        }
        self.set(
            key,
            values.into_iter().map(Into::into).collect::<Vec<Value>>(),
        )
    }

    /// Sets an object unless it is empty.
    pub(crate) fn set_object(self, key: &str, inner: ObjectBuilder) -> Self {
        if inner.0.is_empty() {
            self
        } else {
            self.set(key, inner.0)
        }
    }

    /// Adds extra fields.
    pub(crate) fn extra(mut self, extra: &Extra) -> Self {
        merge(&mut self.0, extra);
        self
    }

    pub(crate) fn build(self) -> Value {
        Value::Object(self.0)
    }
}

impl From<ObjectBuilder> for Value {
    fn from(object: ObjectBuilder) -> Self {
        object.build()
    }
}
