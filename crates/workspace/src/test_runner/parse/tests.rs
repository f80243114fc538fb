//! What the real runners printed, and what is read from it.

use std::fmt::Write;

use expect_test::expect_file;
use proptest::prelude::*;

use super::*;

fn read(text: &str) -> ParsedOutput {
    let mut reader = TestOutputParser::new();
    text.lines().for_each(|line| reader.line(line));
    reader.finish()
}

/// What the real runners printed. The file beside it says what is read from each.
const FIXTURES: [(&str, &str); 15] = [
    ("cargo", include_str!("../../../fixtures/runners/cargo.txt")),
    (
        "cargo, broken",
        include_str!("../../../fixtures/runners/cargo-broken.txt"),
    ),
    (
        "nextest",
        include_str!("../../../fixtures/runners/nextest.txt"),
    ),
    (
        "pytest",
        include_str!("../../../fixtures/runners/pytest.txt"),
    ),
    (
        "pytest -q",
        include_str!("../../../fixtures/runners/pytest-q.txt"),
    ),
    (
        "unittest",
        include_str!("../../../fixtures/runners/unittest.txt"),
    ),
    ("jest", include_str!("../../../fixtures/runners/jest.txt")),
    (
        "vitest",
        include_str!("../../../fixtures/runners/vitest.txt"),
    ),
    ("mocha", include_str!("../../../fixtures/runners/mocha.txt")),
    (
        "node, as TAP",
        include_str!("../../../fixtures/runners/node-tap.txt"),
    ),
    (
        "node, for people",
        include_str!("../../../fixtures/runners/node-spec.txt"),
    ),
    (
        "other TAP",
        include_str!("../../../fixtures/runners/tap.txt"),
    ),
    ("go", include_str!("../../../fixtures/runners/go.txt")),
    ("go -v", include_str!("../../../fixtures/runners/go-v.txt")),
    (
        "anything else",
        include_str!("../../../fixtures/runners/plain.txt"),
    ),
];

#[test]
fn what_the_real_runners_print_is_understood() {
    let mut told = String::new();
    for (name, text) in FIXTURES {
        let found = read(text);
        let c = found.counts;
        writeln!(
            told,
            "# {name}: {} passed, {} failed, {} errors, {} in all",
            c.passed, c.failed, c.errors, c.total
        )
        .unwrap();
        for case in found.cases {
            writeln!(told, "- {}", case.name).unwrap();
            for line in case.message.lines().take(4) {
                writeln!(told, "    {line}").unwrap();
            }
        }
    }
    expect_file!["../../../fixtures/runners/expected.txt"].assert_eq(&told);
}

#[test]
fn colours_are_not_read() {
    let found = read("\u{1b}[32mtest result: ok. 2 passed; 0 failed; 0 ignored\u{1b}[0m");
    assert_eq!(found.counts.passed, 2);
}

#[test]
fn what_is_not_understood_counts_nothing() {
    assert_eq!(read("all good\n"), ParsedOutput::default());
    assert_eq!(read(""), ParsedOutput::default());
}

#[test]
fn two_runners_in_one_command_are_added() {
    let cargo = "test result: ok. 2 passed; 0 failed; 0 ignored";
    let found = read(&format!("{cargo}\n=== 1 failed, 3 passed in 0.10s ==="));
    assert_eq!((found.counts.passed, found.counts.failed), (5, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn p12_any_lines_are_read_within_limits(
        lines in prop::collection::vec(
            prop_oneof![
                ".{0,80}",
                "(---- |FAIL |  ● |not ok |--- FAIL: |# |FAILED |____ |error: |✖ |  1\\) )[a-z:>( ]{0,20}",
                "[0-9]{1,22} (passed|failed|errors|passing|failing)",
            ],
            0..200,
        )
    ) {
        let found = read(&lines.join("\n"));
        prop_assert!(found.cases.len() <= cases::MAX_CASES);
        for case in found.cases {
            prop_assert!(case.message.len() < 10_000);
        }
    }
}
