//! The table of all configuration keys.
//!
//! Each key is defined once, as a field of a struct in a submodule. The row of a field has its documentation, its type
//! with the bounds of a number, its default, whether a repository's file may set it without trust, and whether its
//! value is secret. Validation, trust, redaction, environment variables, `windlass config` and
//! `docs/configuration.md` all use [`KEYS`]. To add a key, add a field.

mod agents;
mod outbox;
mod policy;
mod routing;
mod served;
mod spending;
mod tasks;

pub use agents::{AgentKeys, GeneralSettings};
pub use outbox::{NotifySettings, PublishSettings, TelemetrySettings};
pub use policy::PolicySettings;
pub use routing::RoutingSettings;
pub use served::{AliasSettings, CompositeSettings, GatewaySettings, ServeSettings};
pub use spending::{PriceKeys, SpendSettings};
pub use tasks::{
    ChangeSettings, CommitKeys, LandSettings, LimitSettings, ReviewSettings, RunSettings,
    SandboxSettings, StoreKeys, TaskSettings, TestsSettings, WorkerSettings, WorkspaceSettings,
};

use serde_json::Value;

use super::value_type::ValueType;
use super::{Error, Key, Origin, Result, ValueKind};

/// An hour, in seconds.
const HOUR: u64 = 60 * 60;
/// A week, in seconds: the longest time that can be set. A larger number is most likely a mistake.
const WEEK: u64 = 7 * 24 * HOUR;

/// Definition of one configuration key.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct KeySpec {
    /// The dotted path; a part in angle brackets is a placeholder for a name.
    pub path: &'static str,
    /// The type of the value.
    pub kind: ValueKind,
    /// A description of at least one sentence.
    pub about: &'static str,
    /// The default value, as text like in a variable.
    pub default: Option<&'static str>,
    /// What a file inside a repository may do with the key before `windlass trust`.
    pub trust: Trust,
    /// `true` if the value is never shown.
    pub secret: bool,
    /// Alternative paths of the key.
    pub aliases: &'static [&'static str],
    /// An additional environment variable for the key.
    pub variable: Option<&'static str>,
    /// Returns `true` if the value is valid.
    pub(super) accepts: fn(&Value) -> bool,
}

/// What a file inside a repository may do with a key before `windlass trust`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// It may not set the key.
    Required,
    /// It may only lower the value, which must be a limit.
    ToRaise,
}

impl KeySpec {
    const fn new<T: ValueType>(path: &'static str, about: &'static str) -> Self {
        Self {
            path,
            kind: T::KIND,
            about,
            default: None,
            trust: Trust::Required,
            secret: false,
            aliases: &[],
            variable: None,
            accepts: T::accepts,
        }
    }

    /// Allows an untrusted file inside a repository to lower this limit, which harms only its author.
    const fn may_be_lowered(mut self) -> Self {
        self.trust = Trust::ToRaise;
        self
    }

    const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    const fn default(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn env_var(mut self, name: &'static str) -> Self {
        self.variable = Some(name);
        self
    }
}

/// Defines a table of the configuration: a struct with a field for each key.
///
/// A row is `name: Rust as Type = "default", option, option(argument);`, where `Rust` is the type of the field, an
/// `Option` if there is no default, and `Type` is a [`ValueType`]. Options are methods of [`KeySpec`].
/// `name["<part>"]` is a table; its entries are separate keys.
macro_rules! settings {
    (
        $(#[$meta:meta])+
        pub struct $name:ident at $table:literal {$(
            $(#[doc = $about:literal])+
            $field:ident $([$entry:literal])?: $rust:ty as $type:ty $(= $default:literal)?
                $(, $option:ident $(($argument:expr))?)*;
        )+}
    ) => {
        $(#[$meta])+
        #[derive(Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $name {$(
            $(#[doc = $about])+
            pub $field: $rust,
        )+}

        impl $name {
            pub(in crate::config) const KEYS: &'static [KeySpec] = &[$(
                KeySpec::new::<$type>(
                    concat!($table, stringify!($field) $(, ".", $entry)?),
                    concat!($($about),+).trim_ascii(),
                )
                $(.default($default))?
                $(.$option($($argument)?))*
            ),+];

            /// Reads the fields from a table of valid values.
            pub(in crate::config) fn read(table: &serde_json::Value) -> crate::config::Result<Self> {
                Ok(Self {$(
                    $field: settings!(@read $type, table, stringify!($field) $(, $default)?),
                )+})
            }

            /// Returns the fields that are set as a table.
            pub(crate) fn to_table(&self) -> serde_json::Value {
                let fields = [$(
                    (stringify!($field), settings!(@write $type, self.$field $(, $default)?)),
                )+];
                let set = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
                serde_json::Value::Object(set.collect())
            }
        }

        impl std::fmt::Debug for $name {
            /// Formats the fields that are set; secrets are redacted.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let table = self.to_table();
                let mut shown = f.debug_struct(stringify!($name));
                for (name, key) in [$(stringify!($field)),+].into_iter().zip(Self::KEYS) {
                    if let Some(value) = table.get(name) {
                        let value = crate::config::redact::display_value(value, key.secret);
                        shown.field(name, &format_args!("{value}"));
                    }
                }
                shown.finish()
            }
        }
    };
    (@read $type:ty, $table:ident, $name:expr) => { super::optional::<$type>($table, $name)? };
    (@read $type:ty, $table:ident, $name:expr, $default:literal) => { super::required::<$type>($table, $name)? };
    (@write $type:ty, $self:ident.$field:ident) => { $self.$field.as_ref().map(<$type>::write) };
    (@write $type:ty, $self:ident.$field:ident, $default:literal) => { Some(<$type>::write(&$self.$field)) };
}
use settings;

/// Reads a value that has a default and is therefore set.
fn required<T: ValueType>(table: &Value, name: &str) -> Result<T::Value> {
    let value = table.get(name).unwrap_or(&Value::Null);
    T::read(value).ok_or_else(|| {
        let (found, expected) = (T::KIND.describe_found(value), T::KIND.expected());
        Error::wrong_value(Origin::built_in(), &Key::new([name]), &found, &expected)
    })
}

/// Reads a value that may be absent.
fn optional<T: ValueType>(table: &Value, name: &str) -> Result<Option<T::Value>> {
    match table.get(name) {
        Some(_) => required::<T>(table, name).map(Some),
        None => Ok(None),
    }
}

/// Top-level tables that are aliases of an agent's table: `[acp]` is `[agents.acp]`.
pub(super) const SECTIONS: &[&str] = &["acp", "direct", "mock"];

/// The keys of all tables, in the order of the documentation.
const TABLES: &[&[KeySpec]] = &[
    GeneralSettings::KEYS,
    AgentKeys::KEYS,
    CompositeSettings::KEYS,
    AliasSettings::KEYS,
    GatewaySettings::KEYS,
    ServeSettings::KEYS,
    StoreKeys::KEYS,
    TestsSettings::KEYS,
    WorkspaceSettings::KEYS,
    CommitKeys::KEYS,
    PublishSettings::KEYS,
    NotifySettings::KEYS,
    TelemetrySettings::KEYS,
    RunSettings::KEYS,
    WorkerSettings::KEYS,
    LandSettings::KEYS,
    ReviewSettings::KEYS,
    TaskSettings::KEYS,
    ChangeSettings::KEYS,
    SandboxSettings::KEYS,
    LimitSettings::KEYS,
    SpendSettings::KEYS,
    PriceKeys::KEYS,
    PolicySettings::KEYS,
    RoutingSettings::KEYS,
];

/// All keys, in the order of the documentation.
pub const KEYS: &[KeySpec] = &concat::<{ count() }>();

const fn count() -> usize {
    let (mut table, mut total) = (0, 0);
    while table < TABLES.len() {
        total += TABLES[table].len();
        table += 1;
    }
    total
}

const fn concat<const N: usize>() -> [KeySpec; N] {
    let mut all = [TABLES[0][0]; N];
    let (mut table, mut at) = (0, 0);
    while table < TABLES.len() {
        let mut row = 0;
        while row < TABLES[table].len() {
            all[at] = TABLES[table][row];
            (row, at) = (row + 1, at + 1);
        }
        table += 1;
    }
    all
}
