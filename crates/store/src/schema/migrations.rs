//! The migrations that a program knows.

use std::sync::Arc;

use crate::sql::Sql;

/// One step of the schema.
///
/// A step is compatible if programs that do not know it may go on reading and writing: it adds tables, indexes, or columns that
/// have a default, and gives no other meaning to what is there. [`oldest`](Self::oldest) says so. It is the version itself unless a
/// test has shown more.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct Migration {
    /// The statements for SQLite.
    pub sqlite: &'static str,
    /// The statements for PostgreSQL.
    pub postgres: &'static str,
    /// The oldest schema version of programs that may use the store afterwards.
    pub oldest: i64,
}

impl Migration {
    pub(super) fn sql(self) -> Sql {
        Sql {
            sqlite: self.sqlite,
            postgres: self.postgres,
        }
    }
}

/// The statements of a migration in both dialects, by its name, and the oldest programs that may go on.
macro_rules! migration {
    ($name:literal, oldest $oldest:literal) => {
        Migration {
            sqlite: include_str!(concat!("../../migrations/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../../migrations/postgres/", $name, ".sql")),
            oldest: $oldest,
        }
    };
}

/// All released migrations, in order. A released migration never changes.
const RELEASED: &[Migration] = &[
    migration!("0001_tasks", oldest 1),
    migration!("0002_attempt_error", oldest 2),
    migration!("0003_leases", oldest 3),
    migration!("0004_access", oldest 4),
    migration!("0005_proof", oldest 5),
    migration!("0006_steering", oldest 6),
    migration!("0007_publishing", oldest 7),
    migration!("0008_landings", oldest 8),
    migration!("0009_reviews", oldest 9),
    migration!("0010_stack", oldest 10),
    migration!("0011_agent_settings", oldest 11),
    migration!("0012_depended_on", oldest 12),
    migration!("0013_model_call", oldest 13),
    migration!("0014_checkouts", oldest 14),
    migration!("0015_audit", oldest 15),
    migration!("0016_workers", oldest 16),
    migration!("0017_account_limit", oldest 17),
    migration!("0018_rolling", oldest 17),
];

/// The objects that the newest released schema has in PostgreSQL. `tests/suite/real_postgres.rs` compares them with the
/// migrations.
const POSTGRES_OBJECTS: &str = include_str!("../../migrations/postgres/objects.tsv");

/// The migrations that a program knows: the released ones, or in tests those of a later program.
#[derive(Debug, Clone, Default)]
#[doc(hidden)]
pub struct Migrations {
    later: Arc<[Migration]>,
    later_objects: &'static str,
}

impl Migrations {
    /// Returns the released migrations and later ones, with the objects that these add in PostgreSQL.
    pub fn with_later(later: &[Migration], objects: &'static str) -> Self {
        Self {
            later: later.into(),
            later_objects: objects,
        }
    }

    /// Returns the newest version.
    pub(crate) fn newest(&self) -> i64 {
        i64::try_from(RELEASED.len() + self.later.len()).unwrap_or(i64::MAX)
    }

    /// Returns the migrations with their versions, in order.
    pub(super) fn versions(&self) -> impl Iterator<Item = (i64, Migration)> {
        (1..).zip(RELEASED.iter().chain(self.later.iter()).copied())
    }

    /// Returns the oldest schema version of programs that may use the store after the migration from one version to another.
    pub(super) fn oldest_after(&self, after: i64, last: i64) -> i64 {
        let applied = self.versions();
        let applied = applied.filter(|(version, _)| (after + 1..=last).contains(version));
        applied
            .map(|(_, migration)| migration.oldest)
            .max()
            .unwrap_or(0)
    }

    /// Returns the objects of the newest schema in PostgreSQL.
    pub(super) fn postgres_objects(&self) -> String {
        format!("{POSTGRES_OBJECTS}{}", self.later_objects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_migration_promises_more_than_its_own_version() {
        for (version, migration) in Migrations::default().versions() {
            let oldest = migration.oldest;
            assert!((1..=version).contains(&oldest), "{version}: {oldest}");
        }
    }

    #[test]
    fn the_strictest_step_counts() {
        let step = |oldest| Migration {
            sqlite: "",
            postgres: "",
            oldest,
        };
        let newest = Migrations::default().newest();
        let all = Migrations::with_later(&[step(newest), step(newest + 2), step(newest)], "");
        assert_eq!(all.newest(), newest + 3);
        assert_eq!(all.oldest_after(newest, newest + 1), newest);
        assert_eq!(all.oldest_after(newest, newest + 3), newest + 2);
        assert_eq!(all.oldest_after(newest + 2, newest + 3), newest);
        assert_eq!(all.oldest_after(newest + 3, newest + 3), 0);
    }
}
