//! A JSON parser that also rejects duplicate keys.
//!
//! Most parsers keep the last value of a duplicate key and some keep the first. The intended value is
//! unknown, so such an object is rejected.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The maximum nesting depth of arrays and objects.
pub(super) const MAX_DEPTH: usize = 64;

/// Parses the whole text as one value.
pub(super) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let mut source = serde_json::Deserializer::from_str(text);
    let value = StrictValue {
        depth_left: MAX_DEPTH,
    }
    .deserialize(&mut source)?;
    source.end()?;
    Ok(value)
}

/// Returns `true` if the nesting of the value is within the given depth.
pub(super) fn is_within_depth(value: &Value, depth_left: usize) -> bool {
    match value {
        Value::Array(items) => {
            depth_left > 0
                && items
                    .iter()
                    .all(|item| is_within_depth(item, depth_left - 1))
        }
        Value::Object(fields) => {
            depth_left > 0
                && fields
                    .values()
                    .all(|field| is_within_depth(field, depth_left - 1))
        }
        _ => true,
    }
}

/// Deserializes a value with at most the given nesting depth.
#[derive(Clone, Copy)]
struct StrictValue {
    depth_left: usize,
}

impl StrictValue {
    fn inside<E: Error>(self) -> Result<Self, E> {
        let depth_left = self.depth_left.checked_sub(1);
        let too_deep = || E::custom(format_args!("nested deeper than {MAX_DEPTH} levels"));
        depth_left
            .map(|depth_left| Self { depth_left })
            .ok_or_else(too_deep)
    }
}

impl<'de> DeserializeSeed<'de> for StrictValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).map(Value::Number);
        number.ok_or_else(|| E::custom("the number is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut items = Vec::new();
        while let Some(item) = source.next_element_seed(inside)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut fields = Map::new();
        while let Some(key) = source.next_key::<String>()? {
            if fields.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate key {key:?}")));
            }
            fields.insert(key, source.next_value_seed(inside)?);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Parses the same values as serde_json, except for duplicate keys and excessive depth.
        #[test]
        fn parse_agrees_with_serde_json(number in any::<f64>(), text in any::<String>(), whole in any::<i64>()) {
            let value = serde_json::json!({ "n": number, "t": [text, null, true], "w": { "w": whole } });
            prop_assert_eq!(parse(&value.to_string()).unwrap(), value);
        }
    }

    #[test]
    fn nesting_beyond_limit_is_rejected() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let deep = parse(&nested(MAX_DEPTH)).unwrap();
        assert!(is_within_depth(&deep, MAX_DEPTH) && !is_within_depth(&deep, MAX_DEPTH - 1));
        let error = parse(&nested(MAX_DEPTH + 1)).unwrap_err().to_string();
        assert!(error.contains("deeper than 64"), "{error}");
    }
}
