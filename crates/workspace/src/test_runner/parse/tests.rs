//! Parses recorded output of real test runners.

use std::fmt::Write;

use expect_test::expect_file;
use proptest::prelude::*;

use super::*;

fn read(text: &str) -> ParsedOutput {
    let mut parser = TestOutputParser::new();
    text.lines().for_each(|line| parser.line(line));
    parser.finish()
}

/// Output of real test runners. `expected.txt` in the same directory has the result for each.
const FIXTURES: [(&str, &str); 15] = [
    ("cargo", include_str!("../../../fixtures/runners/cargo.txt")),
    (
        "cargo (build failure)",
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
        "node (TAP)",
        include_str!("../../../fixtures/runners/node-tap.txt"),
    ),
    (
        "node (spec)",
        include_str!("../../../fixtures/runners/node-spec.txt"),
    ),
    (
        "other TAP",
        include_str!("../../../fixtures/runners/tap.txt"),
    ),
    ("go", include_str!("../../../fixtures/runners/go.txt")),
    ("go -v", include_str!("../../../fixtures/runners/go-v.txt")),
    (
        "generic",
        include_str!("../../../fixtures/runners/plain.txt"),
    ),
];

#[test]
fn output_of_real_runners_is_parsed() {
    let mut results = String::new();
    for (name, text) in FIXTURES {
        let parsed = read(text);
        let c = parsed.counts;
        writeln!(
            results,
            "# {name}: {} passed, {} failed, {} errors, {} total",
            c.passed, c.failed, c.errors, c.total
        )
        .unwrap();
        for case in parsed.cases {
            writeln!(results, "- {}", case.name).unwrap();
            for line in case.message.lines().take(4) {
                writeln!(results, "    {line}").unwrap();
            }
        }
    }
    expect_file!["../../../fixtures/runners/expected.txt"].assert_eq(&results);
}

#[test]
fn terminal_colors_are_ignored() {
    let parsed = read("\u{1b}[32mtest result: ok. 2 passed; 0 failed; 0 ignored\u{1b}[0m");
    assert_eq!(parsed.counts.passed, 2);
}

#[test]
fn unknown_output_counts_nothing() {
    assert_eq!(read("all good\n"), ParsedOutput::default());
    assert_eq!(read(""), ParsedOutput::default());
}

#[test]
fn counts_of_two_runners_are_added() {
    let cargo = "test result: ok. 2 passed; 0 failed; 0 ignored";
    let parsed = read(&format!("{cargo}\n=== 1 failed, 3 passed in 0.10s ==="));
    assert_eq!((parsed.counts.passed, parsed.counts.failed), (5, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn p12_results_are_bounded_for_any_output(
        lines in prop::collection::vec(
            prop_oneof![
                ".{0,80}",
                "(---- |FAIL |  ● |not ok |--- FAIL: |# |FAILED |____ |error: |✖ |  1\\) )[a-z:>( ]{0,20}",
                "[0-9]{1,22} (passed|failed|errors|passing|failing)",
            ],
            0..200,
        )
    ) {
        let parsed = read(&lines.join("\n"));
        prop_assert!(parsed.cases.len() <= cases::MAX_CASES);
        for case in parsed.cases {
            prop_assert!(case.message.len() < 10_000);
        }
    }
}
