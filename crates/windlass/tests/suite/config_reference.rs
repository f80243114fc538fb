//! The reference for people equals what the table of known keys says.

use std::collections::BTreeSet;

use expect_test::expect_file;
use windlass::config::{KEYS, reference};

#[test]
fn the_reference_is_made_from_the_table() {
    expect_file!["../../../../docs/configuration.md"].assert_eq(&reference::markdown());
}

#[test]
fn every_path_is_said_once() {
    let mut seen = BTreeSet::new();
    for known in KEYS {
        assert!(known.about.ends_with('.'), "{} has no sentence", known.path);
        for path in std::iter::once(&known.path).chain(known.aliases) {
            assert!(seen.insert(path), "{path} stands twice");
        }
    }
}
