//! The types of values: each has a [`ValueKind`] for messages and a Rust type for the program.

mod choice;
mod number;
mod publish_command;

use std::collections::BTreeMap;

use serde_json::Value;

pub(super) use choice::{
    ApiSpecWord, BridgeWord, ConflictsWord, EditModeWord, Hosts, Policy, SchemaModeWord,
    TimingWord, ToolModeWord,
};
pub use choice::{AutoLand, FolderAccess, LandStrategy, SandboxMechanism, ToolCalls};
pub(super) use number::{Amount, Count, Seconds};
pub(super) use publish_command::PublishCommand;

use super::{ValueKind, names};

/// The type of a key's value.
pub(super) trait ValueType {
    /// The type in the program.
    type Value;

    /// The type in messages and in the documentation.
    const KIND: ValueKind;

    /// Converts a value, or returns `None` if it is not valid for this type.
    fn read(value: &Value) -> Option<Self::Value>;

    /// Returns `true` if the value of one key is valid for this type.
    fn accepts(value: &Value) -> bool {
        Self::read(value).is_some()
    }

    /// Converts a value back, as it is written in a file.
    fn write(value: &Self::Value) -> Value;
}

/// Text that is not empty.
pub(super) struct NonEmptyText;
/// Text that may be empty.
pub(super) struct AnyText;
/// The name of an agent, an agent with a model, or a composite.
pub(super) struct Name;
/// The name of an environment variable that holds a secret.
pub(super) struct SecretVariable;
/// Names of environment variables that hold secrets.
pub(super) struct SecretVariables;
/// An HTTP address.
pub(super) struct Url;
/// A table of texts. Each is a separate key.
pub(super) struct TextTable;
/// `true` or `false`.
pub(super) struct Bool;
/// A list of strings.
pub(super) struct TextList;
/// A program and its arguments.
pub(super) struct CommandWords;
/// A list of tables that the backend interprets.
pub(super) struct Tables;

/// The command that verifies a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestCommand {
    /// Nothing verifies a change.
    None,
    /// A program and its arguments.
    Run(Vec<String>),
}

/// Implements [`ValueType`] for strings that a function accepts.
macro_rules! strings {
    ($($type:ident: $kind:expr, $is_valid:expr;)+) => {$(
        impl ValueType for $type {
            type Value = String;
            const KIND: ValueKind = $kind;
            fn read(value: &Value) -> Option<String> {
                let is_valid: fn(&str) -> bool = $is_valid;
                text(value).filter(|text| is_valid(text)).map(str::to_owned)
            }
            fn write(value: &String) -> Value {
                value.as_str().into()
            }
        }
    )+};
}

strings! {
    NonEmptyText: ValueKind::Text, |text| !text.is_empty();
    AnyText: ValueKind::AnyText, |_| true;
    Name: ValueKind::Name, names::is_worker;
    SecretVariable: ValueKind::Variable, names::is_secret_variable;
    Url: ValueKind::Url, is_http;
}

impl ValueType for TextTable {
    type Value = BTreeMap<String, String>;
    const KIND: ValueKind = ValueKind::AnyText;

    /// Checks one entry, which is a separate key.
    fn accepts(value: &Value) -> bool {
        AnyText::accepts(value)
    }

    fn read(value: &Value) -> Option<Self::Value> {
        let entry = |(name, value): (&String, _)| Some((name.clone(), AnyText::read(value)?));
        value.as_object()?.iter().map(entry).collect()
    }

    fn write(value: &Self::Value) -> Value {
        let entries = value.iter();
        entries
            .map(|(name, text)| (name.clone(), AnyText::write(text)))
            .collect()
    }
}

impl ValueType for Bool {
    type Value = bool;
    const KIND: ValueKind = ValueKind::Flag;

    fn read(value: &Value) -> Option<bool> {
        value.as_bool()
    }

    fn write(value: &bool) -> Value {
        (*value).into()
    }
}

impl ValueType for TextList {
    type Value = Vec<String>;
    const KIND: ValueKind = ValueKind::List;

    fn read(value: &Value) -> Option<Vec<String>> {
        value.as_array()?.iter().map(AnyText::read).collect()
    }

    fn write(value: &Vec<String>) -> Value {
        value.as_slice().into()
    }
}

impl ValueType for SecretVariables {
    type Value = Vec<String>;
    const KIND: ValueKind = ValueKind::Variables;

    fn read(value: &Value) -> Option<Vec<String>> {
        let names = value.as_array()?.iter();
        names.map(SecretVariable::read).collect()
    }

    fn write(value: &Vec<String>) -> Value {
        TextList::write(value)
    }
}

impl ValueType for CommandWords {
    type Value = Vec<String>;
    const KIND: ValueKind = ValueKind::Command;

    fn read(value: &Value) -> Option<Vec<String>> {
        TextList::read(value)
            .filter(|words| words.first().is_some_and(|program| !program.is_empty()))
    }

    fn write(value: &Vec<String>) -> Value {
        TextList::write(value)
    }
}

impl ValueType for TestCommand {
    type Value = Self;
    const KIND: ValueKind = ValueKind::CommandOrNone;

    fn read(value: &Value) -> Option<Self> {
        if value == "none" {
            return Some(Self::None);
        }
        CommandWords::read(value).map(Self::Run)
    }

    fn write(value: &Self) -> Value {
        match value {
            Self::None => "none".into(),
            Self::Run(command) => CommandWords::write(command),
        }
    }
}

impl ValueType for Tables {
    type Value = Vec<Value>;
    const KIND: ValueKind = ValueKind::Tables;

    fn read(value: &Value) -> Option<Vec<Value>> {
        let tables = value.as_array()?;
        tables.iter().all(Value::is_object).then(|| tables.clone())
    }

    fn write(value: &Vec<Value>) -> Value {
        value.as_slice().into()
    }
}

/// Returns the text of a value. A NUL cannot be passed to any program, so such text is rejected here.
fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.contains('\0'))
}

/// Returns `true` if the text is an HTTP URL.
fn is_http(text: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .filter_map(|scheme| text.strip_prefix(scheme))
        .any(|rest| {
            !rest.is_empty() && !rest.contains(|c: char| c.is_whitespace() || c.is_control())
        })
}
