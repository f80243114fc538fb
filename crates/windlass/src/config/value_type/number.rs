//! Values that are numbers, each with its bounds.

use std::time::Duration;

use serde_json::{Number, Value};

use super::{ValueKind, ValueType};

/// A duration of whole seconds, from 1 to a maximum.
pub(in crate::config) struct Seconds<const MAX: u64>;
/// A whole number between two bounds.
pub(in crate::config) struct Count<const MIN: u32, const MAX: u32>;
/// A number from 0 to a maximum.
pub(in crate::config) struct Amount<const MAX: u32>;

impl<const MAX: u64> ValueType for Seconds<MAX> {
    type Value = Duration;
    const KIND: ValueKind = ValueKind::Seconds { max: MAX };

    fn read(value: &Value) -> Option<Duration> {
        let seconds = value.as_u64().filter(|n| (1..=MAX).contains(n));
        seconds.map(Duration::from_secs)
    }

    fn write(value: &Duration) -> Value {
        value.as_secs().into()
    }
}

impl<const MIN: u32, const MAX: u32> ValueType for Count<MIN, MAX> {
    type Value = u32;
    const KIND: ValueKind = ValueKind::Count { min: MIN, max: MAX };

    fn read(value: &Value) -> Option<u32> {
        let number = u32::try_from(value.as_u64()?).ok()?;
        (MIN..=MAX).contains(&number).then_some(number)
    }

    fn write(value: &u32) -> Value {
        (*value).into()
    }
}

impl<const MAX: u32> ValueType for Amount<MAX> {
    type Value = Number;
    const KIND: ValueKind = ValueKind::Amount { max: MAX };

    fn read(value: &Value) -> Option<Number> {
        let number = value.as_f64()?;
        let is_valid = (0.0..=f64::from(MAX)).contains(&number);
        value.as_number().filter(|_| is_valid).cloned()
    }

    fn write(value: &Number) -> Value {
        Value::Number(value.clone())
    }
}
