//! The tables in `docs/sandbox.md` are written from the lists that the sandbox uses.

use std::fmt::Write;

use expect_test::expect_file;
use windlass_sandbox::{HOME_PATHS, PROTECTED_NAMES, ProfileKind};

const DOCUMENT: &str = include_str!("../../../../docs/sandbox.md");

/// Returns the document with this text between the marks of a section.
fn with_section(name: &str, text: &str) -> String {
    let begin = DOCUMENT.find(&format!("<!-- begin {name}: ")).unwrap();
    let begin = begin + DOCUMENT[begin..].find('\n').unwrap() + 1;
    let end = DOCUMENT.find(&format!("<!-- end {name} -->")).unwrap();
    format!("{}{text}{}", &DOCUMENT[..begin], &DOCUMENT[end..])
}

#[test]
fn home_paths_in_docs_match_the_list() {
    let mut table =
        "| paths in the home directory | agent | tool | test |\n|---|---|---|---|\n".to_owned();
    for row in HOME_PATHS {
        let paths: Vec<String> = row.paths.iter().map(|path| format!("`~/{path}`")).collect();
        write!(table, "| {}: {} |", row.content, paths.join(" ")).unwrap();
        for kind in [ProfileKind::Agent, ProfileKind::Tool, ProfileKind::Test] {
            let cell = if row.kinds.contains(&kind) {
                "yes"
            } else {
                "no"
            };
            write!(table, " {cell} |").unwrap();
        }
        table.push('\n');
    }
    let expected = with_section("home paths", &table);
    expect_file!["../../../../docs/sandbox.md"].assert_eq(&expected);
}

#[test]
fn protected_names_in_docs_match_the_list() {
    for name in PROTECTED_NAMES {
        assert!(DOCUMENT.contains(&format!("`{name}`")), "{name}");
    }
}
