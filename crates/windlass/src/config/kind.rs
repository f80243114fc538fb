//! What kinds of value a key can take, and how each is read from text.

use serde_json::Value;
use windlass_core::escape_line;

use super::names;

/// The longest time that can be set: a week. A larger number is a slip of the hand.
const MAX_SECONDS: u64 = 7 * 24 * 60 * 60;

/// The most of anything that can be counted out.
const MAX_COUNT: u64 = 10_000;

/// The kind of value that a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueKind {
    /// Any text that is not empty.
    Text,
    /// Any text, empty too.
    AnyText,
    /// Who works: an agent, an agent with a model, or a composite.
    Name,
    /// The name of an environment variable that holds a secret.
    Variable,
    /// An `http` or `https` address.
    Url,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Some of these words.
    Choices(&'static [&'static str]),
    /// Whole seconds.
    Seconds,
    /// How many: at least one.
    Count,
    /// How much: any number that is not below 0.
    Amount,
    /// Yes or no.
    Flag,
    /// A list of texts.
    List,
    /// A program and its arguments.
    Command,
    /// A program and its arguments, or the word `none`.
    CommandOrNone,
    /// One of these words, or a table that the backend understands.
    Policy(&'static [&'static str]),
    /// A list of tables that the backend understands.
    Tables,
}

impl ValueKind {
    /// What is expected, to follow "expected".
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
            Self::Url => "an address that starts with http:// or https://".to_owned(),
            Self::Choice(words) => one_of(words),
            Self::Choices(words) => format!("a list of some of {}", words.join(", ")),
            Self::Seconds => format!("whole seconds from 1 to {MAX_SECONDS}"),
            Self::Count => format!("a whole number from 1 to {MAX_COUNT}"),
            Self::Amount => "a number that is not below 0".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::List => r#"a list of texts such as ["--fast"]"#.to_owned(),
            Self::Command => r#"a list such as ["program", "argument"]"#.to_owned(),
            Self::CommandOrNone => r#"a list such as ["cargo", "test"], or "none""#.to_owned(),
            Self::Policy(words) => format!("{}, or a table", one_of(words)),
            Self::Tables => "a list of tables".to_owned(),
        }
    }

    /// Whether the value is of this kind.
    pub(super) fn accepts(self, value: &Value) -> bool {
        match self {
            Self::Text => text(value).is_some_and(|text| !text.is_empty()),
            Self::AnyText => text(value).is_some(),
            Self::Name => text(value).is_some_and(names::is_worker),
            Self::Variable => text(value).is_some_and(names::is_secret_variable),
            Self::Url => text(value).is_some_and(is_http),
            Self::Choice(words) => text(value).is_some_and(|text| words.contains(&text)),
            Self::Choices(words) => {
                texts(value).is_some_and(|texts| texts.iter().all(|text| words.contains(text)))
            }
            Self::Seconds => value
                .as_u64()
                .is_some_and(|n| (1..=MAX_SECONDS).contains(&n)),
            Self::Count => value.as_u64().is_some_and(|n| (1..=MAX_COUNT).contains(&n)),
            Self::Amount => value.as_f64().is_some_and(|n| n.is_finite() && n >= 0.0),
            Self::Flag => value.is_boolean(),
            Self::List => texts(value).is_some(),
            Self::Command => is_command(value),
            Self::CommandOrNone => is_command(value) || value == "none",
            Self::Policy(words) => value.is_object() || Self::Choice(words).accepts(value),
            Self::Tables => value
                .as_array()
                .is_some_and(|all| all.iter().all(Value::is_object)),
        }
    }

    /// Whether a table is a value of this kind, rather than a folder of further keys.
    pub(super) fn takes_tables(self) -> bool {
        matches!(self, Self::Policy(_))
    }

    /// The value that a variable or a flag means; lists and tables are written as JSON.
    pub(super) fn parse(self, text: &str) -> Value {
        let as_text = || Value::String(text.to_owned());
        match self {
            Self::Flag => match text {
                "true" | "1" | "yes" | "on" => Value::Bool(true),
                "false" | "0" | "no" | "off" => Value::Bool(false),
                _ => as_text(),
            },
            Self::Seconds | Self::Count => {
                text.parse::<i64>().map_or_else(|_| as_text(), Value::from)
            }
            Self::Amount => match text.parse::<i64>() {
                Ok(whole) => Value::from(whole),
                Err(_) => text.parse::<f64>().map_or_else(|_| as_text(), Value::from),
            },
            Self::List
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

    /// What was found instead, to follow "is".
    ///
    /// The value itself is shown only where a word or a time was expected: a key pasted into the wrong place must
    /// not be repeated on the screen.
    pub(super) fn describe_found(self, value: &Value) -> String {
        let found = match (self, value) {
            (Self::Choice(_) | Self::Policy(_), Value::String(text)) if text.len() <= 20 => {
                return format!("\"{}\"", escape_line(text));
            }
            (Self::Seconds | Self::Count | Self::Amount, Value::Number(number)) => {
                return number.to_string();
            }
            (_, Value::Number(_)) => "a number",
            (_, Value::Bool(true)) => "true",
            (_, Value::Bool(false)) => "false",
            (_, Value::String(text)) if text.is_empty() => "empty",
            (_, Value::String(text)) if text.contains('\0') => "text with a NUL in it",
            (Self::Variable | Self::Name | Self::Url, Value::String(_)) => "some other text",
            (_, Value::String(_)) => "text",
            (_, Value::Array(items)) if items.is_empty() => "an empty list",
            (
                Self::List | Self::Choices(_) | Self::Command | Self::CommandOrNone | Self::Tables,
                Value::Array(_),
            ) => "a list with something else in it",
            (_, Value::Array(_)) => "a list",
            (_, Value::Object(_)) => "a table",
            (_, Value::Null) => "nothing",
        };
        found.to_owned()
    }
}

/// The text of a value; a NUL cannot reach any program, so it is refused here.
fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.contains('\0'))
}

/// The texts of a list.
fn texts(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(text).collect()
}

/// Whether the value is a list of texts whose first names a program.
fn is_command(value: &Value) -> bool {
    texts(value).is_some_and(|texts| texts.first().is_some_and(|program| !program.is_empty()))
}

/// Whether the text is an address that could be called.
fn is_http(text: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .filter_map(|scheme| text.strip_prefix(scheme))
        .any(|rest| {
            !rest.is_empty() && !rest.contains(|c: char| c.is_whitespace() || c.is_control())
        })
}

fn one_of(words: &[&str]) -> String {
    format!("one of {}", words.join(", "))
}
