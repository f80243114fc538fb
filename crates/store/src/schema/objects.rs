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

/// Kinds of tables.
const TABLES: [&str; 2] = ["table", "relation"];

/// Words before a parenthesis that call no function.
const NO_CALLS: [&str; 6] = ["WHERE", "AND", "OR", "NOT", "IN", "REFERENCES"];

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

    /// Returns `true` if there is a table of this name, in SQLite or PostgreSQL.
    pub(super) fn has_table(&self, name: &str) -> bool {
        let mut objects = self.0.keys();
        objects.any(|object| object.name == name && TABLES.contains(&object.kind.as_str()))
    }

    /// Rejects objects that run code or replace rows.
    pub(super) fn check_passive(&self, location: &StoreLocation) -> StoreResult<()> {
        let mut names = self.0.keys();
        match names.find(|object| ACTIVE.contains(&object.kind.as_str())) {
            Some(object) => Err(foreign(location, object)),
            None => Ok(()),
        }
    }

    /// Rejects a newer schema that lacks a wanted object, or has it in another form, or has objects that run code. It may
    /// have more tables, columns, indexes and constraints.
    pub(super) fn check_extends(&self, wanted: &Self, location: &StoreLocation) -> StoreResult<()> {
        for (object, wanted) in &wanted.0 {
            let problem = match self.0.get(object) {
                Some(found) if found == wanted => continue,
                Some(found) if object.kind == "table" && extends(found, wanted) => continue,
                Some(_) => format!("the {object} is not as Windlass created it"),
                None => format!("the {object} is missing"),
            };
            return Err(rejected(location, &problem));
        }
        let mut added = self
            .0
            .iter()
            .filter(|(name, _)| !wanted.0.contains_key(*name));
        match added.find(|(object, definition)| !is_passive(&object.kind, definition)) {
            Some((object, _)) => Err(foreign(location, object)),
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

/// Returns `true` if a newer schema may have this object in addition: it runs nothing when Windlass's own rows are written.
fn is_passive(kind: &str, definition: &str) -> bool {
    match kind {
        "table" => definition.starts_with("CREATE TABLE "),
        // One parenthesis has the columns.
        "index" => calls(definition) <= 1,
        "column" => calls(definition) == 0,
        "constraint" => !definition.starts_with("CHECK") && !definition.starts_with("EXCLUDE"),
        kind => kind == "relation",
    }
}

/// Counts what looks like a call of a function: a word and a parenthesis.
fn calls(definition: &str) -> usize {
    let before = definition
        .match_indices('(')
        .map(|(at, _)| &definition[..at]);
    let words = before.map(|text| {
        let start = text.rfind(|c: char| !c.is_alphanumeric() && c != '_' && c != '"');
        &text[start.map_or(0, |at| at + 1)..]
    });
    words
        .filter(|word| !word.is_empty() && !NO_CALLS.contains(word))
        .count()
}

/// Returns `true` if a definition is the wanted one, or that of a table with more columns.
fn extends(definition: &str, wanted: &str) -> bool {
    let start = definition.bytes().zip(wanted.bytes());
    let start = start.take_while(|(found, wanted)| found == wanted).count();
    let Some(added) = definition.len().checked_sub(wanted.len()) else {
        return false;
    };
    let (Some(end), Some(between)) = (wanted.get(start..), definition.get(start..start + added))
    else {
        return false;
    };
    let is_column = (between.starts_with(',') || between.ends_with(',')) && !between.contains('(');
    definition == wanted || (is_column && definition.get(start + added..) == Some(end))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(list: &[(&str, &str, &str)]) -> SchemaObjects {
        let owned = |(kind, name, text): &(&str, &str, &str)| {
            ((*kind).to_owned(), (*name).to_owned(), (*text).to_owned())
        };
        SchemaObjects::new(list.iter().map(owned))
    }

    #[test]
    fn newer_table_may_have_more_columns_and_nothing_else() {
        let wanted = "CREATE TABLE t (a TEXT, b TEXT, PRIMARY KEY (a))";
        let wanted = normalize(wanted);
        for good in [
            "CREATE TABLE t (a TEXT, b TEXT, PRIMARY KEY (a))",
            "CREATE TABLE t (a TEXT, b TEXT, c BIGINT DEFAULT 0, PRIMARY KEY (a))",
            "CREATE TABLE t (a TEXT, b TEXT, c BIGINT, d TEXT, PRIMARY KEY (a))",
        ] {
            assert!(extends(&normalize(good), &wanted), "{good}");
        }
        for bad in [
            "",
            "CREATE TABLE t (a TEXT)",
            "CREATE TABLE t (a TEXT, b BIGINT, PRIMARY KEY (a))",
            "CREATE TABLE t (a TEXT NOT NULL, b TEXT, PRIMARY KEY (a))",
            "CREATE TABLE t (a TEXT, b TEXT CHECK (b <> 'x'), PRIMARY KEY (a))",
            "CREATE TABLE t (a TEXT, b BIGINT, c TEXT, PRIMARY KEY (a))",
            "CREATE TABLE t (a TEXT, b TEXT, c TEXT, PRIMARY KEY (b))",
            "CREATE TABLE t (a TEXT, b TEXT, c TEXT DEFAULT (f(b)), PRIMARY KEY (a))",
            "CREATE TABLE t (a TEXT, b TEXT, c TEXT AS (f(b)), PRIMARY KEY (a))",
            "CREATE TABLE t (a TEXT, b TEXT, PRIMARY KEY (a)) STRICT",
        ] {
            assert!(!extends(&normalize(bad), &wanted), "{bad}");
        }
    }

    #[test]
    fn newer_schema_has_every_known_object_and_runs_nothing() {
        let location = StoreLocation("the store".to_owned());
        let known = [
            ("table", "t", "CREATE TABLE t (a TEXT)"),
            ("index", "i", "CREATE INDEX i ON t (a)"),
        ];
        let wanted = objects(&known);
        let with = |more| objects(&[known[0], known[1], more]);
        let check = |found: SchemaObjects| found.check_extends(&wanted, &location);
        assert_eq!(
            check(with(("table", "u", "CREATE TABLE u (a TEXT)"))),
            Ok(())
        );
        assert_eq!(
            check(with(("index", "j", "CREATE INDEX j ON t (a)"))),
            Ok(())
        );
        for kind in ["trigger", "view", "rule", "function", "policy"] {
            assert!(check(with((kind, "x", "anything"))).is_err(), "{kind}");
        }
        for (kind, definition) in [
            ("table", "CREATE VIRTUAL TABLE x USING fts5(a)"),
            ("index", "CREATE INDEX x ON t (f(a))"),
            (
                "index",
                "CREATE INDEX x ON windlass.t USING btree (a) WHERE (f(a) = 'x'::text)",
            ),
            ("column", "text not null default f()"),
            ("constraint", "CHECK ((a <> ''::text))"),
        ] {
            assert!(
                check(with((kind, "x", definition))).is_err(),
                "{definition}"
            );
        }
        for (kind, definition) in [
            (
                "index",
                "CREATE INDEX x ON windlass.t USING btree (a) WHERE ((a = 'x'::text) AND (b = 0))",
            ),
            ("column", "text not null default ''::text"),
            ("constraint", "FOREIGN KEY (a) REFERENCES windlass.u(id)"),
        ] {
            assert_eq!(check(with((kind, "x", definition))), Ok(()), "{definition}");
        }
        assert!(check(objects(&known[..1])).is_err());
        let changed = ("index", "i", "CREATE INDEX i ON t (b)");
        assert!(check(objects(&[known[0], changed])).is_err());
    }
}
