//! The objects of a schema: everything that a database could run or return instead of Windlass's tables.

use std::collections::BTreeMap;
use std::fmt;

use windlass_tasks::{StoreError, StoreResult};

use super::normalize::normalize;
use crate::connection::DbConnection;
use crate::error::StoreLocation;
use crate::sql::{Row, Sql, args};

/// Every object: its kind, its name and its definition.
pub(super) const OBJECTS: Sql = Sql {
    sqlite: "SELECT type AS kind, name, coalesce(sql, '') AS definition FROM sqlite_schema",
    postgres: include_str!("postgres_objects.sql"),
};

/// Kinds of objects that run code or replace rows. Windlass creates none of them in PostgreSQL.
const ACTIVE: [&str; 7] = [
    "trigger", "rule", "policy", "function", "operator", "type", "child",
];

/// The kind and the name of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ObjectName {
    kind: String,
    name: String,
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind, self.name)
    }
}

/// The objects of one schema, with their normalized definitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SchemaObjects(BTreeMap<ObjectName, String>);

impl SchemaObjects {
    /// Reads all objects of the database.
    pub(super) async fn read(db: &mut DbConnection) -> StoreResult<Self> {
        let rows = db.fetch_all(OBJECTS, args![]).await?;
        let objects = rows.iter().map(Self::object);
        Ok(Self(objects.collect::<StoreResult<_>>()?))
    }

    fn object(row: &Row) -> StoreResult<(ObjectName, String)> {
        Ok(Self::entry(
            row.text("kind")?,
            row.text("name")?,
            &row.text("definition")?,
        ))
    }

    fn entry(kind: String, name: String, definition: &str) -> (ObjectName, String) {
        (ObjectName { kind, name }, normalize(definition))
    }

    /// Creates the set from kinds, names and definitions.
    pub(super) fn new(objects: impl IntoIterator<Item = (String, String, String)>) -> Self {
        let objects = objects.into_iter();
        Self(
            objects
                .map(|(kind, name, definition)| Self::entry(kind, name, &definition))
                .collect(),
        )
    }

    /// Parses lines of kind, name and definition, separated by tabs.
    pub(super) fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| {
            let mut parts = line.splitn(3, '\t').map(str::to_owned);
            Some((parts.next()?, parts.next()?, parts.next()?))
        });
        Self::new(lines)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the table of this name, alone.
    pub(super) fn table(&self, name: &str) -> Self {
        let is_wanted = |(object, _): &(&ObjectName, &String)| object.name == name;
        let found = self.0.iter().filter(is_wanted);
        Self(
            found
                .map(|(name, text)| (name.clone(), text.clone()))
                .collect(),
        )
    }

    /// Rejects objects that run code or replace rows.
    pub(super) fn check_passive(&self, location: &StoreLocation) -> StoreResult<()> {
        let mut names = self.0.keys();
        match names.find(|object| ACTIVE.contains(&object.kind.as_str())) {
            Some(object) => Err(foreign(location, object)),
            None => Ok(()),
        }
    }

    /// Rejects every difference from the wanted objects, and names the first one.
    pub(super) fn check_equal(&self, wanted: &Self, location: &StoreLocation) -> StoreResult<()> {
        for (object, definition) in &self.0 {
            match wanted.0.get(object) {
                Some(wanted) if wanted == definition => {}
                Some(_) => {
                    let problem = format!("the {object} is not as Windlass created it");
                    return Err(rejected(location, &problem));
                }
                None => return Err(foreign(location, object)),
            }
        }
        match wanted.0.keys().find(|object| !self.0.contains_key(*object)) {
            Some(missing) => Err(rejected(location, &format!("the {missing} is missing"))),
            None => Ok(()),
        }
    }
}

fn foreign(location: &StoreLocation, object: &ObjectName) -> StoreError {
    rejected(
        location,
        &format!("it contains the {object}, which Windlass did not create"),
    )
}

fn rejected(location: &StoreLocation, problem: &str) -> StoreError {
    StoreError::Unavailable(format!(
        "{} is not used: {problem}; restore a backup, or move it away to start a new store",
        location.0
    ))
}
