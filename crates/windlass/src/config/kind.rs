//! The value types of keys, and how each is parsed from text.

use serde_json::Value;
use windlass_core::escape_line;

use super::names;

/// The type of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueKind {
    /// Text that is not empty.
    Text,
    /// Text that may be empty.
    AnyText,
    /// The name of an agent, an agent with a model, or a composite.
    Name,
    /// The name of an environment variable that holds a secret.
    Variable,
    /// A list of names of environment variables that hold secrets.
    Variables,
    /// An `http` or `https` address.
    Url,
    /// One of these values.
    Choice(&'static [&'static str]),
    /// A list of some of these values.
    Choices(&'static [&'static str]),
    /// A number of whole seconds of at least 1.
    Seconds {
        /// The largest number.
        max: u64,
    },
    /// A whole number.
    Count {
        /// The smallest number.
        min: u32,
        /// The largest number.
        max: u32,
    },
    /// A number of at least 0.
    Amount {
        /// The largest number.
        max: u32,
    },
    /// `true` or `false`.
    Flag,
    /// A list of strings.
    List,
    /// A list of strings, or one of these values.
    ListOr(&'static [&'static str]),
    /// A program and its arguments.
    Command,
    /// A program and its arguments, or `none`.
    CommandOrNone,
    /// One of these values, or a table that the backend interprets.
    Policy(&'static [&'static str]),
    /// A list of tables that the backend interprets.
    Tables,
}

impl ValueKind {
    /// Describes the expected value, for use after "expected".
    pub fn expected(self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::AnyText => "text (it may be empty)".to_owned(),
            Self::Name => format!(
                "the name of an agent ({}), `agent/model` or `composite/profile/<name>`",
                names::AGENT_RULE
            ),
            Self::Variable => {
                "the name of an environment variable such as OPENAI_API_KEY, never the key itself"
                    .to_owned()
            }
            Self::Variables => {
                r#"a list of environment variables such as ["OPENAI_API_KEY_2"], never the keys themselves"#.to_owned()
            }
            Self::Url => "an address that starts with http:// or https://".to_owned(),
            Self::Choice(choices) => one_of(choices),
            Self::Choices(choices) => format!("a list of some of {}", choices.join(", ")),
            Self::Seconds { max } => format!("whole seconds from 1 to {max}"),
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
            Self::Amount { max } => format!("a number from 0 to {max}"),
            Self::Flag => "true or false".to_owned(),
            Self::List => r#"a list of strings such as ["--fast"]"#.to_owned(),
            Self::ListOr(choices) => format!("a list of strings, or {}", one_of(choices)),
            Self::Command => r#"a list such as ["program", "argument"]"#.to_owned(),
            Self::CommandOrNone => r#"a list such as ["cargo", "test"], or "none""#.to_owned(),
            Self::Policy(choices) => format!("{}, or a table", one_of(choices)),
            Self::Tables => "a list of tables".to_owned(),
        }
    }

    /// Returns `true` if the value names variables that hold secrets.
    pub(super) fn names_secrets(self) -> bool {
        matches!(self, Self::Variable | Self::Variables)
    }

    /// Returns `true` if a table is a value of this type, and not a table of further keys.
    pub(super) fn takes_tables(self) -> bool {
        matches!(self, Self::Policy(_))
    }

    /// Parses the text of a variable or a flag; lists and tables are written as JSON.
    pub(super) fn parse(self, text: &str) -> Value {
        let as_text = || Value::String(text.to_owned());
        match self {
            Self::Flag => match text {
                "true" | "1" | "yes" | "on" => Value::Bool(true),
                "false" | "0" | "no" | "off" => Value::Bool(false),
                _ => as_text(),
            },
            Self::Seconds { .. } | Self::Count { .. } => {
                text.parse::<i64>().map_or_else(|_| as_text(), Value::from)
            }
            Self::Amount { .. } => match text.parse::<i64>() {
                Ok(whole) => Value::from(whole),
                Err(_) => text.parse::<f64>().map_or_else(|_| as_text(), Value::from),
            },
            Self::List
            | Self::ListOr(_)
            | Self::Variables
            | Self::Choices(_)
            | Self::Command
            | Self::CommandOrNone
            | Self::Policy(_)
            | Self::Tables => match serde_json::from_str(text) {
                Ok(value @ (Value::Array(_) | Value::Object(_))) => value,
                _ => as_text(),
            },
            _ => as_text(),
        }
    }

    /// Describes the value that was found, for use after "is".
    ///
    /// The value itself is shown only if a choice or a number was expected: a secret pasted into the wrong setting
    /// must not be printed.
    pub(super) fn describe_found(self, value: &Value) -> String {
        let found = match (self, value) {
            (Self::Choice(_) | Self::ListOr(_) | Self::Policy(_), Value::String(text))
                if text.len() <= 20 =>
            {
                return format!("\"{}\"", escape_line(text));
            }
            (
                Self::Seconds { .. } | Self::Count { .. } | Self::Amount { .. },
                Value::Number(number),
            ) => {
                return number.to_string();
            }
            (_, Value::Number(_)) => "a number",
            (_, Value::Bool(true)) => "true",
            (_, Value::Bool(false)) => "false",
            (_, Value::String(text)) if text.is_empty() => "empty",
            (_, Value::String(text)) if text.contains('\0') => "text with a NUL character",
            (Self::Variable | Self::Name | Self::Url, Value::String(_)) => "not valid",
            (_, Value::String(_)) => "text",
            (_, Value::Array(items)) if items.is_empty() => "an empty list",
            (
                Self::List
                | Self::ListOr(_)
                | Self::Variables
                | Self::Choices(_)
                | Self::Command
                | Self::CommandOrNone
                | Self::Tables,
                Value::Array(_),
            ) => "a list with an invalid item",
            (_, Value::Array(_)) => "a list",
            (_, Value::Object(_)) => "a table",
            (_, Value::Null) => "nothing",
        };
        found.to_owned()
    }
}

fn one_of(choices: &[&str]) -> String {
    format!("one of {}", choices.join(", "))
}
