//! `docs/configuration.md` matches the key table.

use std::collections::BTreeSet;

use expect_test::expect_file;
use windlass::config::{KEYS, reference};

#[test]
fn reference_is_generated_from_key_table() {
    expect_file!["../../../../docs/configuration.md"].assert_eq(&reference::markdown());
}

#[test]
fn key_paths_are_unique() {
    let mut seen = BTreeSet::new();
    for known in KEYS {
        assert!(
            known.about.ends_with('.'),
            "the description of {} is not a sentence",
            known.path
        );
        for path in std::iter::once(&known.path).chain(known.aliases) {
            assert!(seen.insert(path), "duplicate path {path}");
        }
    }
}
