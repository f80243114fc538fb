//! JSON as the standard has it, and one thing stricter: a key stands once.
//!
//! Of two values under one key most readers keep the last and some the first. Which one the agent meant nobody
//! knows, so such an object is no answer.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// How deep arrays and objects may stand in each other.
pub(super) const MAX_DEPTH: usize = 64;

/// The value that is the whole of this text.
pub(super) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let mut source = serde_json::Deserializer::from_str(text);
    let value = StrictValue { room: MAX_DEPTH }.deserialize(&mut source)?;
    source.end()?;
    Ok(value)
}

/// Whether nothing in this value stands deeper than the limit.
pub(super) fn is_within_depth(value: &Value, room: usize) -> bool {
    match value {
        Value::Array(items) => room > 0 && items.iter().all(|item| is_within_depth(item, room - 1)),
        Value::Object(fields) => {
            room > 0
                && fields
                    .values()
                    .all(|field| is_within_depth(field, room - 1))
        }
        _ => true,
    }
}

/// Reads a value that may go this much deeper.
#[derive(Clone, Copy)]
struct StrictValue {
    room: usize,
}

impl StrictValue {
    fn inside<E: Error>(self) -> Result<Self, E> {
        let room = self.room.checked_sub(1);
        let deeper = || E::custom(format_args!("nested deeper than {MAX_DEPTH} levels"));
        room.map(|room| Self { room }).ok_or_else(deeper)
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
        number.ok_or_else(|| E::custom("a number without end"))
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
                return Err(A::Error::custom(format_args!(
                    "the key {key:?} stands twice"
                )));
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
        /// Whatever serde_json reads, this reads the same, unless a key stands twice or it is too deep.
        #[test]
        fn it_agrees_with_the_usual_reader(number in any::<f64>(), text in any::<String>(), whole in any::<i64>()) {
            let value = serde_json::json!({ "n": number, "t": [text, null, true], "w": { "w": whole } });
            prop_assert_eq!(parse(&value.to_string()).unwrap(), value);
        }
    }

    #[test]
    fn depth_has_a_limit() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let deep = parse(&nested(MAX_DEPTH)).unwrap();
        assert!(is_within_depth(&deep, MAX_DEPTH) && !is_within_depth(&deep, MAX_DEPTH - 1));
        let refused = parse(&nested(MAX_DEPTH + 1)).unwrap_err().to_string();
        assert!(refused.contains("deeper than 64"), "{refused}");
    }
}
