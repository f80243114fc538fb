//! Deletes the refs of old changes, so that they never slow git down.

use windlass_core::{Clock, SystemClock};

use crate::clone::{Clones, KEPT_REFS, Retention};
use crate::error::Result;
use crate::git::Repository;

/// More loose refs than this are packed.
const MAX_LOOSE: usize = 64;

/// Deletes the changes of this store that are too old or too many, and packs the rest. Returns
/// their number.
pub(crate) async fn prune(clones: &Clones, repository: &Repository) -> Result<usize> {
    let prefix = format!("{KEPT_REFS}{}/", clones.store);
    let format = "--format=%(refname) %(objectname) %(committerdate:unix)";
    // The last key is the primary one.
    let (second, first) = ("--sort=-version:refname", "--sort=-committerdate");
    let args = ["for-each-ref", second, first, format, &prefix];
    let list = repository.query(&clones.git, &args).await?.check()?.text();
    let now = SystemClock::new().now().0 / 1000;
    let deletions = expired(&list, now, clones.retention);
    let input: String = deletions
        .iter()
        .map(|(name, commit)| format!("delete {name} {commit}\n"))
        .collect();
    if !input.is_empty() {
        let command = repository.ref_command(&clones.git).input(input);
        command.run(&["update-ref", "--stdin"]).await?;
    }
    if list.lines().count() > MAX_LOOSE {
        let command = repository.ref_command(&clones.git);
        command.run(&["pack-refs", "--all"]).await?;
    }
    Ok(deletions.len())
}

/// Returns the refs to delete with their commits, from a list with the newest first.
fn expired(list: &str, now: u64, retention: Retention) -> Vec<(&str, &str)> {
    let max_count = usize::try_from(retention.max_count).unwrap_or(usize::MAX);
    let max_age = retention.max_age.as_secs();
    let rows = list.lines().enumerate();
    rows.filter_map(|(index, line)| {
        let mut fields = line.split(' ');
        let (name, commit) = (fields.next()?, fields.next()?);
        let made: u64 = fields.next()?.parse().ok()?;
        let is_expired = index >= max_count || now.saturating_sub(made) > max_age;
        is_expired.then_some((name, commit))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn old_and_surplus_changes_are_expired() {
        let list = "refs/a 1 100\nrefs/b 2 90\nrefs/c 3 80\nrefs/d 4 \nrefs/e 5 10\n";
        let retention = |secs, max_count| Retention {
            max_age: Duration::from_secs(secs),
            max_count,
        };
        assert_eq!(expired(list, 100, retention(1000, 10)), []);
        assert_eq!(expired(list, 100, retention(20, 10)), [("refs/e", "5")]);
        assert_eq!(
            expired(list, 100, retention(1000, 1)),
            [("refs/b", "2"), ("refs/c", "3"), ("refs/e", "5")]
        );
        // A clock that was set back expires nothing.
        assert_eq!(expired(list, 0, retention(20, 10)), []);
    }
}
